/** Options of an inverted file and of a search in it. */
import { choice, type OptionChecks, whole } from '../core/arguments.ts'
import { badOption } from '../core/errors.ts'
import type { Matrix, VectorInput } from '../core/matrix.ts'
import { MOST_NEAREST } from '../kernels/assign.ts'
import type { ClusterModel } from '../models/model.ts'
import type { QuantizerOptions } from '../quantize/options.ts'
import { INDEX_SEARCH_CHECKS, type IndexSearchOptions } from './code-index.ts'
import { SEARCH_METRICS, type SearchMetric } from './flat.ts'
import { type ByteScale, byteScale } from './kept-bytes.ts'

/** Options of a search in an inverted file. */
export interface InvertedSearchOptions extends Omit<IndexSearchOptions, 'distance' | 'rerank'> {
  /**
   * Re-ranks candidates by exact distances: with the vectors that were added, where id i is row i, or with true with the
   * stored bytes. Default: no re-ranking.
   */
  readonly rerank?: VectorInput | true | undefined
  /** Number of clusters to scan. Default 8. More clusters find more neighbours, and take proportionally longer. */
  readonly probe?: number | undefined
  /** The distance. Default `asymmetric`, the most accurate. */
  readonly distance?: 'asymmetric' | 'symmetric' | undefined
}

/** The vectors of an inverted file. */
export interface FileContent {
  /** Codes of the residuals. */
  readonly codes: Matrix
  /** Their numbers. */
  readonly ids: Uint32Array
  /** The cluster of each. */
  readonly lists: Uint32Array
  /** Their bytes, if the file stores them. */
  readonly kept?: Matrix | undefined
}

/** Options of an inverted file. */
export interface FileOptions {
  /**
   * The metric: `euclidean` (squared distances), `cosine` (1 - cosine similarity), or `inner-product` (with negative sign).
   * Default: that of the model; `inner-product` requires a Euclidean model.
   */
  readonly metric?: SearchMetric | undefined
  /** The values of the bytes stored for re-ranking, computed by the train method. Default: none are stored. */
  readonly scale?: ByteScale | undefined
}

export const FILE_CHECKS: OptionChecks<FileOptions> = { metric: choice(SEARCH_METRICS), scale: byteScale }

/** Options of training an inverted file and its quantizer, which runs at most 25 rounds by default. */
export interface InvertedFileOptions extends Pick<FileOptions, 'metric'>, QuantizerOptions {
  /**
   * `bytes`: the file also stores every vector, one byte per dimension, for `rerank: true`. Byte vectors are stored
   * exactly, others are rounded between the smallest and the largest value of each column. Default: not stored.
   */
  readonly keep?: 'bytes' | undefined
}

export const TRAIN_CHECKS: OptionChecks<Pick<InvertedFileOptions, 'metric' | 'keep'>> = {
  metric: FILE_CHECKS.metric,
  keep: choice(['bytes']),
}

export const INVERTED_SEARCH_CHECKS: OptionChecks<InvertedSearchOptions> = {
  ...INDEX_SEARCH_CHECKS,
  rerank: (value, thing) => (value === true ? true : INDEX_SEARCH_CHECKS.rerank(value, thing)),
  probe: whole(1),
  distance: choice(['asymmetric', 'symmetric']),
}

/** Clusters by the angle make a file by the angle; clusters by distance one by distance or by inner products. */
export function metricOf(model: ClusterModel, asked: SearchMetric | undefined): SearchMetric {
  const { metric } = model.facts
  if (asked === undefined || asked === metric) return metric
  if (asked === 'inner-product' && metric === 'euclidean') return asked
  throw badOption(
    'metric',
    asked,
    `the model has metric ${metric}; an inverted file of this metric requires a model with metric ${asked === 'cosine' ? 'cosine' : 'euclidean'}.`,
  )
}

/** Lists are chosen as nearest centres are. */
export function requireProbe(probe: number, k: number): void {
  if (probe <= Math.min(k, MOST_NEAREST)) return
  const why = k <= MOST_NEAREST ? `there are only ${k} clusters` : 'a query looks into no more clusters than that'
  throw badOption('probe', probe, `give at most ${Math.min(k, MOST_NEAREST)}: ${why}.`)
}

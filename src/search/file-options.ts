/** What a caller may ask of an inverted file and of a search in it. */
import { choice, type OptionChecks, whole } from '../core/arguments.ts'
import { badOption } from '../core/errors.ts'
import type { Matrix, VectorInput } from '../core/matrix.ts'
import { MOST_NEAREST } from '../kernels/assign.ts'
import type { ClusterModel } from '../models/model.ts'
import type { QuantizerOptions } from '../quantize/options.ts'
import { INDEX_SEARCH_CHECKS, type IndexSearchOptions } from './code-index.ts'
import { SEARCH_METRICS, type SearchMetric } from './flat.ts'
import { type ByteScale, byteScale } from './kept-bytes.ts'

/** What can be asked of a search in an inverted file. */
export interface InvertedSearchOptions extends Omit<IndexSearchOptions, 'distance' | 'rerank'> {
  /**
   * Candidates are measured exactly and sorted anew: by the vectors that were added, where id i is row i, or with true by the
   * bytes that the file keeps. Default: neither.
   */
  readonly rerank?: VectorInput | true | undefined
  /** Clusters a query looks into. Default 8: more find more, and take as much longer. */
  readonly probe?: number | undefined
  /** How to measure. Default `asymmetric`, the most accurate. */
  readonly distance?: 'asymmetric' | 'symmetric' | undefined
}

/** Vectors as an inverted file holds them. */
export interface FileContent {
  /** What the quantizer made of what is left of them. */
  readonly codes: Matrix
  /** Their numbers. */
  readonly ids: Uint32Array
  /** The cluster of each. */
  readonly lists: Uint32Array
  /** Their bytes, where the file keeps them. */
  readonly kept?: Matrix | undefined
}

/** What can be asked of an inverted file. */
export interface FileOptions {
  /**
   * How nearness is measured: by `euclidean` squared distances, by `cosine` (one less the cosine), or by the `inner-product` (with
   * the other sign). Default: as the model was made; `inner-product` takes a Euclidean model.
   */
  readonly metric?: SearchMetric | undefined
  /** What the bytes of vectors stand for that are kept for re-ranking; the train method finds it. Default: none are kept. */
  readonly scale?: ByteScale | undefined
}

export const FILE_CHECKS: OptionChecks<FileOptions> = { metric: choice(SEARCH_METRICS), scale: byteScale }

/** What can be asked of an inverted file and its quantizer, which takes at most 25 rounds by default. */
export interface InvertedFileOptions extends Pick<FileOptions, 'metric'>, QuantizerOptions {
  /**
   * `bytes`: the file keeps every vector in a byte for each number, for `rerank: true`. Vectors of bytes are kept as they are,
   * others rounded between the least and the largest value of each column. Default: nothing is kept.
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

/** Summaries of clusters: size, spread, and the vectors nearest to the centre. */
import { list, type OptionChecks, optionsOf, whole } from '../core/arguments.ts'
import { badOption } from '../core/errors.ts'
import type { VectorSource } from '../core/matrix.ts'
import { WORK_CHECKS, type WorkOptions } from '../vectors/work-options.ts'
import type { Prediction } from './prediction.ts'

/** Options of {@link ClusterModel.summaries}. */
export interface SummaryOptions extends WorkOptions {
  /** How many of the vectors nearest to its centre are listed for each cluster. Default 10. */
  readonly count?: number | undefined
  /** A name for each vector. Default: the names that the source has, if it has any. */
  readonly names?: readonly string[] | undefined
}

/** A vector of a cluster. */
export interface ClusterMember {
  /** The number of the vector. */
  readonly row: number
  /** Squared distance to the centre. */
  readonly distance: number
  /** Its name, where vectors have names. */
  readonly name?: string
}

/** Summary of a cluster. */
export interface ClusterSummary {
  /** The number of the cluster. */
  readonly cluster: number
  /** Its vectors. */
  readonly size: number
  /** Fraction of all vectors. */
  readonly share: number
  /** Mean squared distance of its vectors to the centre; 0 without vectors. */
  readonly distortion: number
  /** The vectors nearest to its centre, nearest first. */
  readonly members: readonly ClusterMember[]
}

const CHECKS: OptionChecks<SummaryOptions> = {
  ...WORK_CHECKS,
  count: whole(0),
  names: (value, thing) => list(value, thing, 'names') as readonly string[],
}

export interface AskedSummaries extends WorkOptions {
  readonly count: number
  readonly names: readonly string[] | undefined
}

export async function readSummaryOptions(options: unknown, source: VectorSource): Promise<AskedSummaries> {
  const { count = 10, names, ...work } = optionsOf('summaries', options, CHECKS)
  const found = names ?? (await source.names?.())
  if (found === undefined || found.length === source.rows) return { ...work, count, names: found }
  throw badOption('names', `an array of ${found.length}`, `give one for each of the ${source.rows} vectors.`)
}

export function summariesOf(
  { labels, distances }: Prediction,
  k: number,
  { count, names }: AskedSummaries,
): ClusterSummary[] {
  const rows = Array.from({ length: k }, (): number[] => [])
  labels.forEach((label, row) => {
    rows[label].push(row)
  })
  return rows.map((own, cluster) => {
    const sum = own.reduce((total, row) => total + distances[row], 0)
    const nearest = own.sort((a, b) => distances[a] - distances[b] || a - b).slice(0, count)
    return {
      cluster,
      size: own.length,
      share: own.length / labels.length,
      distortion: own.length === 0 ? 0 : sum / own.length,
      members: nearest.map((row) => ({
        row,
        distance: distances[row],
        ...(names && { name: names[row] }),
      })),
    }
  })
}

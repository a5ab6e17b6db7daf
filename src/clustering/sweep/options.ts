/** What can be asked of a sweep, and which numbers of clusters it goes through. */

import {
  callback,
  choice,
  flag,
  type Given,
  type OptionChecks,
  optionGroup,
  optionsOf,
  whole,
} from '../../core/arguments.ts'
import { badArgument, badOption, show } from '../../core/errors.ts'
import type { OnProgress } from '../../core/progress.ts'
import type { MethodName, MethodOptions } from '../../models/method-names.ts'
import { WORK_CHECKS, type WorkOptions } from '../../vectors/work-options.ts'
import { METHODS } from '../presets.ts'
import type { SweepStep } from './result.ts'

/** A range of numbers of clusters. */
export interface SweepRange {
  /** The smallest number of clusters. */
  readonly from: number
  /** The largest number of clusters. */
  readonly to: number
  /**
   * How many numbers to try, both ends included. They grow by about the same factor each time. Default 12, or every number
   * of the range if there are fewer.
   */
  readonly steps?: number | undefined
}

/** Options of {@link sweep}. Weights are not supported: silhouette and the other scores are not defined for them. */
export interface SweepOptions extends WorkOptions {
  /** The numbers of clusters to try: a list, or a range. */
  readonly k: readonly number[] | SweepRange
  /**
   * How to cluster, as in {@link ClusterOptions}. Default `auto`. With `gmm` the BIC is that of the Gaussian mixture.
   * Methods that find the number of clusters themselves (egm, agm) are refused.
   */
  readonly method?: 'auto' | MethodName | undefined
  /** Options of the method, such as `trees`. Default: those of the method. */
  readonly methodOptions?: MethodOptions | undefined
  /** Same seed, same device, same result. Default 0. */
  readonly seed?: number | undefined
  /**
   * How many seeds are used for every number of clusters: `seed` and the following ones. The agreement of their clusterings
   * is the stability. Up to 4,096 vectors, all seeds cluster all of them, and the best clustering is reported. Of more
   * vectors, and of wide vectors with more than 524,288 numbers, the first seed clusters all and counts. The others cluster
   * a random sample (4,096 vectors, more for many clusters, at most a third of all), wide vectors in fewer columns, which
   * costs much less. Default 2; with 1 there is no stability.
   */
  readonly seeds?: number | undefined
  /** `cosine` brings vectors and centres to length one, also for the scores. Default `euclidean`. */
  readonly metric?: 'euclidean' | 'cosine' | undefined
  /** Keep the clusterings, so that {@link SweepResult.model} can return them: 4 bytes a vector each. Default true. */
  readonly keep?: boolean | undefined
  /** Stops the sweep; the result contains the completed steps. Optional. */
  readonly signal?: AbortSignal | undefined
  /** Called after every number of clusters. Optional. */
  readonly onStep?: ((step: SweepStep) => void) | undefined
  /** Called while the sweep runs, with the fraction of the sweep that is done and the current step. Optional. */
  readonly onProgress?: OnProgress | undefined
}

/** The default value. */
export const SWEEP_DEFAULTS = { method: 'auto', seed: 0, seeds: 2, steps: 12, metric: 'euclidean', keep: true } as const

/** Each step is a whole clustering, and each seed too. */
const MOST_STEPS = 10_000
const MOST_SEEDS = 1000
const LARGEST_SEED = Number.MAX_SAFE_INTEGER - MOST_SEEDS

const CHECKS: OptionChecks<SweepOptions> = {
  k: (value, thing) => countsOf(value, thing),
  method: choice(['auto', ...(Object.keys(METHODS) as MethodName[])]),
  methodOptions: (value, thing) => optionGroup(METHOD_CHECKS)(value, thing),
  seed: whole(0, LARGEST_SEED),
  seeds: whole(1, MOST_SEEDS),
  metric: choice(['euclidean', 'cosine']),
  keep: flag,
  ...WORK_CHECKS,
  onStep: callback,
}

/** What a method makes of them is checked where the method is known. */
const METHOD_CHECKS = Object.fromEntries(
  Object.values(METHODS).flatMap(({ options }) => options.map(({ name }) => [name, (value: unknown) => value])),
) as unknown as OptionChecks<MethodOptions>

const RANGE_CHECKS: OptionChecks<SweepRange> = {
  from: whole(1),
  to: whole(1),
  steps: whole(2, MOST_STEPS),
}

/** The options with their defaults, and the numbers of clusters in rising order. */
export type ReadSweepOptions = Omit<Given<SweepOptions>, 'k'> &
  Required<Pick<Given<SweepOptions>, 'method' | 'seed' | 'seeds' | 'metric' | 'keep'>> & {
    readonly counts: readonly number[]
  }

export function readSweepOptions(options: unknown): ReadSweepOptions {
  const { k, ...given } = optionsOf<SweepOptions>('sweep', options, CHECKS, ['k'])
  const read = { ...SWEEP_DEFAULTS, ...given, counts: k as readonly number[] }
  const { method } = read
  if (method !== 'auto' && METHODS[method].findsCount) {
    throw badOption(
      'method',
      method,
      'it finds the number of clusters itself; call cluster() instead, or give another method.',
    )
  }
  return read
}

function countsOf(value: unknown, thing: string): readonly number[] {
  if (Array.isArray(value)) return listedCounts(value, thing)
  if (typeof value !== 'object' || value === null) {
    throw badArgument(thing, value, 'give a list of numbers of clusters, or a range such as { from: 10, to: 1000 }.')
  }
  const { steps, ...ends } = optionGroup(RANGE_CHECKS)(value, thing)
  const [from, to] = [whole(1)(ends.from, `${thing}.from`), whole(1)(ends.to, `${thing}.to`)]
  if (from > to) throw badArgument(`${thing}.from`, from, `it is above to, which is ${to}; swap the two.`)
  return rangeCounts(from, to, steps ?? SWEEP_DEFAULTS.steps)
}

function listedCounts(list: readonly unknown[], thing: string): readonly number[] {
  if (list.length === 0) throw badArgument(thing, list, 'give at least one number of clusters.')
  if (list.length > MOST_STEPS) throw badArgument(thing, list, `give at most ${MOST_STEPS} numbers of clusters.`)
  for (let i = 0; i < list.length; i++) {
    if (!Number.isSafeInteger(list[i]) || (list[i] as number) < 1) {
      throw badArgument(`${thing}[${i}]`, list[i], 'give a whole number of clusters, 1 or more.')
    }
  }
  return [...new Set(list as readonly number[])].sort((a, b) => a - b)
}

/**
 * Whole numbers that grow by about the same factor. Near the lower end of a range that factor can be less than one number
 * makes: there every number is taken, and the rest is spread anew.
 */
export function rangeCounts(from: number, to: number, steps: number): readonly number[] {
  const counts = [from]
  for (let left = steps - 1; left > 0 && counts[counts.length - 1] < to; left--) {
    const last = counts[counts.length - 1]
    const next = left === 1 ? to : Math.round(last * (to / last) ** (1 / left))
    counts.push(Math.min(to, Math.max(last + 1, next)))
  }
  return counts
}

export function requireCounts(counts: readonly number[], rows: number, name: string): void {
  if (rows < 2) throw badArgument('the number of vectors', rows, `${name} needs at least 2 for a sweep.`)
  const most = counts[counts.length - 1]
  if (most > rows) {
    throw badOption('k', most, `there are only ${show(rows)} vectors; give at most that many clusters.`)
  }
}

/**
 * Finds how many components a mixture should have, by the Bayesian information criterion (BIC). It is told the
 * likelihood after every round of expectation-maximization (EM) and says what to change before the next one.
 *
 * The run begins with more components than most data needs.
 * 1. Coarse merging: the pairs whose merging loses least become one, 30 % of the components at a time, or all pairs that
 *    BIC would join on the spot. After a few rounds of EM the BIC of what came of it is compared with the best so far. The
 *    measured BIC decides; the loss of a pair only gives the order. (The loss alone would not merge the cells of a
 *    Gaussian that was cut into many: two neighbouring cells together are not spherical, although all of them are.)
 * 2. Splitting: from the best mixture, every component whose points are better described by two Gaussians, by BIC, is
 *    split in two, for as long as that pays.
 * 3. Fine merging: as 1, but fewer pairs at a time, down to one.
 * 4. Splitting as in 2, for what merging went too far with.
 * 5. EM alone, until it converges.
 */
import { bayesianCriterion, componentPenalty, type DataSize, type HostMixture } from './bic.ts'

/** Share of components merged at a time to begin with. */
const FIRST_SHARE = 0.3
/** After a step that did not pay, this many times fewer are merged. */
const FINER = 3
/** The fewest components merged at a time: one up to 150 components, then as many as make no difference to the count. */
const FINEST_SHARE = 0.01
/** Rounds of EM before the first merge, and between changes at least and at most. */
const FIRST_ROUNDS = 3
const LEAST_ROUNDS = 2
const MOST_ROUNDS = 4
/** Pairs that lose less than this fraction of a component's penalty are merged immediately. */
const CLEAR_JOIN = 0.5
/** A mixture is rejected early if this many further rounds, each gaining as much as the last, would not make it the best. */
const HOPE = 4
/** Times in a row that components may be split, the first and the second time. */
const MOST_SPLITS = [8, 2]

/** Two components that may be merged, and what that loses. */
export interface Pair {
  readonly i: number
  readonly j: number
  readonly loss: number
}

export type Change =
  /** Merge the pairs in `from`, or in the mixture as it stands. */
  | { readonly kind: 'merge'; readonly from: HostMixture | undefined; readonly pairs: readonly Pair[] }
  /** Go back to this mixture. */
  | { readonly kind: 'restore'; readonly mixture: HostMixture }
  /** Ask {@link CountSearch.split} whether to split the components in two for which that pays. */
  | { readonly kind: 'split' }

/** Pairs of neighbouring components with the loss of merging them. */
export type FindPairs = (mixture: HostMixture) => Promise<readonly Pair[]>

/** What the rounds since the last change are for: EM after merging, new labels to split by, EM after splitting, or EM alone. */
const PHASES = ['merge', 'label', 'split', 'polish'] as const
type Phase = (typeof PHASES)[number]

/** How many numbers {@link CountSearch.save} gives. */
const SAVED_NUMBERS = 10

interface Best {
  readonly bic: number
  readonly mixture: HostMixture
}

export class CountSearch {
  readonly #size: DataSize
  readonly #pairs: FindPairs
  #phase: Phase = 'merge'
  /** Rounds since the last change. */
  #rounds = 0
  #changed = false
  #last = Number.POSITIVE_INFINITY
  #share = FIRST_SHARE
  /** Changes in a row that did not pay. */
  #failures = 0
  /** Pairs of the last merge. */
  #merged = 0
  /** Times in a row that components were split, and how often merging had ended before. */
  #splits = 0
  #merges = 0
  #best: Best | undefined

  constructor(size: DataSize, pairs: FindPairs) {
    this.#size = size
    this.#pairs = pairs
  }

  /** The search is finished. */
  get done(): boolean {
    return this.#phase === 'polish'
  }

  /** Leaves the number of components as it is. */
  end(): void {
    this.#phase = 'polish'
  }

  /** Of the mixture a round began with. */
  criterion(logLikelihood: number, k: number): number {
    return bayesianCriterion(logLikelihood, k, this.#size)
  }

  /** After a round: `bic` of the mixture it began with, and the mixture it made of it, which is no worse. */
  async next(bic: number, mixture: HostMixture): Promise<Change | undefined> {
    if (this.#phase === 'polish') return undefined
    this.#rounds++
    const gain = this.#last - bic
    this.#last = bic
    if (this.#phase === 'label') {
      this.#phase = 'split'
      return { kind: 'split' }
    }
    if (this.#rounds < (this.#changed ? LEAST_ROUNDS : FIRST_ROUNDS)) return undefined
    const lead = this.#best === undefined ? Number.NEGATIVE_INFINITY : bic - this.#best.bic
    const better = lead < 0
    if (!better && this.#rounds < MOST_ROUNDS && lead < HOPE * gain) return undefined
    if (better) {
      this.#best = { bic, mixture }
      this.#failures = 0
    } else this.#failures++
    return this.#phase === 'split' ? this.#afterSplit(better) : this.#afterMerge(better, mixture)
  }

  /** How many components could be split. True if they should be: few among many make no difference. */
  split(count: number): boolean {
    const pays = this.#best !== undefined && count >= finest(this.#best.mixture)
    if (pays) this.#begin('split')
    else this.#endSplitting()
    return pays
  }

  /** All but the best mixture, as numbers. */
  save(): Float64Array {
    return Float64Array.of(
      PHASES.indexOf(this.#phase),
      this.#rounds,
      Number(this.#changed),
      this.#last,
      this.#share,
      this.#failures,
      this.#merged,
      this.#splits,
      this.#merges,
      this.#best?.bic ?? Number.NaN,
    )
  }

  get best(): HostMixture | undefined {
    return this.#best?.mixture
  }

  /** Whether `restore` can go on from these numbers, which may come from a damaged file. */
  static isSaved(saved: Float64Array, hasBest: boolean): boolean {
    const [phase, rounds, changed, , share, failures, merged, splits, merges, bic] = saved
    const counts = [phase, rounds, changed, failures, merged, splits, merges]
    return (
      saved.length === SAVED_NUMBERS &&
      counts.every((value) => Number.isSafeInteger(value) && value >= 0) &&
      phase < PHASES.length &&
      changed <= 1 &&
      share > 0 &&
      share <= FIRST_SHARE &&
      merges <= MOST_SPLITS.length &&
      // Only the first merging begins without a best mixture.
      (hasBest || (phase === PHASES.indexOf('merge') && changed === 0 && Number.isNaN(bic)))
    )
  }

  /** What `save` gave, and the best mixture at that time. */
  restore(saved: Float64Array, best: HostMixture | undefined): void {
    const [phase, rounds, changed, last, share, failures, merged, splits, merges, bic] = saved
    this.#phase = PHASES[phase]
    this.#rounds = rounds
    this.#changed = changed === 1
    this.#last = last
    this.#share = share
    this.#failures = failures
    this.#merged = merged
    this.#splits = splits
    this.#merges = merges
    this.#best = best && { bic, mixture: best }
  }

  async #afterMerge(better: boolean, mixture: HostMixture): Promise<Change | undefined> {
    const coarse = this.#share === FIRST_SHARE
    // BIC need not fall steadily: after one coarse step that does not pay, a second one is tried.
    const goOn = better || (coarse && this.#failures === 1)
    if (!goOn && (coarse || this.#merged <= finest((this.#best as Best).mixture))) return this.#endMerging()
    const from = goOn ? mixture : (this.#best as Best).mixture
    if (!goOn) this.#share /= FINER
    const pairs = await this.#choose(from)
    if (pairs.length === 0) return this.#endMerging()
    this.#merged = pairs.length
    this.#begin('merge')
    return { kind: 'merge', from: goOn ? undefined : from, pairs }
  }

  #endMerging(): Change {
    this.#merges++
    this.#splits = 0
    return this.#towardsSplit()
  }

  #afterSplit(better: boolean): Change | undefined {
    this.#splits++
    // The mixture as it stands is the best.
    if (better && this.#splits < MOST_SPLITS[this.#merges - 1]) return { kind: 'split' }
    this.#endSplitting()
    return better ? undefined : this.#restoreBest()
  }

  #endSplitting(): void {
    if (this.#merges >= MOST_SPLITS.length) {
      this.#phase = 'polish'
      return
    }
    this.#begin('merge')
    this.#share = FIRST_SHARE / FINER
    this.#failures = 0
    // More than one, so that a first failure leads to fewer.
    this.#merged = Number.MAX_SAFE_INTEGER
  }

  /** Labels must be those of the best mixture before components are split. */
  #towardsSplit(): Change {
    this.#begin('label')
    return this.#restoreBest()
  }

  #restoreBest(): Change {
    return { kind: 'restore', mixture: (this.#best as Best).mixture }
  }

  #begin(phase: Phase): void {
    this.#phase = phase
    this.#rounds = 0
    this.#changed = true
    this.#last = Number.POSITIVE_INFINITY
  }

  /** Pairs by rising loss, no component in two of them. */
  async #choose(mixture: HostMixture): Promise<Pair[]> {
    const k = mixture.weights.length
    if (k < 2) return []
    const most = Math.max(finest(mixture), Math.floor(this.#share * k))
    const clear = this.#share === FIRST_SHARE ? CLEAR_JOIN * componentPenalty(this.#size) : Number.NEGATIVE_INFINITY
    const sorted = [...(await this.#pairs(mixture))].sort((a, b) => a.loss - b.loss || a.i - b.i || a.j - b.j)
    const taken = new Uint8Array(k)
    const chosen: Pair[] = []
    for (const pair of sorted) {
      if (chosen.length >= most && pair.loss > clear) break
      if (taken[pair.i] || taken[pair.j]) continue
      taken[pair.i] = taken[pair.j] = 1
      chosen.push(pair)
    }
    return chosen
  }
}

function finest({ weights }: HostMixture): number {
  return Math.max(1, Math.round(FINEST_SHARE * weights.length))
}

/**
 * Which components of a mixture are removed because others explain their points (Avrithis and Kalantidis, algorithm 1): by
 * falling weight, component i stays if |p_i|^2 / (|p_i|^2 + sum of <p_i, p_j> over those that stay) is tau or more, with
 * <p_i, p_j> = w_i w_j N(mean_i; mean_j, (var_i + var_j) I).
 *
 * Ratios <p_i, p_j> / |p_i|^2 are taken from logarithms: densities of many dimensions fit no float.
 *
 * Not in the paper: when there is no overlap left, a component is also removed if it and a remaining one are not worth the
 * numbers they take (BIC): if one Gaussian for both would lose less likelihood than (d + 2) / 2 ln(points of both). A mode
 * with few points for its dimensions can end in two halves that overlap too little to be purged, since each half's mean
 * leans towards its own points. The likelihood of the two is taken as that of points in one of them each, plus the most
 * that sharing can add.
 */
import { NO_LABEL } from '../../kernels/assign-lists.ts'
import type { Mixture } from '../../models/mixture.ts'
import { choiceEntropy } from './bic.ts'
import { jointVariance } from './join.ts'

export interface Purged {
  /** The new number of each component that stays; NO_LABEL of those that go. */
  readonly renamed: Uint32Array
  /** The new number of each component that stays; of one that goes, that of the one it overlapped most. */
  readonly heirs: Uint32Array
  /** Old numbers of those that stay, rising. */
  readonly kept: Uint32Array
  /** Those that went because they are a half of another, which is to take them in. */
  readonly joined: readonly (readonly [component: number, other: number])[]
}

export interface Purgeable extends Mixture {
  readonly cols: number
  /** Of what a component has: the share that comes from points it answers for most. */
  readonly ownShares: Float64Array
  /** Weight of all points together. */
  readonly points: number
}

/** Components near another: the first `count` of both arrays. */
export interface Near {
  readonly count: number
  readonly others: ArrayLike<number>
  /** Squared distances. */
  readonly squares: ArrayLike<number>
}

export class Purge {
  /** Components by falling weight: to be considered in this order. */
  readonly order: Uint32Array
  readonly #cols: number
  readonly #tau: number
  readonly #weights: Float64Array
  readonly #variances: Float64Array
  readonly #points: number
  readonly #ownShares: Float64Array
  readonly #stays: Uint8Array
  readonly #kept: number[] = []
  readonly #heirs: Uint32Array
  /** Whether one went because of overlaps. */
  #gone = false
  /** Pairs of components that are not better than one, in the order of decisions. */
  readonly #halves: [component: number, other: number][] = []

  constructor({ weights, variances, ownShares, cols, points }: Purgeable, tau: number) {
    this.#cols = cols
    this.#tau = tau
    this.#points = points
    this.#ownShares = ownShares
    this.#weights = weights
    this.#variances = variances
    this.#stays = new Uint8Array(weights.length)
    this.#heirs = new Uint32Array(weights.length).fill(NO_LABEL)
    this.order = Uint32Array.from(weights, (_, i) => i).sort((a, b) => weights[b] - weights[a] || a - b)
  }

  /** Those of which it is decided that they stay, in the order of decisions. */
  get kept(): readonly number[] {
    return this.#kept
  }

  stays(component: number): boolean {
    return this.#stays[component] === 1
  }

  /** Decides about a component from what is near it; those not yet decided, or gone, do not count. */
  consider(component: number, near: Near): void {
    const weight = this.#weights[component]
    const variance = this.#variances[component]
    let overlap = 0
    let most = Number.NEGATIVE_INFINITY
    let half: number | undefined
    // Below a half even two equal components may stay; and where something overlaps, halves wait.
    const joins = this.#tau >= 0.5 && !this.#gone
    for (let at = 0; at < near.count; at++) {
      const [other, squared] = [near.others[at], near.squares[at]]
      if (this.#stays[other] === 0 || other === component) continue
      const both = variance + this.#variances[other]
      const log =
        (weight > 0 ? Math.log(this.#weights[other] / weight) : 0) +
        (this.#cols / 2) * Math.log((2 * variance) / both) -
        squared / (2 * both)
      if (log > most) {
        most = log
        this.#heirs[component] = other
      }
      if (log > -40) overlap += Math.exp(log)
      if (joins && half === undefined && !this.#worthTwo(component, other, squared)) half = other
    }
    if (!(weight > 0 && 1 / (1 + overlap) >= this.#tau)) {
      this.#gone = true
      return
    }
    this.#stays[component] = 1
    this.#kept.push(component)
    if (half !== undefined) this.#halves.push([component, half])
  }

  #worthTwo(component: number, other: number, squared: number): boolean {
    const [a, b] = [this.#points * this.#weights[component], this.#points * this.#weights[other]]
    const [u, v] = [this.#variances[component], this.#variances[other]]
    const both = a + b
    const variance = jointVariance([a, u], [b, v], squared, this.#cols)
    // Less than a half of its own: as good as shared with the other.
    const own = Math.max(0.5, (a * this.#ownShares[component] + b * this.#ownShares[other]) / both)
    const sharing = Math.min(choiceEntropy(own), choiceEntropy(a / both)) - choiceEntropy(a / both)
    const lost = (this.#cols / 2) * (a * Math.log(variance / u) + b * Math.log(variance / v)) + both * sharing
    return lost >= ((this.#cols + 2) / 2) * Math.log(both)
  }

  /** Without overlap: a half is removed if its other half remains. */
  #joinHalves(): [component: number, other: number][] {
    if (this.#gone) return []
    return this.#halves.filter(([component, other]) => {
      if (this.#stays[other] === 0) return false
      this.#stays[component] = 0
      this.#heirs[component] = other
      return true
    })
  }

  result(): Purged {
    const joined = this.#joinHalves()
    const kept = Uint32Array.from(this.#kept.filter((component) => this.#stays[component] === 1)).sort()
    const renamed = new Uint32Array(this.#stays.length).fill(NO_LABEL)
    kept.forEach((component, name) => {
      renamed[component] = name
    })
    // The heaviest always remains, for points without a near component.
    const fallback = renamed[this.order[0]]
    const heirs = Uint32Array.from(renamed, (name, component) => {
      if (name !== NO_LABEL) return name
      const heir = this.#heirs[component]
      return heir === NO_LABEL ? fallback : renamed[heir]
    })
    return { renamed, heirs, kept, joined }
  }
}

/**
 * The neighbours of each component that stay, from lists that a search gave: if i is in the list of j, j is near i as
 * well. Most lists are of components that go, so only those that stay announce themselves to the others they list.
 */
export class ListedNeighbors {
  readonly #lists: Uint32Array
  readonly #distances: Float32Array
  readonly #width: number
  readonly #stays: Uint8Array
  /** For each component, places in the lists of others at which it stands. */
  readonly #heard: (number[] | undefined)[]
  /** The component in whose list each was met last, plus 1. */
  readonly #met: Uint32Array
  readonly #others: Uint32Array
  readonly #squares: Float32Array

  constructor(lists: Uint32Array, distances: Float32Array, width: number) {
    const count = lists.length / width
    this.#lists = lists
    this.#distances = distances
    this.#width = width
    this.#stays = new Uint8Array(count)
    this.#heard = Array(count)
    this.#met = new Uint32Array(count)
    this.#others = new Uint32Array(count)
    this.#squares = new Float32Array(count)
  }

  /** From now on the component counts as a neighbour. */
  announce(component: number): void {
    this.#stays[component] = 1
    for (let at = component * this.#width; at < (component + 1) * this.#width; at++) {
      const other = this.#lists[at]
      if (other === NO_LABEL) continue
      const heard = this.#heard[other]
      if (heard) heard.push(at)
      else this.#heard[other] = [at]
    }
  }

  /** Those of its own list first, then the others by their number. Valid until the next call. */
  of(component: number): Near {
    let count = 0
    const add = (other: number, at: number): void => {
      this.#others[count] = other
      this.#squares[count++] = this.#distances[at]
    }
    for (let at = component * this.#width; at < (component + 1) * this.#width; at++) {
      const other = this.#lists[at]
      if (other === NO_LABEL) continue
      this.#met[other] = component + 1
      if (this.#stays[other] === 1) add(other, at)
    }
    for (const at of this.#heard[component]?.sort((a, b) => a - b) ?? []) {
      const other = Math.floor(at / this.#width)
      if (this.#met[other] !== component + 1) add(other, at)
    }
    return { count, others: this.#others, squares: this.#squares }
  }
}

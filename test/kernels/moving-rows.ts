/** Cases of k-means# over sparse rows, and what the moves in them cost: plain loops over the rows in full. */
import { createRandom, shuffle } from '../../src/core/random.ts'
import { movePriceBound } from '../tolerance.ts'
import { countOf, lengthOf, sumsByLabel } from './oracles.ts'
import { type SparseRows, sparsePoints } from './sparse-rows.ts'
import { type Flavour, weights as someWeights, wholeNumbers } from './vectors.ts'

export interface Case {
  readonly x: SparseRows
  readonly weights: Float32Array | undefined
  readonly labels: Uint32Array
  readonly k: number
  readonly unit: boolean
  readonly first: boolean
  readonly members: Uint32Array
  readonly offsets: Uint32Array
  readonly order: Uint32Array
  readonly among: 'all' | 'labels' | { readonly lists: Uint32Array; readonly width: number }
}

export interface Asked {
  readonly flavour?: Flavour
  readonly unit?: boolean
  readonly weighted?: boolean
  readonly first?: boolean
  readonly among?: 'all' | 'labels' | 'lists'
}

/** Points of a group. */
export const GROUP = 3

export function makeCase(n: number, k: number, d: number, asked: Asked = {}, seed = 5): Case {
  const { flavour = 'unit', unit = false, weighted = false, first = false, among = 'all' } = asked
  const random = createRandom(seed)
  const mixed = (length: number): Uint32Array => {
    const order = Uint32Array.from({ length }, (_, i) => i)
    shuffle(random, order)
    return order
  }
  const groups = Math.ceil(n / GROUP)
  const width = Math.min(k, 5)
  const lists = Uint32Array.from({ length: groups * width }, (_, i) =>
    i % width === 0 ? random.below(k) : (i * 7) % k,
  )
  return {
    x: sparsePoints(flavour, n, d, Math.min(0.6, 8 / d), seed),
    weights: weighted ? someWeights(n, seed + 1) : undefined,
    labels: wholeNumbers(n, k, seed + 2),
    k,
    unit,
    first,
    members: mixed(n),
    offsets: Uint32Array.from({ length: groups + 1 }, (_, i) => Math.min(n, i * GROUP)),
    order: mixed(groups),
    among: among === 'lists' ? { lists, width } : among,
  }
}

/** Clusters in full, in 64 bits. */
export class Oracle {
  readonly given: Case
  readonly sums: Float64Array
  readonly totals: Float64Array
  readonly sizes: Uint32Array
  moves = 0

  constructor(given: Case) {
    this.given = given
    const { sums, totals, counts } = sumsByLabel(given.x.dense, given.labels, given.k, given.weights)
    this.sums = Float64Array.from(sums)
    this.totals = Float64Array.from(totals)
    this.sizes = Uint32Array.from(counts)
  }

  weight(i: number): number {
    return this.given.weights ? this.given.weights[i] : 1
  }

  /** |D + share x|^2. */
  square(j: number, i = 0, share = 0): number {
    const { data, cols } = this.given.x.dense
    let sum = 0
    for (let t = 0; t < cols; t++) sum += (this.sums[j * cols + t] + share * data[i * cols + t]) ** 2
    return sum
  }

  mass(j: number): number {
    return this.given.unit ? Math.sqrt(this.square(j)) : this.totals[j]
  }

  /** By how much the objective rises when the point joins, or, negative weight, how much it saves by leaving. */
  cost(i: number, j: number, sign: 1 | -1): number {
    const { dense } = this.given.x
    const w = this.weight(i)
    if (this.given.unit) return sign * (Math.sqrt(this.square(j)) - Math.sqrt(this.square(j, i, sign * w)))
    const total = this.totals[j]
    if (total <= 0 || w === 0) return 0
    let squared = 0
    for (let t = 0; t < dense.cols; t++) {
      squared += (dense.data[i * dense.cols + t] - this.sums[j * dense.cols + t] / total) ** 2
    }
    return (squared * w * total) / (total + sign * w)
  }

  slack(i: number, j: number, sign: 1 | -1): number {
    const { dense } = this.given.x
    const w = this.weight(i)
    const pull = w * lengthOf(dense, i)
    const total = this.totals[j]
    const long = Math.sqrt(this.square(j))
    if (!this.given.unit) {
      const squared = w * (lengthOf(dense, i) + (total > 0 ? long / total : 0)) ** 2
      return movePriceBound(dense.cols, this.moves, total > 0 ? (squared * total) / (total + sign * w) : 0)
    }
    const after = Math.sqrt(this.square(j, i, sign * w))
    return pull > 0
      ? movePriceBound(dense.cols, this.moves, pull * (1 + (long + pull) ** 2 / (after * (after + long))))
      : 0
  }

  /** Undefined where rounding decides. */
  mayLeave(i: number, j: number): boolean | undefined {
    if (this.sizes[j] <= 1) return false
    const w = this.weight(i)
    if (this.given.unit) {
      const noise = movePriceBound(this.given.x.dense.cols, this.moves, this.square(j))
      return this.square(j, i, -w) < 1e-3 * w * w + noise ? undefined : true
    }
    const [mass, least] = [this.mass(j), w * 1.00001]
    return Math.abs(mass - least) <= 1e-4 * least ? undefined : mass > least
  }

  move(i: number, from: number, to: number): void {
    const { data, cols } = this.given.x.dense
    const w = this.weight(i)
    for (let t = 0; t < cols; t++) {
      this.sums[from * cols + t] -= w * data[i * cols + t]
      this.sums[to * cols + t] += w * data[i * cols + t]
    }
    this.totals[from] -= w
    this.totals[to] += w
    this.sizes[from]--
    this.sizes[to]++
    this.moves++
  }

  objective(labels: Uint32Array): number {
    const { x, k, unit, weights } = this.given
    if (unit) return -Array.from({ length: k }, (_, j) => Math.sqrt(this.square(j))).reduce((a, b) => a + b, 0)
    const { sums, totals } = sumsByLabel(x.dense, labels, k, weights)
    let total = 0
    for (let i = 0; i < countOf(x.dense); i++) total += this.weight(i) * lengthOf(x.dense, i) ** 2
    for (let j = 0; j < k; j++) {
      if (totals[j] <= 0) continue
      for (let t = 0; t < x.dense.cols; t++) total -= sums[j * x.dense.cols + t] ** 2 / totals[j]
    }
    return total
  }
}

export function candidatesOf({ k, among, members, offsets }: Case, group: number, labels: Uint32Array): number[] {
  if (among === 'all') return Array.from({ length: k }, (_, j) => j)
  if (typeof among === 'object') return [...among.lists.subarray(group * among.width, (group + 1) * among.width)]
  return [...new Set([...members.subarray(offsets[group], offsets[group + 1])].map((point) => labels[point]))]
}

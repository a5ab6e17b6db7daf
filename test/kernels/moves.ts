/**
 * k-means# written a second time, for the tests of its kernels: the objective of whole clusters in
 * 64-bit floats, added up from their points before and after every move, with no formula of gains.
 *
 * Kernels see centres and masses in 32 bits, so the oracle keeps, beside each cluster, how far its
 * centre and mass on the device may be from the true ones.
 */
import type { VectorData } from '../../src/core/matrix.ts'
import { createRandom } from '../../src/core/random.ts'
import { SMALLEST, UNIT } from '../tolerance.ts'
import { countOf, lengthOf, longest, NONE, type Rows } from './oracles.ts'
import { type Flavour, points, weights, wholeNumbers } from './vectors.ts'

export interface MoveCase {
  readonly x: Rows
  readonly k: number
  readonly labels: Uint32Array
  readonly weights?: Float32Array | undefined
  /** Vectors of length one; the objective is the sum of lengths of sums. */
  readonly unit: boolean
  readonly members: Uint32Array
  readonly offsets: Uint32Array
  readonly order: Uint32Array
  readonly among: 'labels' | 'all' | { readonly lists: Uint32Array; readonly width: number }
  readonly first: boolean
}

export interface MoveShape {
  readonly flavour: Flavour
  readonly n: number
  readonly k: number
  readonly d: number
  readonly seed: number
  readonly weighted?: boolean
  readonly unit?: boolean
  readonly first?: boolean
  readonly among?: 'labels' | 'all' | number
  /** Points of a group, at most; groups are uneven, some are empty. */
  readonly most?: number
}

export function makeMoves(shape: MoveShape): MoveCase {
  const { flavour, n, k, d, seed, unit = false, first = false, among = 'all', most = 9 } = shape
  const random = createRandom(seed)
  const data = points(flavour, n, d, seed + 1)
  const members = Uint32Array.from({ length: n }, (_, i) => i)
  for (let i = n - 1; i > 0; i--) {
    const j = random.below(i + 1)
    ;[members[i], members[j]] = [members[j], members[i]]
  }
  const ends = [0]
  while (ends[ends.length - 1] < n) ends.push(Math.min(n, ends[ends.length - 1] + random.below(most + 1)))
  const offsets = Uint32Array.from(ends)
  const groups = offsets.length - 1
  const width = typeof among === 'number' ? among : 0
  return {
    x: { data: unit ? directions(data, d) : data, cols: d },
    k,
    labels: wholeNumbers(n, k, seed + 2),
    weights: shape.weighted ? weights(n, seed + 3) : undefined,
    unit,
    members,
    offsets,
    order: Uint32Array.from({ length: groups }, (_, i) => groups - 1 - i),
    among: typeof among === 'number' ? { lists: wholeNumbers(groups * width, k, seed + 4), width } : among,
    first,
  }
}

function directions(data: VectorData, d: number): Float32Array {
  const rows = { data, cols: d }
  return Float32Array.from(data, (value, i) => {
    const length = lengthOf(rows, Math.floor(i / d))
    return length > 0 ? value / length : i % d === 0 ? 1 : 0
  })
}

export function largestGroup({ offsets }: MoveCase): number {
  let largest = 1
  for (let g = 0; g + 1 < offsets.length; g++) largest = Math.max(largest, offsets[g + 1] - offsets[g])
  return largest
}

/** Clusters that a point of a group may look at. */
export function candidatesOf(given: MoveCase, group: number): Set<number> {
  const { among, k, members, offsets, labels } = given
  if (among === 'all') return new Set(Array.from({ length: k }, (_, j) => j))
  if (among === 'labels')
    return new Set(Array.from(members.subarray(offsets[group], offsets[group + 1]), (point) => labels[point]))
  return new Set(among.lists.subarray(group * among.width, (group + 1) * among.width))
}

type Measured = ReturnType<MoveOracle['measure']>

interface Cluster {
  readonly points: Set<number>
  /** Of all its points, once it was asked for; forgotten when a point comes or goes. */
  measured?: Measured | undefined
  /** How far the centre may be from the true one, and the mass, on the device. */
  centerError: number
  massError: number
}

export interface Gain {
  /** By how much the objective gets better. */
  readonly gain: number
  /** What it was to stay: the device takes a smaller share of this for rounding. */
  readonly stay: number
  /** By how much 32-bit arithmetic may miss the gain. */
  readonly slack: number
}

export class MoveOracle {
  readonly labels: Uint32Array
  readonly #given: MoveCase
  readonly #clusters: Cluster[]
  readonly #longest: number
  /** Clusters without one of their points, and gains: asked for many times, and valid until the next move. */
  readonly #without = new Map<number, Measured>()
  readonly #gains = new Map<number, Gain>()

  constructor(given: MoveCase) {
    this.#given = given
    this.labels = given.labels.slice()
    this.#longest = longest(given.x)
    this.#clusters = Array.from({ length: given.k }, (_, j) => {
      const inside = new Set<number>()
      this.labels.forEach((label, point) => {
        if (label === j) inside.add(point)
      })
      const { mass, length } = this.measure(inside)
      // Rounded once from the truth, or the sum was and then brought to length one.
      return { points: inside, centerError: 4 * UNIT * length, massError: 4 * UNIT * mass }
    })
  }

  weight(point: number): number {
    return this.#given.weights?.[point] ?? 1
  }

  pointsOf(cluster: number): ReadonlySet<number> {
    return this.#clusters[cluster].points
  }

  errorsOf(cluster: number): { readonly centerError: number; readonly massError: number } {
    return this.#clusters[cluster]
  }

  /** Sum, mass, centre and what the cluster adds to the objective, all from its points. */
  measure(inside: Iterable<number>): {
    sum: Float64Array
    total: number
    mass: number
    center: Float64Array
    length: number
    objective: number
  } {
    const { x, unit } = this.#given
    const d = x.cols
    const sum = new Float64Array(d)
    let total = 0
    for (const point of inside) {
      const weight = this.weight(point)
      total += weight
      for (let t = 0; t < d; t++) sum[t] += weight * x.data[point * d + t]
    }
    const squares = sum.reduce((all, value) => all + value * value, 0)
    const mass = unit ? Math.sqrt(squares) : total
    const center = mass > 0 ? sum.map((value) => value / mass) : Float64Array.from(x.data.subarray(0, d))
    const objective = unit ? mass : total > 0 ? squares / total : 0
    return { sum, total, mass, center, length: Math.hypot(...center), objective }
  }

  #whole(cluster: Cluster): Measured {
    cluster.measured ??= this.measure(cluster.points)
    return cluster.measured
  }

  /** The cluster of a point as it would be without it. */
  #rest(point: number): Measured {
    let rest = this.#without.get(point)
    if (rest === undefined) {
      const left = new Set(this.#clusters[this.labels[point]].points)
      left.delete(point)
      rest = this.measure(left)
      this.#without.set(point, rest)
    }
    return rest
  }

  /** 'no', 'yes', or too close to say: a cluster keeps its last point and its last weight. */
  mayLeave(point: number): 'yes' | 'no' | 'perhaps' {
    const own = this.#clusters[this.labels[point]]
    if (own.points.size < 2) return 'no'
    const weight = this.weight(point)
    const { mass } = this.#rest(point)
    if (this.#given.unit) {
      // The rest must have a direction: see wasm/move-costs.ts.
      if (weight === 0 && mass > 0) return 'yes'
      return mass > 0.01 * weight ? 'yes' : mass < 0.0005 * weight ? 'no' : 'perhaps'
    }
    return mass > 3e-5 * weight ? 'yes' : mass < 1e-6 * weight ? 'no' : 'perhaps'
  }

  /** What the objective does if the point goes: both clusters added up again, without it and with it. */
  gainOf(point: number, to: number): Gain {
    const key = point * this.#given.k + to
    const known = this.#gains.get(key)
    if (known) return known
    const gain = this.#measureGain(point, to)
    this.#gains.set(key, gain)
    return gain
  }

  #measureGain(point: number, to: number): Gain {
    const from = this.#clusters[this.labels[point]]
    const target = this.#clusters[to]
    const here = this.#whole(from)
    const there = this.#whole(target)
    const hereAfter = this.#rest(point)
    const thereAfter = this.measure([...target.points, point])
    const lost = here.objective - hereAfter.objective
    const won = thereAfter.objective - there.objective
    const weight = this.weight(point)
    const square = weight * lengthOf(this.#given.x, point) ** 2
    // Squared distances: staying costs what the objective of the rest lacks.
    const stay = this.#given.unit ? -lost : square - lost
    const join = this.#given.unit ? -won : square - won
    const slack =
      this.#slack(point, stay, here, hereAfter, from, -1) + this.#slack(point, join, there, thereAfter, target, 1)
    return { gain: won - lost, stay: Math.abs(stay), slack }
  }

  /**
   * By how much a cost may be off. Squared: w d^2 m / (m +- w), where d^2 has d + 16 roundings, the
   * centre is off by e (2 d e + e^2), and the mass by its error, which m - w makes relatively larger.
   * Unit: s - m with s^2 = m^2 +- w (m 2 x.c +- w), taken as difference / (s + m), so that an error of
   * s^2 counts with |cost| / (s + m) only.
   */
  #slack(
    point: number,
    cost: number,
    before: { mass: number; center: Float64Array },
    after: { mass: number },
    cluster: Cluster,
    sign: number,
  ): number {
    const { x, unit } = this.#given
    const d = x.cols
    const weight = this.weight(point)
    const e = cluster.centerError
    if (unit) {
      const along = weight * (8 * (d + 16) * UNIT + 2 * e + (4 * cluster.massError) / Math.max(before.mass, 1e-30))
      const squares = (before.mass + weight) * (4 * (d + 16) * UNIT * (before.mass + weight) + 2 * cluster.massError)
      const root = Math.min(squares / Math.max(after.mass, 1e-30), Math.sqrt(squares))
      return along + (Math.abs(cost) * root) / Math.max(before.mass + after.mass, 1e-30)
    }
    let distance = 0
    for (let t = 0; t < d; t++) distance += (x.data[point * d + t] - before.center[t]) ** 2
    const left = Math.max(before.mass + sign * weight, 1e-5 * weight, 1e-30)
    const ratio = before.mass / left
    const missing = (cluster.massError + 2 * UNIT * before.mass) / left
    return (
      weight * ratio * ((d + 16) * UNIT * distance + 2 * Math.sqrt(distance) * e + e * e + missing * distance) +
      d * SMALLEST +
      // The oracle's own rounding: what it adds up are squared lengths, not distances.
      1e-13 * weight * (this.#longest ** 2 * (1 + countOf(x)))
    )
  }

  /** The move is done; errors of centre and mass on the device grow by what one step adds. */
  move(point: number, to: number): void {
    const weight = this.weight(point)
    this.#step(this.#clusters[this.labels[point]], point, weight, -1)
    this.#step(this.#clusters[to], point, weight, 1)
    this.labels[point] = to
    this.#without.clear()
    this.#gains.clear()
  }

  #step(cluster: Cluster, point: number, weight: number, sign: number): void {
    const { x, unit } = this.#given
    const before = this.#whole(cluster)
    if (sign > 0) cluster.points.add(point)
    else cluster.points.delete(point)
    cluster.measured = undefined
    const after = this.#whole(cluster)
    const reach = before.length + lengthOf(x, point)
    const mass = Math.max(after.mass, 1e-30)
    if (unit) {
      const ofSum =
        before.mass * cluster.centerError + cluster.massError + (x.cols + 16) * UNIT * (before.mass + weight)
      cluster.massError = ofSum
      cluster.centerError = (2 * ofSum) / mass
      return
    }
    const share = weight / mass
    cluster.centerError =
      (cluster.centerError * before.mass) / mass + (8 * UNIT * (1 + share) + (share * cluster.massError) / mass) * reach
    cluster.massError += 2 * UNIT * Math.max(before.mass, mass)
  }
}

export { NONE }

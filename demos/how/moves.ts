/**
 * k-means# (Zhao, Deng, Ngo) for points in the plane: a point moves to another cluster as soon as that lowers the sum of
 * squared distances, and both means change at once.
 */
import type { Matrix } from '../../src/index.ts'

export interface Gain {
  readonly cluster: number
  /** By how much the sum of squared distances falls if the point moves there. */
  readonly gain: number
}

export class Moves {
  readonly points: Float32Array
  readonly labels: Uint32Array
  readonly k: number
  readonly #counts: Uint32Array
  readonly #sums: Float64Array

  constructor({ data, rows }: Matrix, labels: Uint32Array, k: number) {
    this.points = data as Float32Array
    this.labels = labels.slice()
    this.k = k
    this.#counts = new Uint32Array(k)
    this.#sums = new Float64Array(2 * k)
    for (let i = 0; i < rows; i++) this.#add(i, labels[i], 1)
  }

  get centers(): Float32Array {
    return Float32Array.from(this.#sums, (sum, i) => sum / this.#counts[i >> 1])
  }

  /** The sum of squared distances of all points to the means of their clusters. */
  get objective(): number {
    let sum = 0
    this.labels.forEach((label, i) => {
      sum += this.#squared(i, label)
    })
    return sum
  }

  /** Of each other cluster, the best first. A cluster is never emptied. */
  gains(point: number): Gain[] {
    const own = this.labels[point]
    const size = this.#counts[own]
    if (size < 2) return []
    const leaving = (size / (size - 1)) * this.#squared(point, own)
    return Array.from({ length: this.k }, (_, cluster) => {
      const count = this.#counts[cluster]
      return { cluster, gain: leaving - (count / (count + 1)) * this.#squared(point, cluster) }
    })
      .filter(({ cluster }) => cluster !== own)
      .sort((a, b) => b.gain - a.gain)
  }

  move(point: number, cluster: number): void {
    this.#add(point, this.labels[point], -1)
    this.#add(point, cluster, 1)
    this.labels[point] = cluster
  }

  /** Points that would lower the sum, those that lower it most first. */
  gaining(): number[] {
    const best = Array.from(this.labels, (_, point) => this.gains(point)[0]?.gain ?? 0)
    return [...best.keys()].filter((point) => best[point] > LEAST_GAIN).sort((a, b) => best[b] - best[a])
  }

  #add(point: number, cluster: number, sign: 1 | -1): void {
    this.#counts[cluster] += sign
    this.#sums[2 * cluster] += sign * this.points[2 * point]
    this.#sums[2 * cluster + 1] += sign * this.points[2 * point + 1]
  }

  #squared(point: number, cluster: number): number {
    const count = this.#counts[cluster]
    const x = this.points[2 * point] - this.#sums[2 * cluster] / count
    const y = this.points[2 * point + 1] - this.#sums[2 * cluster + 1] / count
    return x * x + y * y
  }
}

/** A smaller gain may be rounding. */
const LEAST_GAIN = 1e-9

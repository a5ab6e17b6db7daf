/**
 * Random samples of the points of a sweep, larger ones for more clusters. Where clusters are to be split, and how far
 * clusterings of other seeds agree, a sample with some points of every cluster tells almost as well as all points.
 */
import { createRandom } from '../../core/random.ts'
import type { Device } from '../../device/contract.ts'
import { RowSet } from '../../vectors/distinct.ts'
import type { Frame } from '../../vectors/frame.ts'
import { PointStore } from '../../vectors/points.ts'
import { sampleByWeight, sampleSource } from '../sample.ts'

/** Random numbers of their own. */
const STREAM = 0x5a3b1e
/** Points of the smallest sample. Up to so many, all are taken. */
const LEAST = 8192
/** Points for each cluster, on average: of the sample that tells which clusters to split, and of that for further seeds. */
export const POINTS_TO_SPLIT = 32
export const POINTS_TO_COMPARE = 16
/** The largest sample is this share of the points, unless the smallest is more: it must cost little against all of them. */
const MOST_SHARE = 0.25

export interface Sample {
  /** In the frame of all points. */
  readonly points: PointStore
  /** Which of all points they are, rising. Undefined: they are all. */
  readonly rows: Uint32Array | undefined
  /** It is much smaller than all points, and has enough of each cluster: the next clustering may begin among them. */
  readonly helps: boolean
}

export class Samples {
  readonly #device: Device
  readonly #all: PointStore
  readonly #seed: number
  readonly #perCluster: number
  #drawn: { readonly points: PointStore; readonly rows: Uint32Array; readonly distinct: number } | undefined

  /** `perCluster`: points for each cluster, on average. */
  constructor(device: Device, all: PointStore, seed: number, perCluster: number) {
    this.#device = device
    this.#all = all
    this.#seed = seed
    this.#perCluster = perCluster
  }

  /** For k clusters, k never falling from call to call. Valid until the next call. */
  async at(k: number, signal: AbortSignal | undefined): Promise<Sample> {
    const size = sampleSize(this.#all.rows, k, this.#perCluster)
    if (size >= this.#all.rows) return everything(this.#all)
    if (this.#drawn?.rows.length !== size) {
      const random = createRandom(this.#seed).fork(STREAM + size)
      const rows = sampleByWeight(random, this.#all.rows, undefined, size).indices as Uint32Array
      const source = await sampleSource(this.#all, rows, signal)
      const { unit, type } = this.#all.frame
      const frame: Frame = { shift: undefined, scale: 1, unit, type }
      const seen = new RowSet(frame)
      for (let row = 0; row < size; row++) await seen.addFrom(source, row)
      this.free()
      this.#drawn = { points: await PointStore.open(this.#device, source, { frame }), rows, distinct: seen.size }
    }
    const { points, rows, distinct } = this.#drawn
    // Of points that are mostly copies of few, a sample may hold too few different ones.
    if (distinct < k) return everything(this.#all)
    return { points, rows, helps: 3 * size <= this.#all.rows && this.#perCluster * k <= 1.1 * size }
  }

  free(): void {
    this.#drawn?.points.free()
    this.#drawn = undefined
  }
}

/** All points in place of a sample. */
export function everything(points: PointStore): Sample {
  return { points, rows: undefined, helps: false }
}

/** Sizes double, so that few samples serve all numbers of clusters. */
export function sampleSize(rows: number, k: number, perCluster: number): number {
  let size = LEAST
  while (size < perCluster * k) size *= 2
  return Math.min(rows, size, Math.max(LEAST, Math.floor(MOST_SHARE * rows)))
}

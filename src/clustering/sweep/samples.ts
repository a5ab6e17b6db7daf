/**
 * Random samples of the points of a sweep, larger ones for more clusters. Where clusters are to be split, and how far
 * clusterings of other seeds agree, a sample with some points of every cluster tells almost as well as all points.
 */
import { createRandom } from '../../core/random.ts'
import type { Device } from '../../device/contract.ts'
import { DistinctRows } from '../../vectors/distinct.ts'
import type { Frame } from '../../vectors/frame.ts'
import { PointStore } from '../../vectors/points.ts'
import { sampleByWeight, sampleSource } from '../sample.ts'

/** Random numbers of their own. */
const STREAM = 0x5a3b1e
/** How large samples are. */
export interface SampleSizes {
  /** Points of the smallest sample. Up to so many, all are taken. */
  readonly least: number
  /** Points for each cluster, on average, in any case. */
  readonly perCluster: number
  /** Points for each cluster where that makes no more than `ample` points: enough for clusters to settle among them. */
  readonly perClusterAmple: number
  readonly ample: number
  /** A sample that would be a larger share of the points is not worth it: all are taken. */
  readonly mostShare: number
}

/** With so many points each, clusters of a sample are clusters of all points. */
export const PER_CLUSTER_TO_SETTLE = 128
/** What the clusterings of all points begin from. */
export const TO_BEGIN: SampleSizes = {
  ...{ least: 4096, perCluster: 32, perClusterAmple: PER_CLUSTER_TO_SETTLE, ample: 16_384, mostShare: 1 / 3 },
}
/** What further seeds cluster. */
export const TO_COMPARE: SampleSizes = { least: 4096, perCluster: 8, perClusterAmple: 8, ample: 0, mostShare: 1 }
/** The largest sample is this share of the points, unless the smallest is more: it must cost little against all of them. */
const MOST_SHARE = 1 / 6

/** With fewer points each, halves of clusters are left to chance. */
const LEAST_PER_CLUSTER = 12

export interface Sample {
  /** In the frame of the space they are drawn from. */
  readonly points: PointStore
  /** Which of all points they are, rising. Undefined: they are all. */
  readonly rows: Uint32Array | undefined
  /** All points, in the same space: the points of the sweep, or these reduced to fewer columns. */
  readonly space: PointStore
  /** Clustering these costs much less, and there are enough for each cluster: the next clustering may begin among them. */
  readonly helps: boolean
}

interface Drawn {
  readonly points: PointStore
  /** Undefined: all. */
  readonly rows: Uint32Array | undefined
  readonly distinct: DistinctRows
}

export class Samples {
  readonly #device: Device
  readonly #space: PointStore
  readonly #points: PointStore
  readonly #seed: number
  readonly #sizes: SampleSizes
  #drawn: Drawn | undefined

  /** `points` are those of the sweep, `space` these or the same in fewer columns. */
  constructor(device: Device, points: PointStore, space: PointStore, seed: number, sizes: SampleSizes) {
    this.#device = device
    this.#points = points
    this.#space = space
    this.#seed = seed
    this.#sizes = sizes
  }

  /** For k clusters, k never falling from call to call. Valid until the next call. */
  async at(k: number, signal: AbortSignal | undefined): Promise<Sample> {
    const space = this.#space
    const size = sampleSize(space.rows, k, this.#sizes)
    const reduced = space !== this.#points
    if (size === space.rows && !reduced) return everything(space)
    if (this.#drawn?.points.rows !== size) {
      const drawn = await this.#draw(size, signal)
      this.free()
      this.#drawn = drawn
    }
    const drawn = this.#drawn as Drawn
    // Of points that are mostly copies of few, a sample may hold too few different ones.
    if (!(await drawn.distinct.atLeast(k))) return everything(this.#points)
    const { points, rows } = drawn
    return { points, rows, space, helps: rows === undefined || LEAST_PER_CLUSTER * k <= size }
  }

  async #draw(size: number, signal: AbortSignal | undefined): Promise<Drawn> {
    const space = this.#space
    const { unit, type } = space.frame
    const frame: Frame = { shift: undefined, scale: 1, unit, type }
    if (size === space.rows) {
      return { points: space, rows: undefined, distinct: new DistinctRows(space.source, frame) }
    }
    const random = createRandom(this.#seed).fork(STREAM + size)
    const rows = sampleByWeight(random, space.rows, undefined, size).indices as Uint32Array
    const source = await sampleSource(space, rows, signal)
    const points = await PointStore.open(this.#device, source, { frame })
    return { points, rows, distinct: new DistinctRows(points.source, frame) }
  }

  free(): void {
    if (this.#drawn?.rows) this.#drawn.points.free()
    this.#drawn = undefined
  }
}

/** All points in place of a sample. */
export function everything(points: PointStore): Sample {
  return { points, rows: undefined, space: points, helps: false }
}

/** Sizes double, so that few samples serve all numbers of clusters. */
export function sampleSize(rows: number, k: number, sizes: SampleSizes): number {
  const { least, perCluster, perClusterAmple, ample, mostShare } = sizes
  const wanted = Math.max(perCluster * k, Math.min(ample, perClusterAmple * k))
  let size = least
  while (size < wanted) size *= 2
  size = Math.min(size, Math.max(least, Math.floor(MOST_SHARE * rows)))
  return size <= mostShare * rows ? size : rows
}

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
/** How large samples are. */
export interface SampleSizes {
  /** Points of the smallest sample. Up to so many, all are taken. */
  readonly least: number
  /** Points for each cluster, on average. */
  readonly perCluster: number
}

/** What the clusterings of all points begin from. */
export const TO_BEGIN: SampleSizes = { least: 16_384, perCluster: 32 }
/** What further seeds cluster. */
export const TO_COMPARE: SampleSizes = { least: 4096, perCluster: 8 }
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

/** A sample, and how many different rows were found among those looked at so far. */
interface Drawn {
  readonly points: PointStore
  readonly rows: Uint32Array
  readonly seen: RowSet
  looked: number
}

export class Samples {
  readonly #device: Device
  readonly #all: PointStore
  readonly #seed: number
  readonly #sizes: SampleSizes
  #drawn: Drawn | undefined

  constructor(device: Device, all: PointStore, seed: number, sizes: SampleSizes) {
    this.#device = device
    this.#all = all
    this.#seed = seed
    this.#sizes = sizes
  }

  /** For k clusters, k never falling from call to call. Valid until the next call. */
  async at(k: number, signal: AbortSignal | undefined): Promise<Sample> {
    const size = sampleSize(this.#all.rows, k, this.#sizes)
    if (size >= this.#all.rows) return everything(this.#all)
    if (this.#drawn?.rows.length !== size) {
      const random = createRandom(this.#seed).fork(STREAM + size)
      const rows = sampleByWeight(random, this.#all.rows, undefined, size).indices as Uint32Array
      const source = await sampleSource(this.#all, rows, signal)
      const { unit, type } = this.#all.frame
      const frame: Frame = { shift: undefined, scale: 1, unit, type }
      this.free()
      const points = await PointStore.open(this.#device, source, { frame })
      this.#drawn = { points, rows, seen: new RowSet(frame), looked: 0 }
    }
    const drawn = this.#drawn
    // Of points that are mostly copies of few, a sample may hold too few different ones.
    if (!(await hasDistinct(drawn, k))) return everything(this.#all)
    const { points, rows } = drawn
    return { points, rows, helps: 3 * size <= this.#all.rows && this.#sizes.perCluster * k <= 1.1 * size }
  }

  free(): void {
    this.#drawn?.points.free()
    this.#drawn = undefined
  }
}

/** Looks at no more rows than it takes. */
async function hasDistinct(drawn: Drawn, k: number): Promise<boolean> {
  const { points, rows, seen } = drawn
  while (seen.size < k && drawn.looked < rows.length) await seen.addFrom(points.source, drawn.looked++)
  return seen.size >= k
}

/** All points in place of a sample. */
export function everything(points: PointStore): Sample {
  return { points, rows: undefined, helps: false }
}

/** Sizes double, so that few samples serve all numbers of clusters. */
export function sampleSize(rows: number, k: number, { least, perCluster }: SampleSizes): number {
  let size = least
  while (size < perCluster * k) size *= 2
  return Math.min(rows, size, Math.max(least, Math.floor(MOST_SHARE * rows)))
}

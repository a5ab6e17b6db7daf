/** Clusterings of the same points with more and more clusters, each begun from the one before. */
import { createRandom } from '../../core/random.ts'
import type { Device } from '../../device/contract.ts'
import { type RunOptions, runOnce } from '../cluster.ts'
import type { ClusterModel } from '../model.ts'
import type { ResolvedOptions } from '../options.ts'
import type { PointStore } from '../points.ts'
import { METHODS } from '../presets.ts'
import type { Start } from '../seeding.ts'
import { extendClusters } from './extension.ts'

/** Random numbers for the splits, apart from those of the clusterings. */
const STREAM = 0x5feeb
/**
 * A clustering that begins from another one has most centres in their places already: it ends after a few rounds, or when
 * a round lowers the distortion by less than this share.
 */
const FOLLOWING = { iterations: 6, tolerance: 1e-3 } as const

export interface ChainControl {
  readonly signal: AbortSignal | undefined
  /** Rounds done, of how many at most. */
  readonly onRound: (done: number, most: number) => void
}

export class Chain {
  readonly #device: Device
  readonly #points: PointStore
  readonly #seed: number
  #last: ClusterModel | undefined

  constructor(device: Device, points: PointStore, seed: number) {
    this.#device = device
    this.#points = points
    this.#seed = seed
  }

  /** The clustering with more clusters than the one before. Undefined if it was stopped. */
  async next(resolved: RunOptions, { signal, onRound }: ChainControl): Promise<ClusterModel | undefined> {
    const start = await this.#start(resolved, signal)
    const run = { ...resolved, seed: this.#seed, ...(start ? FOLLOWING : {}) }
    const attempt = { restart: 0, from: undefined, best: undefined, start }
    const steps = runOnce(this.#device, this.#points, run, signal ? { signal } : {}, attempt, performance.now())
    for (;;) {
      const step = await steps.next()
      if (signal?.aborted) {
        await steps.return(undefined)
        return undefined
      }
      if (step.done) {
        this.#last = step.value
        return step.value
      }
      onRound(step.value.iteration, run.iterations)
    }
  }

  /** Undefined where the method begins by itself: at first, and where a tree of its own is what makes the clusters. */
  async #start({ k, method }: ResolvedOptions, signal: AbortSignal | undefined): Promise<Start | undefined> {
    const last = this.#last
    if (last === undefined || METHODS[method].keepsTree) return undefined
    const random = createRandom(this.#seed).fork(STREAM + k)
    const { unit } = this.#points.frame
    const before = { labels: last.labels, centers: last.state.centers }
    const labels = await extendClusters(this.#device, this.#points, before, { k, random, unit, signal })
    return { labels }
  }
}

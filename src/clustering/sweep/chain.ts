/** Clusterings of the same points with more and more clusters, each begun from the one before. */

import { stream } from '../../core/streams.ts'
import type { Device } from '../../device/contract.ts'
import { scatterSums } from '../../metrics/scatter-sums.ts'
import type { MethodName } from '../../models/method-names.ts'
import type { Mixture } from '../../models/mixture.ts'
import type { ClusterModel } from '../../models/model.ts'
import { isIdentity } from '../../vectors/frame.ts'
import type { PointStore } from '../../vectors/points.ts'
import { METHODS } from '../presets.ts'
import type { RunOptions } from '../read-model.ts'
import { type Attempt, runOnce } from '../run-once.ts'
import type { TreeUse } from '../run-state.ts'
import { BRIEF, type Clustering, type Extension, type ExtensionEffort, extendClusters } from './extension.ts'
import { PER_CLUSTER_TO_SETTLE, type Sample } from './samples.ts'
import { scoredSource } from './scored-source.ts'
import { nearestLabels, spreadLabels } from './spread.ts'

/** A clustering that begins from another one has most centres in their places already: it ends after a few rounds. */
const MOST_ROUNDS = 12
/**
 * It also ends when a round lowers the distortion by less than this share. Where a round costs the same whatever k, all
 * steps cost as much as the largest, and many steps must be shorter; a round of moves leaves less to do than one of means.
 */
const TOLERANCE = 1.5e-3
const TOLERANCES: Partial<Record<MethodName, number>> = { closures: 3e-3, 'closures-sharp': 4e-3 }
const MANY_STEPS = 12
/** Few points are cheap, and so are more rounds. */
const TOLERANCE_OF_FEW = 1e-3
/** Clusters that are looked for among other points need not settle there: rounds of all points follow. */
const TOLERANCE_OF_GUIDE = 2e-3
/** Swaps of clusters of a sample that lower the squares by less than this share: relocating those of all points gains little. */
const SMALL_GAIN = 1e-3
/** Up to this number of clusters, points are compared with all centres, which is cheap. */
const FEW = 100
/** Clusters of a sample converge there if it has this many points for each; with fewer points they would overfit. */
const PER_CLUSTER_TO_POLISH = 64
/** Products of a round of Lloyd's algorithm that takes less time than the steps of a round of closures. */
const CHEAP = 1e8
const LARGEST_BYTE = 255
/**
 * Rounds of all points, in all steps before the last together: about as many as one clustering takes by itself. A round of
 * moves does more than one of means, and even more when it visits more trees.
 */
const ALL_ROUNDS = 24
const ALL_ROUNDS_OF_MOVES = 12
const LEAST_ROUNDS = 2
const TREES_OF_MOVES = 4
/** Trees that a chain begins with: for clusterings of all points, and for those of a sample. */
const TREES = 5
const TREES_OF_SAMPLE = 3
/** A mixture that starts from hard clusters mainly needs to estimate the variances. */
const MIXTURE_ROUNDS = 20
/** The least variance a mixture begins with, against the mean variance within clusters. */
const LEAST_VARIANCE = 0.01

/** What to run with one number of clusters. */
export interface ChainRun {
  readonly run: RunOptions
  /** For mixtures: the hard clustering that the chain is made of, and each mixture begins from. Otherwise undefined. */
  readonly hard: RunOptions | undefined
}

export interface ChainControl {
  readonly signal: AbortSignal | undefined
  /** Rounds done, of how many at most. */
  readonly onRound: (done: number, most: number) => void
}

/** What a run begins with. */
type Begin = Pick<Attempt, 'start' | 'mixture'>

export class Chain {
  readonly #device: Device
  readonly #all: PointStore
  readonly #steps: number
  readonly #largest: number
  readonly #seed: number
  /** The points that the last clustering is one of, and trees over them. */
  #points: PointStore | undefined
  #treeUse: TreeUse
  #last: Clustering | undefined
  /** The points among which the last clustering was looked for, and trees over them. */
  #guide: PointStore | undefined
  #guideTrees: TreeUse

  /** `all` are the points of the sweep, `counts` the numbers of clusters, rising. */
  constructor(device: Device, all: PointStore, counts: readonly number[], seed: number) {
    this.#steps = counts.length
    this.#largest = counts[counts.length - 1]
    this.#device = device
    this.#all = all
    this.#seed = seed
    this.#treeUse = this.#trees(0)
    this.#guideTrees = this.#trees(0)
  }

  #trees(grown: number): TreeUse {
    return { grown, rounds: 0, clusters: this.#largest }
  }

  /**
   * A clustering of the points with more clusters than the one before, which may be one of other points. Undefined if it
   * was stopped.
   */
  async next(
    { run, hard }: ChainRun,
    points: PointStore,
    guide: Sample,
    control: ChainControl,
  ): Promise<ClusterModel | undefined> {
    if (points !== this.#points) await this.#enter(points, control.signal)
    const linked = await this.#link(hard ?? run, points, guide, control)
    if (linked === undefined || hard === undefined) return linked
    const { labels } = linked
    const mixture = await this.#mixtureOf(points, labels, control.signal)
    return this.#run({ ...run, iterations: MIXTURE_ROUNDS }, points, { start: { labels }, mixture }, control)
  }

  /** Trees over other points are of no use here, and labels are those of the nearest centres. */
  async #enter(points: PointStore, signal: AbortSignal | undefined): Promise<void> {
    this.#treeUse = this.#trees(points === this.#all ? TREES : TREES_OF_SAMPLE)
    this.#points = points
    if (this.#last === undefined) return
    const { centers } = this.#last
    this.#last = { labels: await nearestLabels(this.#device, points, centers, signal), centers }
  }

  /** One clustering of the chain. */
  async #link(
    run: RunOptions,
    points: PointStore,
    guide: Sample,
    control: ChainControl,
  ): Promise<ClusterModel | undefined> {
    const model = await this.#clustered({ ...run, treeUse: this.#treeUse }, points, guide, control)
    if (model) this.#last = clusteringOf(model)
    return model
  }

  async #clustered(
    asked: RunOptions,
    points: PointStore,
    guide: Sample,
    control: ChainControl,
  ): Promise<ClusterModel | undefined> {
    // A tree of its own is what makes the clusters of some methods: those begin by themselves.
    if (METHODS[asked.method].keepsTree) return this.#run(asked, points, {}, control)
    if (guide.helps) return this.#guided(asked, points, guide, control)
    const run = points === this.#all ? asked : exactIfCheap(asked, points)
    if (this.#last === undefined) {
      // A run by itself ends when it has seen all trees, those of a chain as soon as they gain little.
      this.#treeUse = this.#trees(0)
      return this.#run({ ...run, treeUse: this.#treeUse }, points, {}, control)
    }
    const all = points === this.#all
    const { labels, swapGain } = await this.#extended(run, points, this.#last.labels, BRIEF, control)
    const rules = {
      iterations: MOST_ROUNDS,
      tolerance: this.#tolerance(run.method),
      relocate: run.relocate && all && (run.k === this.#largest || swapGain >= SMALL_GAIN),
    }
    return this.#run({ ...run, ...rules }, points, { start: { labels } }, control)
  }

  /** Clusters are looked for among the points of the guide; then all points adapt them. */
  async #guided(
    run: RunOptions,
    points: PointStore,
    guide: Sample,
    control: ChainControl,
  ): Promise<ClusterModel | undefined> {
    const found = await this.#found(run, guide, control)
    if (found === undefined) return undefined
    const labels = await this.#spread(found, guide, control.signal)
    const settled = perCluster(run.k, guide) >= PER_CLUSTER_TO_SETTLE
    const rules = {
      iterations: MOST_ROUNDS,
      tolerance: this.#tolerance(run.method),
      relocate: run.relocate && found.swapGain >= SMALL_GAIN,
      ...(run.k < this.#largest ? this.#shortened(run, settled) : {}),
    }
    return this.#run({ ...run, ...rules }, points, { start: { labels } }, control)
  }

  /** The next clustering of the points of the guide. */
  async #found(asked: RunOptions, guide: Sample, control: ChainControl): Promise<Extension | undefined> {
    const { points, rows } = guide
    const run = exactIfCheap(asked, points)
    if (this.#guide !== points) {
      this.#guide = points
      this.#guideTrees = this.#trees(TREES_OF_SAMPLE)
    }
    const rules = { tolerance: TOLERANCE_OF_GUIDE }
    if (this.#last === undefined) {
      const first = await this.#run({ ...run, ...rules, treeUse: undefined }, points, {}, control)
      return first && { ...clusteringOf(first), swapGain: 0 }
    }
    const extended = await this.#extended(run, points, picked(this.#last.labels, rows), BRIEF, control)
    if (perCluster(run.k, guide) < PER_CLUSTER_TO_POLISH) return extended
    const brief = {
      iterations: MOST_ROUNDS,
      relocate: run.relocate && extended.swapGain >= SMALL_GAIN,
      treeUse: this.#guideTrees,
    }
    const start = { labels: extended.labels }
    const polished = await this.#run({ ...run, ...rules, ...brief }, points, { start }, control)
    // What was still to be swapped, the run has relocated.
    return polished && { ...clusteringOf(polished), swapGain: 0 }
  }

  /** Labels of all points from a clustering of those of the guide. */
  async #spread(
    found: Clustering,
    { points, rows, space }: Sample,
    signal: AbortSignal | undefined,
  ): Promise<Uint32Array> {
    if (rows === undefined) return found.labels
    const few = found.centers.length <= FEW * points.cols
    if (this.#last === undefined || few) return nearestLabels(this.#device, space, found.centers, signal)
    return spreadLabels(this.#device, space, this.#last.labels, rows, found, signal)
  }

  /** Rules of a clustering that the next one corrects. */
  #shortened({ method, settings }: RunOptions, settled: boolean): Pick<RunOptions, 'iterations' | 'settings'> {
    if (method !== 'closures-sharp') {
      const rounds = settled ? ALL_ROUNDS / 2 : ALL_ROUNDS
      return { iterations: Math.max(settled ? 1 : LEAST_ROUNDS, Math.floor(rounds / this.#steps)), settings }
    }
    const treesPerRound = Math.max(settings.treesPerRound as number, settled ? 1 : TREES_OF_MOVES)
    return {
      iterations: Math.max(1, Math.floor(ALL_ROUNDS_OF_MOVES / this.#steps)),
      settings: { ...settings, treesPerRound },
    }
  }

  #extended(
    run: RunOptions,
    points: PointStore,
    before: Uint32Array,
    effort: ExtensionEffort,
    { signal }: ChainControl,
  ): Promise<Extension> {
    const random = stream(this.#seed, 'extension', run.k)
    const { unit } = points.frame
    return extendClusters(this.#device, points, before, { k: run.k, random, unit, effort, signal })
  }

  #tolerance(method: MethodName): number {
    const wide = (TOLERANCES[method] ?? TOLERANCE) * Math.min(1, this.#steps / MANY_STEPS)
    return Math.max(TOLERANCE_OF_FEW, wide)
  }

  async #run(
    resolved: RunOptions,
    points: PointStore,
    begin: Begin,
    { signal, onRound }: ChainControl,
  ): Promise<ClusterModel | undefined> {
    // Rounding is a matter of units, and points of a sample have none.
    const rounding = isIdentity(points.frame) ? { roundingError: 0 } : {}
    const bytes = points !== this.#all && points.frame.type === 'u8' ? { largest: LARGEST_BYTE } : {}
    const run = { ...resolved, ...rounding, ...bytes, seed: this.#seed }
    const attempt: Attempt = { restart: 0, from: undefined, best: undefined, ...begin }
    const steps = runOnce(points, run, signal ? { signal } : {}, attempt, performance.now())
    for (;;) {
      const step = await steps.next()
      if (signal?.aborted) {
        await steps.return(undefined)
        return undefined
      }
      if (step.done) return step.value
      onRound(step.value.iteration, run.iterations)
    }
  }

  /** Weights and variances, in the frame, of the clusters that the labels name; none of them is empty. */
  async #mixtureOf(
    points: PointStore,
    labels: Uint32Array,
    signal: AbortSignal | undefined,
  ): Promise<Mixture | undefined> {
    const { rows, cols, frame } = points
    const { sizes, squares, clusters } = await scatterSums(scoredSource(points), labels, { signal })
    const k = (this.#last?.centers.length ?? 0) / cols
    if (sizes.length < k) return undefined
    const mean = squares.reduce((sum, value) => sum + value, 0) / (rows * cols)
    if (!(mean > 0)) return undefined
    const weights = new Float64Array(k)
    const variances = new Float64Array(k)
    // Sums are numbered in the order in which labels appear.
    clusters.forEach((cluster, row) => {
      const variance = Math.max(LEAST_VARIANCE * mean, squares[cluster] / (sizes[cluster] * cols))
      weights[labels[row]] = sizes[cluster] / rows
      variances[labels[row]] = variance * frame.scale ** 2
    })
    return { weights, variances }
  }
}

/** With few points and few columns, looking at all centres costs less than going through trees. */
function exactIfCheap(run: RunOptions, { rows, cols }: PointStore): RunOptions {
  return run.method.startsWith('closures') && rows * run.k * cols <= CHEAP
    ? { ...run, method: 'lloyd', settings: {} }
    : run
}

/** Clusters of a small sample adapt to its points, and not to the others: those are left to the rounds of all points. */
function perCluster(k: number, { points, rows }: Sample): number {
  return rows === undefined ? Number.POSITIVE_INFINITY : points.rows / k
}

function clusteringOf({ labels, state }: ClusterModel): Clustering {
  return { labels, centers: state.centers }
}

/** The labels of the given rows; of all of them where none are given. */
function picked(labels: Uint32Array, rows: Uint32Array | undefined): Uint32Array {
  return rows ? Uint32Array.from(rows, (row) => labels[row]) : labels
}

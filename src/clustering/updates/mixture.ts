/**
 * Centres, weights and widths of a mixture of spherical Gaussians by expectation-maximization (EM).
 *
 * A round: points are assigned responsibilities of their candidate components (all of them, or the best m of those a search
 * finds and those they had before), and components become the means of their shares and get their widths (kernel expand).
 * Shares below 2^-110 count as none. All in logarithms.
 *
 * Then the components themselves may change, by one of two criteria (setting `criterion`):
 * - `bic`: merged and split until the Bayesian information criterion is lowest (mixture/count-search.ts). Widths have a
 *   weak prior (mixture/variance-prior.ts).
 * - `overlap`: those that overlap others too much go, and the rest expand into the space they leave (Avrithis and
 *   Kalantidis, "Approximate Gaussian mixtures for large scale vocabularies", 2012; mixture/purge.ts). Components are then
 *   renumbered, and the lists of the points are updated with a table of new numbers.
 */
import type { DeviceBuffer } from '../../device/contract.ts'
import { softPairBytes } from '../../kernels/accumulate-soft.ts'
import { expand } from '../../kernels/expand.ts'
import { respondAll, respondLists } from '../../kernels/respond.ts'
import type { DeviceRows, RowRange } from '../../kernels/rows.ts'
import { sharesOfAll, sharesOfLists } from '../../kernels/shares.ts'
import type { Mixture } from '../../models/mixture.ts'
import type { ResumeArrays } from '../../models/resume-arrays.ts'
import { logScales, type Scales } from '../../models/scales.ts'
import type { StopReason } from '../../models/stats.ts'
import type { PointPart } from '../../vectors/point-part.ts'
import type { Settings } from '../method-options.ts'
import type { ComponentStep } from '../mixture/component-step.ts'
import { CountStep } from '../mixture/count-step.ts'
import { FOUND, nextMixture, ownShares } from '../mixture/found.ts'
import { ListsOfPoints } from '../mixture/lists-of-points.ts'
import { OverlapStep } from '../mixture/overlap-step.ts'
import { RememberedLists } from '../mixture/remembered-lists.ts'
import { type Spread, spreadOf, startMixture } from '../mixture/start.ts'
import type { PartialSums } from '../partial.ts'
import type { RowLists } from '../remote-owners.ts'
import { measureSquares } from '../resolution.ts'
import {
  type CandidateSource,
  type Round,
  type RunState,
  reportShare,
  type Update,
  type UpdateResult,
} from '../run-state.ts'
import { meansFromLabels } from './mean.ts'
import { MixtureSums, type SharedPairs } from './mixture-sums.ts'

/** Number of components whose responsibilities are held at a time, if all are candidates. */
const TILE = 64
/** Up to here points of a method with lists rank all components, which costs less than searching for them. */
const RANK_ALL = 256

export function mixtureUpdate(state: RunState): Update {
  return new MixtureUpdate(state)
}

/** Bytes kept for each point in one buffer. */
export function mixturePointBytes(settings: Settings, stride: number): number {
  return widthOf(settings) * softPairBytes(stride)
}

function widthOf({ memory }: Settings): number {
  return (memory as number | undefined) ?? TILE
}

/** What happened to the components after a round. */
interface News {
  readonly renamed: Uint32Array | undefined
  /** Their number; undefined if it cannot have changed. */
  readonly before: number | undefined
}

class MixtureUpdate implements Update {
  readonly centersWait = true
  readonly #cols: number
  /** Pairs of a point that are processed at a time. */
  readonly #width: number
  /** Widths expand by this, about the means that shares were made with, as in section 4 of the paper. */
  readonly #lambda: number | undefined
  /** Points that the prior of the widths counts as. */
  readonly #prior: number
  readonly #step: ComponentStep | undefined
  readonly #rankAll: number
  readonly #lists: RememberedLists
  /** Only where there are no lists, which are pairs themselves. */
  readonly #pairs: DeviceBuffer | undefined
  readonly #shares: DeviceBuffer
  readonly #evidence: DeviceBuffer
  readonly #scalesOnDevice: DeviceBuffer
  readonly #found: DeviceBuffer
  readonly #sums: MixtureSums
  #source: CandidateSource | undefined
  #round = 0
  #scales: Scales = { values: new Float32Array(0), constant: 0 }
  #spread: Spread | undefined

  constructor(state: RunState) {
    const { scope, points, settings, room } = state
    const { criterion } = settings
    const rows = points.largestPart
    const k = room.rows
    const width = widthOf(settings)
    const overlap = criterion === 'overlap'
    this.#cols = points.cols
    this.#width = width
    this.#lambda = overlap ? (settings.lambda as number) : undefined
    this.#prior = overlap ? 0 : (settings.prior as number)
    this.#step = overlap
      ? new OverlapStep(settings.tau as number)
      : criterion === 'bic'
        ? new CountStep(state)
        : undefined
    this.#rankAll = overlap ? 0 : RANK_ALL
    this.#pairs =
      settings.memory === undefined ? scope.allocate(rows * width * 4, 'pairs of points and components') : undefined
    this.#shares = scope.allocate(rows * width * 4, 'shares of components')
    this.#evidence = scope.allocate(rows * 4, 'evidence of points')
    this.#scalesOnDevice = scope.allocate(k * 8, 'scales of components')
    this.#found = scope.allocate(k * FOUND * 4, 'totals and variances')
    this.#lists = new RememberedLists(state, width)
    this.#sums = new MixtureSums(state, width)
  }

  async save(state: RunState, others: readonly Update[] = []): Promise<ResumeArrays> {
    const step = (await this.#step?.save?.(state)) ?? {}
    const everybody = [this, ...(others as readonly MixtureUpdate[])]
    const remote = (await state.team.ask('lists', {})).flat()
    if (remote.length === 0 && everybody.every((update) => update.#lists.isEmpty)) return step
    const lists = new ListsOfPoints(state.points.rows, this.#width)
    for (const update of everybody) await update.#lists.copyTo(lists)
    for (const { first, count, lists: words, names } of remote) lists.set({ first, count }, words, names)
    return { ...step, lists: lists.pack() }
  }

  remembered(): Promise<RowLists[]> {
    return this.#lists.rows()
  }

  restore(state: RunState, saved: ResumeArrays): void {
    this.#step?.restore?.(state, saved)
    const { lists } = saved
    if (lists === undefined) return
    const { device, points, parts, k } = state
    const unpacked = ListsOfPoints.unpack(lists as Uint32Array, points.rows, this.#width, k)
    for (const part of parts) device.write(this.#lists.of(state, part), unpacked.get(part))
  }

  /** Labels to begin with give means; widths come from there as from any start. */
  startFromLabels(state: RunState): Promise<void> {
    return meansFromLabels(state)
  }

  /** The mixture a run begins with. */
  async ahead(state: RunState, source: CandidateSource, round: number): Promise<void> {
    this.#spread ??= await spreadOf(state)
    state.mixture ??= await startMixture(state, source, round, this.#spread, this.#lambda !== undefined)
  }

  async begin(state: RunState, source: CandidateSource, round: number): Promise<void> {
    this.#source = source
    this.#round = round
    this.#scales = logScales(state.mixture as Mixture, state.points.cols)
    state.device.write(this.#scalesOnDevice, this.#scales.values)
  }

  reset(): void {
    this.#sums.reset()
  }

  async assignPart(
    state: RunState,
    source: CandidateSource,
    part: PointPart,
    vectors: DeviceRows,
    round: number,
  ): Promise<number> {
    const evaluated = !source.lists
      ? await this.#respondToAll(state, part, vectors)
      : state.k <= this.#rankAll
        ? await this.#rankAllComponents(state, part, vectors)
        : await this.#respondToLists(state, source.lists.bind(source), part, vectors, round)
    await this.#sums.addLikelihoods(part, this.#evidence)
    return evaluated
  }

  addPart(state: RunState, part: PointPart, vectors: DeviceRows): Promise<void> {
    return this.#sums.take(state, part, vectors, (range) => this.#pairsOf(state, part, vectors, range))
  }

  /** The lists of points, or all components, some at a time. */
  async *#pairsOf(
    state: RunState,
    part: PointPart,
    points: DeviceRows,
    range: RowRange | undefined,
  ): AsyncGenerator<SharedPairs> {
    const { device, k, centers, control } = state
    const shares = this.#shares
    if (this.#source?.lists) {
      yield { m: this.#width, pairs: this.#lists.of(state, part), shares }
      return
    }
    const pairs = this.#pairs as DeviceBuffer
    const scales = this.#scalesOnDevice
    const evidence = this.#evidence
    for (let first = 0; first < k; first += TILE) {
      control.signal?.throwIfAborted()
      const count = Math.min(TILE, k - first)
      const args = { points, centers, scales, weights: part.weights, first, count, evidence, pairs, shares, range }
      await sharesOfAll(device, args)
      yield { m: count, pairs, shares }
    }
  }

  partial(): Promise<PartialSums> {
    return this.#sums.partial()
  }

  absorb(_state: RunState, merged: PartialSums): void {
    this.#sums.absorb(merged)
  }

  async follow(state: RunState, _merged: PartialSums, news: unknown): Promise<void> {
    this.#lists.endRound()
    const { renamed, before } = news as News
    if (before !== undefined) this.#lists.rename(state, renamed, before)
  }

  async finish(state: RunState): Promise<UpdateResult> {
    const { device, centers, k, points } = state
    const { floor } = this.#spread as Spread
    await expand(device, {
      sums: await this.#sums.settle(),
      centers,
      lambda: this.#lambda,
      floor,
      unit: state.unit,
      found: this.#found,
    })
    const found = new Float32Array(await device.read({ buffer: this.#found, offset: 0, bytes: k * FOUND * 4 }))
    const totals = state.evidence
    state.mixture = nextMixture(found, state.mixture as Mixture, this.#prior, totals)
    this.#lists.endRound()
    const logLikelihood =
      this.#sums.likelihood / state.totalWeight + this.#scales.constant + points.cols * Math.log(points.frame.scale)
    const changed = await this.#step?.after(state, this.#source as CandidateSource, {
      ownShares: ownShares(found),
      logLikelihood: logLikelihood * totals,
      round: this.#round,
      floor,
    })
    if (changed) this.#lists.rename(state, changed.renamed, k)
    await state.team.shareCenters()
    const news: News = { renamed: changed?.renamed, before: changed && k }
    return {
      gain: 0,
      news,
      empty: 0,
      squares: await measureSquares(state),
      // Measuring the squares compares with no further centres.
      evaluated: changed?.evaluated ?? 0,
      extra: {
        components: state.k,
        logLikelihood,
        ...(changed ? { purged: Math.max(0, k - state.k), ...changed.extra } : {}),
      },
    }
  }

  /** Over when hardly any component goes and the likelihood, per column, hardly changes. */
  ended({ extra }: Round, last: Round | undefined, tolerance: number): StopReason | undefined {
    if (this.#step?.done === false) return undefined
    const { components = 0, purged = 0, logLikelihood = 0 } = extra ?? {}
    if (last?.extra?.logLikelihood === undefined || purged > tolerance * components) return undefined
    const change = Math.abs(logLikelihood - last.extra.logLikelihood)
    if (change === 0) return 'converged'
    return change < tolerance * this.#cols ? 'tolerance' : undefined
  }

  async #respondToLists(
    state: RunState,
    lists: NonNullable<CandidateSource['lists']>,
    part: PointPart,
    vectors: DeviceRows,
    round: number,
  ): Promise<number> {
    const { device, centers, control } = state
    const found = await lists(state, part, vectors, round, this.#lists.forgotten || !this.#lists.has(part))
    const remembered = this.#lists.has(part) ? Math.min(this.#width, state.k) : 0
    const m = this.#width
    const best = this.#lists.of(state, part)
    await respondLists(
      device,
      {
        points: vectors,
        centers,
        scales: this.#scalesOnDevice,
        m,
        best,
        logs: this.#shares,
        renamed: this.#lists.renamed,
        found: found.lists,
        foundDistances: found.distances,
        width: found.width,
      },
      { signal: control.signal },
    )
    this.#lists.written(part)
    await this.#choose(state, part, vectors, m, best, false)
    return found.evaluated + remembered * part.count
  }

  /** The best m of all components, with the evidence of all. */
  async #rankAllComponents(state: RunState, part: PointPart, vectors: DeviceRows): Promise<number> {
    const m = this.#width
    const best = this.#lists.of(state, part)
    await this.#rank(state, part, vectors, m, best)
    this.#lists.written(part)
    return state.k * part.count
  }

  async #respondToAll(state: RunState, part: PointPart, vectors: DeviceRows): Promise<number> {
    await this.#rank(state, part, vectors, 1, this.#pairs as DeviceBuffer)
    return state.k * part.count
  }

  async #rank(state: RunState, part: PointPart, vectors: DeviceRows, m: number, best: DeviceBuffer): Promise<void> {
    const { device, centers, control } = state
    const onProgress = (share: number): void => reportShare(state, part, 0.5 * share)
    const args = { points: vectors, centers, scales: this.#scalesOnDevice, m, evidence: this.#evidence }
    await respondAll(device, { ...args, best, logs: this.#shares }, { signal: control.signal, onProgress })
    await this.#choose(state, part, vectors, m, best, true)
  }

  /** Shares of the best, and the very best as label. */
  #choose(
    state: RunState,
    part: PointPart,
    vectors: DeviceRows,
    m: number,
    best: DeviceBuffer,
    given: boolean,
  ): Promise<void> {
    const { weights, labels, distances } = part
    const [logs, evidence] = [this.#shares, this.#evidence]
    const args = { points: vectors, centers: state.centers, weights, m, best, logs, evidence, given, labels, distances }
    return sharesOfLists(state.device, args)
  }
}

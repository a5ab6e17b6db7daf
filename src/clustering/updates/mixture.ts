/**
 * Centres, weights and widths of a mixture of spherical Gaussians by expectation-maximization (EM).
 *
 * A round: points share themselves among the components they look at (all of them, or the best m of those
 * a search finds and those they had before), and components become the means of their shares and get their
 * widths (kernel expand). Shares below 2^-110 count as none. All in logarithms.
 *
 * Then the components themselves may change, by one of two criteria (setting `criterion`):
 * - `bic`: merged and split until the Bayesian information criterion is lowest (mixture/count-search.ts). Widths have a
 *   weak prior (mixture/variance-prior.ts).
 * - `overlap`: those that overlap others too much go, and the rest expand into the space they leave (Avrithis and
 *   Kalantidis, "Approximate Gaussian mixtures for large scale vocabularies", 2012; mixture/purge.ts).
 * Components are then numbered anew, and the lists of the points follow by a table of new numbers.
 */
import type { DeviceBuffer } from '../../device/contract.ts'
import type { AccumulateWorkspace } from '../../kernels/accumulate.ts'
import { accumulateSoft, createSoftWorkspace, softPairBytes, softSumsBytes } from '../../kernels/accumulate-soft.ts'
import { NO_LABEL } from '../../kernels/assign-lists.ts'
import { expand } from '../../kernels/expand.ts'
import { respondAll, respondLists } from '../../kernels/respond.ts'
import type { DeviceRows } from '../../kernels/rows.ts'
import { sharesOfAll, sharesOfLists } from '../../kernels/shares.ts'
import { tally } from '../../kernels/tally.ts'
import type { Settings } from '../method-options.ts'
import type { ComponentStep } from '../mixture/component-step.ts'
import { CountStep } from '../mixture/count-step.ts'
import { FOUND, nextMixture, ownShares } from '../mixture/found.ts'
import { ListsOfPoints } from '../mixture/lists-of-points.ts'
import { OverlapStep } from '../mixture/overlap-step.ts'
import { logScales, type Scales } from '../mixture/scales.ts'
import { type Spread, spreadOf, startMixture } from '../mixture/start.ts'
import type { PointPart } from '../points.ts'
import { measureSquares } from '../resolution.ts'
import type { CandidateSource, Mixture, ResumeArrays, Round, RunState, Update, UpdateResult } from '../run-state.ts'
import type { StopReason } from '../stats.ts'
import { meanUpdate } from './mean.ts'

/** Components whose shares are held at a time where all are looked at. */
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

class MixtureUpdate implements Update {
  readonly #cols: number
  /** Pairs a point takes part in at a time. */
  readonly #width: number
  readonly #lambda: number
  /** Points that the prior of the widths counts as. */
  readonly #prior: number
  /** Squares are about the means that shares were made with, as in section 4 of the paper. */
  readonly #aroundOld: boolean
  readonly #step: ComponentStep | undefined
  readonly #rankAll: number
  readonly #best = new Map<PointPart, DeviceBuffer>()
  /** Parts whose lists are of the round under way, and so name components as they are numbered now. */
  readonly #listed = new Set<PointPart>()
  /** New numbers of the components that the other lists name. */
  #names: Uint32Array | undefined
  /** No list of a point names components as they are now. */
  #forgotten = false
  readonly #pairs: DeviceBuffer
  readonly #shares: DeviceBuffer
  readonly #evidence: DeviceBuffer
  readonly #scalesOnDevice: DeviceBuffer
  readonly #sums: DeviceBuffer
  readonly #found: DeviceBuffer
  readonly #renamed: DeviceBuffer
  readonly #workspace: AccumulateWorkspace
  #source: CandidateSource | undefined
  #round = 0
  #scales: Scales = { values: new Float32Array(0), constant: 0 }
  #likelihood = 0
  #spread: Spread | undefined

  constructor(state: RunState) {
    const { device, scope, points, settings, room } = state
    const { criterion } = settings
    const rows = points.largestPart
    const k = room.rows
    const width = widthOf(settings)
    const overlap = criterion === 'overlap'
    this.#cols = points.cols
    this.#width = width
    this.#lambda = overlap ? (settings.lambda as number) : 0
    this.#prior = overlap ? 0 : (settings.prior as number)
    this.#aroundOld = overlap
    this.#step = overlap
      ? new OverlapStep(settings.tau as number)
      : criterion === 'bic'
        ? new CountStep(state)
        : undefined
    this.#rankAll = overlap ? 0 : RANK_ALL
    this.#pairs = scope.allocate(rows * width * 4, 'pairs of points and components')
    this.#shares = scope.allocate(rows * width * 4, 'shares of components')
    this.#evidence = scope.allocate(rows * 4, 'evidence of points')
    this.#scalesOnDevice = scope.allocate(k * 8, 'scales of components')
    this.#sums = scope.allocate(softSumsBytes(room), 'sums of components')
    this.#found = scope.allocate(k * FOUND * 4, 'totals and variances')
    this.#renamed = scope.upload(
      Uint32Array.from({ length: k }, (_, i) => i),
      'new numbers of components',
    )
    this.#workspace = createSoftWorkspace(device, scope, rows * width, points.stride, k)
  }

  async save(state: RunState): Promise<ResumeArrays> {
    const step = (await this.#step?.save?.(state)) ?? {}
    if (this.#best.size === 0) return step
    const { device, points } = state
    const lists = new ListsOfPoints(points.rows, this.#width)
    for (const part of points.parts) {
      const words = new Uint32Array(await device.read(this.#bestOf(state, part)))
      lists.set(part, words, this.#listed.has(part) ? undefined : this.#names)
    }
    return { ...step, lists: lists.pack() }
  }

  restore(state: RunState, saved: ResumeArrays): void {
    this.#step?.restore?.(state, saved)
    const { lists } = saved
    if (lists === undefined) return
    const { device, points, k } = state
    const unpacked = ListsOfPoints.unpack(lists as Uint32Array, points.rows, this.#width, k)
    for (const part of points.parts) device.write(this.#bestOf(state, part), unpacked.get(part))
  }

  /** Labels to begin with give means; widths come from there as from any start. */
  async adopt(state: RunState): Promise<void> {
    const means = meanUpdate(state)
    for (const part of state.points.parts) await means.take(state, part, await state.points.vectors(part))
    await means.finish(state)
  }

  async drive(
    state: RunState,
    source: CandidateSource,
    part: PointPart,
    vectors: DeviceRows,
    round: number,
  ): Promise<number> {
    if (part.first === 0) await this.#prepare(state, source, round)
    const looked = !source.lists
      ? await this.#respondToAll(state, part, vectors)
      : state.k <= this.#rankAll
        ? await this.#rankAllComponents(state, part, vectors)
        : await this.#respondToLists(state, source.lists.bind(source), part, vectors, round)
    const { sum } = await tally(state.device, {
      count: part.count,
      values: this.#evidence,
      weights: part.weights,
      left: part.labels,
      sums: part.sums,
      differences: part.differences,
    })
    this.#likelihood += sum
    return looked
  }

  async take(state: RunState, part: PointPart, vectors: DeviceRows): Promise<void> {
    const { device, k, centers } = state
    const common = {
      points: vectors,
      centers,
      shares: this.#shares,
      labels: part.labels,
      sums: this.#sums,
      workspace: this.#workspace,
    }
    if (this.#source?.lists) {
      const pairs = this.#bestOf(state, part)
      await accumulateSoft(device, { ...common, m: this.#width, pairs, add: part.first > 0 })
      return
    }
    for (let first = 0; first < k; first += TILE) {
      state.control.signal?.throwIfAborted()
      const count = Math.min(TILE, k - first)
      await sharesOfAll(device, {
        points: vectors,
        centers,
        scales: this.#scalesOnDevice,
        weights: part.weights,
        first,
        count,
        evidence: this.#evidence,
        pairs: this.#pairs,
        shares: this.#shares,
      })
      await accumulateSoft(device, { ...common, m: count, pairs: this.#pairs, add: part.first > 0 || first > 0 })
    }
  }

  async finish(state: RunState): Promise<UpdateResult> {
    const { device, centers, k, points } = state
    const { floor } = this.#spread as Spread
    await expand(device, {
      sums: this.#sums,
      centers,
      lambda: this.#lambda,
      floor,
      unit: state.unit,
      aroundOld: this.#aroundOld,
      found: this.#found,
    })
    const found = new Float32Array(await device.read({ buffer: this.#found, offset: 0, bytes: k * FOUND * 4 }))
    const totals = state.evidence
    state.mixture = nextMixture(found, state.mixture as Mixture, this.#prior, totals)
    this.#listed.clear()
    const logLikelihood =
      this.#likelihood / state.totalWeight + this.#scales.constant + points.cols * Math.log(points.frame.scale)
    const changed = await this.#step?.after(state, this.#source as CandidateSource, {
      ownShares: ownShares(found),
      logLikelihood: logLikelihood * totals,
      round: this.#round,
      floor,
    })
    if (changed) this.#rename(state, changed.renamed, k)
    return {
      gain: 0,
      empty: 0,
      squares: await measureSquares(state),
      looked: (changed?.looked ?? 0) + points.rows,
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

  async #prepare(state: RunState, source: CandidateSource, round: number): Promise<void> {
    this.#source = source
    this.#round = round
    this.#likelihood = 0
    this.#spread ??= await spreadOf(state)
    state.mixture ??= await startMixture(state, source, round, this.#spread, this.#aroundOld)
    this.#scales = logScales(state.mixture, state.points.cols)
    state.device.write(this.#scalesOnDevice, this.#scales.values)
  }

  async #respondToLists(
    state: RunState,
    lists: NonNullable<CandidateSource['lists']>,
    part: PointPart,
    vectors: DeviceRows,
    round: number,
  ): Promise<number> {
    const { device, centers, control } = state
    const found = await lists(state, part, vectors, round, this.#forgotten || !this.#best.has(part))
    const remembered = this.#best.has(part) ? Math.min(this.#width, state.k) : 0
    const m = this.#width
    const best = this.#bestOf(state, part)
    await respondLists(
      device,
      {
        points: vectors,
        centers,
        scales: this.#scalesOnDevice,
        m,
        best,
        logs: this.#shares,
        renamed: this.#renamed,
        found: found.lists,
        foundDistances: found.distances,
        width: found.width,
      },
      { signal: control.signal },
    )
    this.#listed.add(part)
    await this.#choose(state, part, vectors, m, best, false)
    return found.looked + remembered
  }

  /** The best m of all components, with the evidence of all. */
  async #rankAllComponents(state: RunState, part: PointPart, vectors: DeviceRows): Promise<number> {
    const m = this.#width
    const best = this.#bestOf(state, part)
    await this.#rank(state, part, vectors, m, best)
    this.#listed.add(part)
    return state.k
  }

  async #respondToAll(state: RunState, part: PointPart, vectors: DeviceRows): Promise<number> {
    await this.#rank(state, part, vectors, 1, this.#pairs)
    return state.k
  }

  async #rank(state: RunState, part: PointPart, vectors: DeviceRows, m: number, best: DeviceBuffer): Promise<void> {
    const { device, centers, control, points } = state
    const onProgress =
      control.onProgress &&
      ((share: number) => control.onProgress?.((part.first + 0.5 * share * part.count) / points.rows))
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

  /** What a point had in the rounds before; nothing at first. */
  #bestOf({ scope }: RunState, part: PointPart): DeviceBuffer {
    let best = this.#best.get(part)
    if (best === undefined) {
      best = scope.upload(new Uint32Array(part.count * this.#width).fill(NO_LABEL), 'best components of points')
      this.#best.set(part, best)
    }
    return best
  }

  /** The table of new numbers, by which lists of points follow; without one they are forgotten. */
  #rename({ device }: RunState, renamed: Uint32Array | undefined, before: number): void {
    const names = renamed ?? new Uint32Array(before).fill(NO_LABEL)
    device.write(this.#renamed, names)
    this.#names = names
    this.#forgotten = renamed === undefined
  }
}

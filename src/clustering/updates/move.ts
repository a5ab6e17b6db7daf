/**
 * k-means# (Zhao, Deng, Ngo: "k-means: a revisit"): a point moves as soon as that lowers the objective,
 * and sums and sizes change at once. Points are taken in random batches: the moves of a batch are
 * proposed in parallel against sums as they stand, then done one after the other, each measured again,
 * so the objective never rises and no cluster is emptied. A batch of 1 is the paper's rule.
 *
 * Centres move by steps of 32-bit arithmetic within a round; at its end the means and the distances are computed again, so
 * rounding errors do not accumulate.
 *
 * Several shards in a domain: each grouping of the points is one batch, so that the devices that own them have to meet only
 * once for each (shared-moves.ts). That costs about a thousandth of the objective against batches of thousands.
 *
 * Several domains: each begins the round with the same centres and applies its moves to a copy of its own. All distances are
 * taken to the centres the round began with, and the sums of all labels give the new centres. Two domains may together move
 * too many points from one cluster to another. Where the objective rises because of that, points that moved to a centre
 * farther away than their own go back (`retreat`): what is left cannot raise it, as in Lloyd's algorithm. Of sparse rows
 * only the sums move, and centres stay those of the beginning anyway.
 */
import { stream } from '../../core/streams.ts'
import type { Device, DeviceBuffer } from '../../device/contract.ts'
import { measuresDistances } from '../../kernels/accumulate.ts'
import { assignLists } from '../../kernels/assign-lists.ts'
import { type MeasuredPoints, measurePoints, moveAndCount } from '../../kernels/move-through.ts'
import { createMovingClusters, type MovingClusters, prepareMoves } from '../../kernels/moving-clusters.ts'
import type { DeviceRows } from '../../kernels/rows.ts'
import type { PointPart } from '../../vectors/point-part.ts'
import type { PointStore } from '../../vectors/points.ts'
import { DomainLabels } from '../domain-labels.ts'
import { moveBatch } from '../move-batch.ts'
import type { PartialSums } from '../partial.ts'
import {
  type CandidateSource,
  type Counted,
  countOf,
  type RunState,
  reportShare,
  type Update,
  type UpdateResult,
} from '../run-state.ts'
import { MovingCopy } from './moving-state.ts'
import { moveTogether } from './shared-moves.ts'
import { type ClusterSums, clusterSums } from './sums.ts'

export interface MoveOptions {
  /** Take the first move that pays instead of the best. */
  readonly first: boolean
}

export function moveUpdate(state: RunState, options: MoveOptions): Update {
  return state.points.layout.domains.length > 1 ? new DomainMoves(state, options) : new MoveUpdate(state, options)
}

class MoveUpdate implements Update {
  protected readonly own: DeviceBuffer
  protected clusters: MovingClusters | undefined
  readonly #sums: ClusterSums
  readonly #first: boolean
  readonly #weightless: boolean
  readonly #labels: DomainLabels
  #measured: MeasuredPoints | undefined
  /** Masses of the clusters are those of the labels as they stand. */
  #prepared = false
  /** Centres that distances are taken to while the points are summed, where the device can do both at once. */
  #measuredTo: DeviceRows | undefined

  constructor(state: RunState, { first }: MoveOptions) {
    this.own = state.scope.allocate(state.points.largestPart * 4, 'own labels')
    this.#sums = clusterSums(state)
    this.#first = first
    this.#weightless = state.weights?.includes(0) === true
    this.#labels = new DomainLabels(state)
  }

  /** After a start from a model, and after a round that was stopped. */
  get stale(): boolean {
    return !this.#prepared
  }

  async assignPart(
    state: RunState,
    source: CandidateSource,
    part: PointPart,
    vectors: DeviceRows,
    round: number,
  ): Promise<Counted> {
    const { device, settings, control } = state
    const { clusters } = this
    // A start from centres: the first labels are the nearest.
    if (!state.labelled || clusters === undefined) return source.assign(state, part, vectors, round)
    if (source.groups === undefined) throw new Error('This candidate source has no groups')
    const { labels, previous, weights, domain } = part
    device.copy(previous, labels)
    this.#prepared = false
    const random = stream(state.seed, 'moves', round, domain.index)
    const around = this.#labels.around(part)
    const all = around && (await this.#labels.exchange(part))
    const groupings = await source.groups(state, part, round)
    const batch = domain.shards > 1 ? Number.POSITIVE_INFINITY : moveBatch(settings.batch as number, state.points.rows)
    const evaluated: Counted[] = []
    for (const [turn, given] of groupings.entries()) {
      const groups = around ? { ...given, around } : given
      const work = { points: vectors, weights, labels, clusters, groups, first: this.#first }
      const onProgress = (share: number): void => reportShare(state, part, (turn + share) / groupings.length)
      evaluated.push(
        all
          ? await moveTogether({ state, part, work, random, labels: this.#labels, all })
          : await moveAndCount(device, work, batch, random, { signal: control.signal, onProgress }),
      )
    }
    if (this.#weightless) await followNearest(state, source, part, vectors, round, this.own)
    if (measuresDistances(device, vectors)) this.#measuredTo = this.centersOfRound(state)
    else await this.measure(state, part, vectors)
    return async () => (await Promise.all(evaluated.map(countOf))).reduce((sum, count) => sum + count, 0)
  }

  /** Those that distances are taken to: the centres as they stand now. */
  protected centersOfRound({ centers }: RunState): DeviceRows {
    return centers
  }

  protected measure(state: RunState, part: PointPart, vectors: DeviceRows): Promise<void> {
    const { device } = state
    const { labels, distances } = part
    const centers = this.centersOfRound(state)
    device.copy(labels, { buffer: this.own, offset: 0, bytes: part.count * 4 })
    return assignLists(device, { points: vectors, centers, lists: this.own, width: 1, labels, distances })
  }

  rehearse(_state: RunState, rehearsal: Device, part: PointPart, vectors: DeviceRows): Promise<void> {
    return this.#sums.rehearse(rehearsal, part, vectors)
  }

  reset(): void {
    this.#measuredTo = undefined
    this.#sums.reset()
  }

  addPart(_state: RunState, part: PointPart, vectors: DeviceRows): Promise<void> {
    return this.#sums.take(part, vectors, this.#measuredTo)
  }

  partial(): Promise<PartialSums> {
    return this.#sums.partial()
  }

  absorb(_state: RunState, merged: PartialSums): void {
    this.#sums.absorb(merged)
  }

  async finish(state: RunState): Promise<UpdateResult> {
    const result = await this.#sums.finish()
    this.#measured ??= await measureEverywhere(state)
    await this.#prepare(state, this.#measured)
    return { ...result, news: this.#measured }
  }

  async follow(state: RunState, merged: PartialSums, news: unknown): Promise<void> {
    this.#sums.absorb(merged)
    await this.#sums.settle()
    await this.#prepare(state, news as MeasuredPoints)
  }

  async #prepare(state: RunState, measured: MeasuredPoints): Promise<void> {
    const { device, scope, centers, unit } = state
    this.clusters ??= createMovingClusters(device, scope, centers, { ...measured, unit })
    await prepareMoves(device, { ...this.#sums.buffers, clusters: this.clusters })
    this.#prepared = true
  }
}

/** Each domain moves its points for itself, from the same centres. */
class DomainMoves extends MoveUpdate {
  #copy: MovingCopy | undefined
  /** Centres the round began with: of sparse rows they stay, and so they are the centres themselves. */
  #began: DeviceRows | undefined
  /** Where the loop keeps no such copy. */
  #own: DeviceBuffer | undefined
  #driven = false

  async begin(state: RunState): Promise<void> {
    const { device, scope, centers } = state
    if (this.clusters === undefined || !state.labelled) return
    this.#driven = true
    this.#copy ??= new MovingCopy(device, scope, this.clusters)
    this.#copy.take()
    if (this.clusters.sparse) this.#began = centers
    else if (state.began) this.#began = { ...centers, buffer: state.began }
    else {
      this.#own ??= scope.allocate(centers.buffer.bytes, 'centres before')
      this.#began = { ...centers, buffer: this.#own }
      device.copy(centers.buffer, this.#own)
    }
  }

  override async assignPart(
    state: RunState,
    source: CandidateSource,
    part: PointPart,
    vectors: DeviceRows,
    round: number,
  ): Promise<Counted> {
    if (this.clusters && state.labelled && this.#driven) {
      this.#copy?.putBack()
      this.#centersBack(state)
    }
    return super.assignPart(state, source, part, vectors, round)
  }

  protected override centersOfRound({ centers }: RunState): DeviceRows {
    return this.#began ?? centers
  }

  beginRetreat(): void {
    this.#driven = true
  }

  /** The nearer of the two centres, before and after. */
  async retreat(state: RunState, part: PointPart, vectors: DeviceRows): Promise<void> {
    const { device, centers } = state
    const { labels, previous, distances } = part
    const from = this.#began ?? centers
    await this.measure(state, part, vectors)
    await assignLists(device, {
      points: vectors,
      centers: from,
      lists: previous,
      width: 1,
      labels,
      distances,
      merge: true,
    })
  }

  override async finish(state: RunState): Promise<UpdateResult> {
    this.#centersAsBegan(state)
    return super.finish(state)
  }

  /** What the new means gain is counted from the centres that distances were taken to. */
  #centersAsBegan(state: RunState): void {
    if (this.#driven) this.#centersBack(state)
    this.#driven = false
  }

  #centersBack({ device, centers }: RunState): void {
    if (this.#began && this.#began.buffer !== centers.buffer) device.copy(this.#began.buffer, centers.buffer)
  }
}

/** The points of a store never change: runs over the same ones, as in a sweep, measure once. */
const MEASURED = new WeakMap<PointStore, MeasuredPoints>()

async function measureEverywhere({ team, points }: RunState): Promise<MeasuredPoints> {
  const known = MEASURED.get(points)
  if (known) return known
  const owners = team.states.filter(({ parts }) => parts.length > 0)
  const [remote, all] = await Promise.all([team.ask('measure', {}), team.everywhere(measureOwnPoints)])
  const measured = [...all.filter((_, owner) => owners.includes(team.states[owner])), ...remote]
  const found = { type: measured[0].type, longest: Math.max(...measured.map(({ longest }) => longest)) }
  MEASURED.set(points, found)
  return found
}

export function measureOwnPoints({ device, points, parts }: RunState): Promise<MeasuredPoints> {
  const own = parts.map((part) => ({ count: part.count, vectors: () => points.vectors(part) }))
  return measurePoints(device, { cols: points.cols, parts: own })
}

/** No move of a point without weight gains anything: it takes the nearest of its candidates instead. */
async function followNearest(
  state: RunState,
  source: CandidateSource,
  part: PointPart,
  vectors: DeviceRows,
  round: number,
  scratch: DeviceBuffer,
): Promise<void> {
  const { device, weights } = state
  const bytes = part.count * 4
  const whole = { buffer: scratch, offset: 0, bytes }
  device.copy(part.previous, whole)
  device.copy(part.labels, part.previous)
  try {
    const moved = new Uint32Array(await device.read(part.labels)).slice(0, part.count)
    await source.assign(state, part, vectors, round)
    const nearest = new Uint32Array(await device.read(part.labels)).subarray(0, part.count)
    device.write(
      part.labels,
      moved.map((label, i) => (weights?.[part.first + i] === 0 ? nearest[i] : label)),
    )
  } finally {
    // An allocation that failed ended the run and freed its buffers.
    if (!scratch.freed) device.copy(whole, part.previous)
  }
}

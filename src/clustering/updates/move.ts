/**
 * k-means# (Zhao, Deng, Ngo: "k-means: a revisit"): a point moves as soon as that lowers the objective,
 * and sums and sizes change at once. Points are taken in random batches: the moves of a batch are
 * proposed in parallel against sums as they stand, then done one after the other, each measured again,
 * so the objective never rises and no cluster is emptied. A batch of 1 is the paper's rule.
 *
 * Centres move by steps of 32-bit arithmetic within a round; at its end they are the means anew, and
 * the distances that count are measured, so nothing drifts. Where points come in several parts, later
 * parts move centres too: all distances are then taken to the centres the round began with. Of sparse
 * rows only the sums move, and centres stay those anyway.
 */
import { createRandom } from '../../core/random.ts'
import type { DeviceBuffer } from '../../device/contract.ts'
import { prepareMoves } from '../../kernels/apply-moves.ts'
import { assignLists } from '../../kernels/assign-lists.ts'
import { createMovingClusters, type MovingClusters } from '../../kernels/move-gains.ts'
import { measurePoints, moveThrough } from '../../kernels/move-through.ts'
import { allocateRows, type DeviceRows } from '../../kernels/rows.ts'
import type { PointPart } from '../points.ts'
import {
  type CandidateSource,
  type RunState,
  readCenters,
  type Update,
  type UpdateResult,
  writeCenters,
} from '../run-state.ts'
import { clusterSums } from './mean.ts'

/** Random numbers of their own for each round: a resumed run draws what the unbroken one does. */
const STREAM = 0x30f30000

export interface MoveOptions {
  /** Take the first move that pays instead of the best. */
  readonly first: boolean
}

export function moveUpdate(state: RunState, { first }: MoveOptions): Update {
  const { device, points, control, k } = state
  const sums = clusterSums(state)
  const own = state.scope.allocate(points.largestPart * 4, 'own labels')
  const moveCenters = points.parts.length > 1 && points.source.sparse === undefined
  const began = moveCenters ? allocateRows(state.scope, k, points.cols, 'f32', 'centres before') : undefined
  const weightless = state.weights?.includes(0) === true
  let driven = false
  let clusters: MovingClusters | undefined
  /** Masses are those of the labels as they stand. */
  let prepared = false
  const finish = async (): Promise<UpdateResult> => {
    // What the new means gain is counted from the centres that distances were taken to.
    if (began && driven) device.copy(began.buffer, state.centers.buffer)
    driven = false
    const result = await sums.finish()
    clusters ??= createMovingClusters(device, state.scope, state.centers, {
      ...(await measurePoints(device, state.points.inParts())),
      unit: state.unit,
    })
    await prepareMoves(device, { ...sums.buffers, clusters })
    prepared = true
    return result
  }
  return {
    async begin() {
      if (!state.labelled) return
      if (!prepared) {
        // Centres may have been rounded since they were means; a resumed run goes on from the same.
        const centers = await readCenters(state)
        for (const part of points.parts) await sums.take(part, await points.vectors(part))
        await finish()
        writeCenters(state, centers)
      }
      if (began) device.copy(state.centers.buffer, began.buffer)
    },
    async drive(_state, source, part, vectors, round) {
      // A start from centres: the first labels are the nearest.
      if (!state.labelled || clusters === undefined) return source.assign(state, part, vectors, round)
      if (source.groups === undefined) throw new Error('this candidate source has no groups')
      const { labels, previous, weights, distances, count } = part
      device.copy(previous, labels)
      prepared = false
      driven = true
      const random = createRandom(state.seed).fork(STREAM + round * 1009 + points.parts.indexOf(part))
      const groupings = await source.groups(state, part, round)
      let looked = 0
      for (const [turn, groups] of groupings.entries()) {
        const before = part.first / points.rows
        const onProgress = (share: number): void =>
          control.onProgress?.(before + (count * (turn + share)) / groupings.length / points.rows)
        const work = { points: vectors, weights, labels, clusters, groups, first }
        looked += await moveThrough(device, work, state.settings.batch as number, random, {
          signal: control.signal,
          onProgress,
        })
      }
      if (weightless) await followNearest(state, source, part, vectors, round, own)
      device.copy(labels, { buffer: own, offset: 0, bytes: count * 4 })
      const centers = began ?? state.centers
      await assignLists(device, { points: vectors, centers, lists: own, width: 1, labels, distances })
      return looked / count
    },
    take: (_state, part, vectors) => sums.take(part, vectors),
    finish,
  }
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

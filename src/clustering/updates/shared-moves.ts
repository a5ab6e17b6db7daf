/**
 * Moves in a domain whose rows several devices own. Every device proposes what its own points would do; the proposals are
 * brought together, and the first of the devices applies them one after the other in the order in which a single device
 * would, with the rows that want to move. So the result is that of a single device, and the objective never rises.
 */
import type { Random } from '../../core/random.ts'
import { BufferScope, type DeviceBuffer } from '../../device/contract.ts'
import { applyGivenMoves } from '../../kernels/apply-moves.ts'
import { type Moving, proposeAll } from '../../kernels/move-through.ts'
import type { MovingClusters } from '../../kernels/moving-clusters.ts'
import type { PointPart } from '../../vectors/point-part.ts'
import { uploadRows } from '../../vectors/upload-rows.ts'
import type { DomainLabels } from '../domain-labels.ts'
import type { RunState } from '../run-state.ts'
import { type MovingValues, readMoving, writeMoving } from './moving-state.ts'

const NONE = 0xffffffff

interface Bid {
  readonly targets: Uint32Array
  /** Applies moves on this device. */
  readonly apply: (moves: Moves) => Promise<Applied>
}

/** Moves in the order in which they are to be applied. */
interface Moves {
  /** Rows of the domain. */
  readonly rows: Uint32Array
  readonly targets: Uint32Array
}

interface Applied {
  readonly owner: number
  readonly rows: Uint32Array
  readonly labels: Uint32Array
  readonly clusters: MovingValues
}

export interface SharedTurn {
  readonly state: RunState
  readonly part: PointPart
  readonly work: Moving
  readonly random: Random
  readonly labels: DomainLabels
  /** Of the whole domain; changed. */
  readonly all: Uint32Array
}

/**
 * Processes every point of the domain once. Returns the number of pairs of a point and a cluster that this device compared.
 */
export async function moveTogether({ state, part, work, random, labels, all }: SharedTurn): Promise<number> {
  const { device, team, owner, control } = state
  const { targets, order, evaluated } = await proposeAll(device, work, random, control)
  const apply = (moves: Moves): Promise<Applied> => applyOn(state, part, work.clusters, moves, all)
  const bid: Bid = { targets, apply }
  const applied = await team.meet(part.domain, owner, bid, async (bids) => {
    const moves = await bestMoves(bids, order, work, device)
    return bids[0].apply(moves)
  })
  applied.rows.forEach((row, i) => {
    all[row] = applied.labels[i]
  })
  labels.write(part, all)
  if (applied.owner !== owner) await writeMoving(state, work.clusters, applied.clusters)
  return evaluated
}

/** A point is proposed for by the device that owns it alone. */
async function bestMoves(
  bids: readonly Bid[],
  order: Uint32Array,
  { groups }: Moving,
  device: RunState['device'],
): Promise<Moves> {
  const members = new Uint32Array(await device.read(groups.members))
  const offsets = new Uint32Array(await device.read(groups.offsets))
  const rows: number[] = []
  const targets: number[] = []
  order.forEach((group, g) => {
    for (let at = offsets[group]; at < offsets[group + 1]; at++) {
      const place = g * groups.largest + at - offsets[group]
      for (const bid of bids) {
        if (bid.targets[place] === NONE) continue
        rows.push(members[at])
        targets.push(bid.targets[place])
      }
    }
  })
  return { rows: Uint32Array.from(rows), targets: Uint32Array.from(targets) }
}

async function applyOn(
  state: RunState,
  part: PointPart,
  clusters: MovingClusters,
  { rows, targets }: Moves,
  all: Uint32Array,
): Promise<Applied> {
  const { device, points, weights, owner } = state
  const own = Uint32Array.from(rows, (row) => all[row])
  if (rows.length === 0) return { owner, rows, labels: own, clusters: await readMoving(device, clusters) }
  const numbers = rows.map((row) => row + part.domain.first)
  const scope = new BufferScope(device)
  try {
    const uploaded = await uploadRows(device, scope, points, numbers)
    const labels = scope.upload(own, 'labels of moving points')
    const weighed: DeviceBuffer | undefined =
      weights &&
      scope.upload(
        Float32Array.from(numbers, (row) => weights[row]),
        'weights of moving points',
      )
    await applyGivenMoves(device, { points: uploaded, weights: weighed, labels, targets, clusters })
    const after = new Uint32Array(await device.read(labels), 0, rows.length)
    return { owner, rows, labels: after, clusters: await readMoving(device, clusters) }
  } finally {
    scope.free()
  }
}

/** All groups of points once, in random order, batch after batch: how updates and trees use the kernels of k-means#. */
import { type Random, shuffle } from '../core/random.ts'
import { BufferScope, type Device, type DeviceBuffer, type RunControl } from '../device/contract.ts'
import { moveBatches, proposeMoves } from './apply-moves.ts'
import { assign, assignWorkspaceBytes } from './assign.ts'
import { createMoveWorkspace, type MoveBatch, type MoveWorkspace } from './move-batch.ts'
import { allocateRows, type DeviceRows, type RowType } from './rows.ts'

/** Number of batches between two checks of progress and signal. */
const AT_ONCE = 32

/**
 * Neighbouring leaves of a tree have the same candidates. If there are many groups, runs of this many neighbours are
 * shuffled instead of single groups, so that centres stay in the cache. The objective does not get worse.
 */
const RUN = 8
const MANY_GROUPS = 2 ** 15

export type Moving = Omit<MoveBatch, 'order' | 'firstGroup' | 'count' | 'workspace'>

/**
 * About `batch` points propose their moves at a time. What it returns reads how many pairs of a point and a cluster were
 * looked at: see `Device.stage`.
 */
export async function moveAndCount(
  device: Device,
  work: Moving,
  batch: number,
  random: Random,
  control: RunControl,
): Promise<() => Promise<number>> {
  const { groups } = work.groups
  return throughBatches(device, work, batch, random, control, (workspace) => stagePairs(device, workspace, groups))
}

/** The same without counting. */
export async function moveThrough(
  device: Device,
  work: Moving,
  batch: number,
  random: Random,
  control: RunControl,
): Promise<void> {
  await throughBatches(device, work, batch, random, control, () => undefined)
}

async function throughBatches<T>(
  device: Device,
  work: Moving,
  batch: number,
  random: Random,
  control: RunControl,
  after: (workspace: MoveWorkspace) => T,
): Promise<T> {
  const { groups, largest } = work.groups
  const perGroup = work.points.rows / groups
  const size = Math.min(groups, Math.max(1, Math.floor(batch / perGroup)))
  const shuffled = shuffledGroups(groups, random)
  const scope = new BufferScope(device)
  try {
    const order = scope.upload(shuffled, 'groups in random order')
    const atOnce = Math.min(groups, AT_ONCE * size)
    const workspace = createMoveWorkspace(device, scope, work.clusters, groups, size * largest, atOnce * largest)
    const batches = Array.from({ length: Math.ceil(groups / size) }, (_, i) => ({
      ...work,
      order,
      firstGroup: i * size,
      count: Math.min(size, groups - i * size),
      workspace,
    }))
    for (let first = 0; first < batches.length; first += AT_ONCE) {
      await moveBatches(device, batches.slice(first, first + AT_ONCE), { signal: control.signal })
      control.signal?.throwIfAborted()
      control.onProgress?.(Math.min(1, (first + AT_ONCE) / batches.length))
    }
    return after(workspace)
  } finally {
    scope.free()
  }
}

export interface Proposals {
  /** Groups in the order in which their moves are to be applied. */
  readonly order: Uint32Array
  /** u32 [groups][largest], 0xffffffff for a point that stays. */
  readonly targets: Uint32Array
  readonly evaluated: number
}

/** What all points would do, as clusters stand now. The order is that in which `moveThrough` would apply their moves. */
export async function proposeAll(
  device: Device,
  work: Moving,
  random: Random,
  control: RunControl,
): Promise<Proposals> {
  const { groups, largest } = work.groups
  const shuffled = shuffledGroups(groups, random)
  const scope = new BufferScope(device)
  try {
    const order = scope.upload(shuffled, 'groups in random order')
    const workspace = createMoveWorkspace(device, scope, undefined, groups, groups * largest)
    await proposeMoves(device, { ...work, order, firstGroup: 0, count: groups, workspace }, { signal: control.signal })
    const evaluated = stagePairs(device, workspace, groups)
    const targets = new Uint32Array(await device.read(workspace.proposals), 0, groups * largest)
    return { order: shuffled, targets, evaluated: await evaluated() }
  } finally {
    scope.free()
  }
}

function shuffledGroups(groups: number, random: Random): Uint32Array {
  const together = groups >= MANY_GROUPS ? RUN : 1
  const runs = Uint32Array.from({ length: Math.ceil(groups / together) }, (_, i) => i)
  shuffle(random, runs)
  const shuffled = new Uint32Array(groups)
  let at = 0
  for (const run of runs) {
    const end = Math.min(groups, (run + 1) * together)
    for (let group = run * together; group < end; group++) shuffled[at++] = group
  }
  return shuffled
}

function stagePairs(device: Device, { evaluated }: MoveWorkspace, groups: number): () => Promise<number> {
  const read = device.stage({ buffer: evaluated, offset: 0, bytes: groups * 4 })
  return async () => new Uint32Array(await read()).reduce((sum, count) => sum + count, 0)
}

/** Points on a device, in parts. */
export interface PartedPoints {
  readonly cols: number
  readonly parts: readonly { readonly count: number; vectors(): Promise<DeviceRows> }[]
}

/** Input of `createMovingClusters`: the length of the longest point, which no mean exceeds. */
export interface MeasuredPoints {
  readonly type: RowType
  readonly longest: number
}

export async function measurePoints(device: Device, { cols, parts }: PartedPoints): Promise<MeasuredPoints> {
  const scope = new BufferScope(device)
  try {
    const most = parts.reduce((largest, { count }) => Math.max(largest, count), 0)
    const zero = allocateRows(scope, 1, cols, 'f32', 'zero')
    device.clear(zero.buffer)
    const labels = scope.allocate(most * 4, 'labels of no use')
    const distances = scope.allocate(most * 4, 'squared lengths')
    let workspace: DeviceBuffer | undefined
    let longest = 0
    let type: RowType = 'f32'
    for (const part of parts) {
      const points = await part.vectors()
      type = points.type
      workspace ??= scope.allocate(assignWorkspaceBytes(zero, type === 'csr'), 'zero, prepared')
      await assign(device, { points, centers: zero, labels, distances, workspace })
      const squares = new Float32Array(await device.read(distances), 0, part.count)
      longest = squares.reduce((largest, value) => Math.max(largest, value), longest)
    }
    return { type, longest: Math.sqrt(longest) }
  } finally {
    scope.free()
  }
}

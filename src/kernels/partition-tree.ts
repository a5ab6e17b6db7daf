/**
 * The steps of growing a partition tree, level by level for all points at once.
 *
 * members: u32 [n], points node by node. nodes: u32 [count][3], for each node of the level its first
 * member, its end, and the member at which to split. Directions come from a sample; splitting is a
 * selection, not a sort, and equal projections go by number, so duplicates and constant data still
 * split where they should. On a GPU the device selects; on software adapters for WebGPU the host does, which is faster there.
 */

import { NODE_WORDS, principalDirectionsShader } from '../../shaders/partition-tree.ts'
import { principalDirectionsTiled } from '../../shaders/partition-tree-tiled.ts'
import { nodeKeys, nodeOwners, projectionKeys, splitNodes } from '../../shaders/split-nodes.ts'
import type {
  BufferScope,
  ComputePass,
  CpuJob,
  CpuMemory,
  Device,
  DeviceBuffer,
  GpuTarget,
} from '../device/contract.ts'
import { type Elements, elements, mayWrite, reads, writes } from '../device/fields.ts'
import { DENSE_VECTORS, declareFunction, SharedConstants, VECTOR_FIELDS } from './declared-function.ts'
import { project, projectArgs, projectKernel } from './project.ts'
import { allocateRows, type DeviceRows, denseType, rowBytesOf } from './rows.ts'
import { createSortWorkspace, radixPasses, type SortWorkspace, tiledSortShaders } from './sort.ts'

/** Keys among which a pivot is chosen. */
const PIVOTS = 21

export const partitionTreeConstants = new SharedConstants({
  NODE_WORDS: { type: 'u32', value: NODE_WORDS },
  PIVOTS: { type: 'u32', value: PIVOTS },
})

export const growNodesFunction = declareFunction('growNodes', {
  args: {
    points: DENSE_VECTORS,
    members: writes('u32'),
    nodes: reads('u32'),
    /** Points whose spread is looked at. */
    sample: 'u32',
    /** Power steps towards the direction of largest spread. */
    steps: 'u32',
    seed: 'u32',
    /** 0: nodes are split once. Otherwise they have at most so many points and are split down to their leaves. */
    most: 'u32',
    /** [n][2]: the number of a point, and where it lies along the direction of its node; only where nodes are split once. */
    keys: mayWrite('u32'),
    /** Only where the first levels are grown over a sample: a plane for each split, from number 1 on. */
    planes: mayWrite('f32'),
    thresholds: mayWrite('u32'),
  },
  scratch: {
    /** Mean of the sample; then the sum of a power step; then the direction as integers. */
    mean: ({ points }) => points.stride * 4,
    direction: ({ points }) => points.stride * 4,
    /** The sample as floats, less its mean. */
    sampled: ({ points, sample }) => sample * points.stride * 4,
    /** Down to the leaves: the rows of a node, where they are described, and their numbers. */
    rows: ({ points, most }) => most * rowBytesOf(points.stride, denseType(points)),
    view: ({ most }) => (most > 0 ? VECTOR_FIELDS.length * 4 : 0),
    numbers: ({ most }) => most * 4,
    /** Members of the node as places among its rows, and where they lie along a direction. */
    places: ({ most }) => most * 8,
    /** A sample of the keys, to choose a pivot from. */
    pivots: () => PIVOTS * 8,
  },
})

export interface GrowArgs {
  readonly points: DeviceRows
  readonly members: DeviceBuffer
  readonly nodes: DeviceBuffer
  /** What `nodes` holds. */
  readonly table: Uint32Array
  readonly workspace: GrowWorkspace
  /** Points whose spread is looked at. */
  readonly sample: number
  /** Power steps towards the direction of largest spread. */
  readonly steps: number
  readonly seed: number
}

/** Memory that every level uses again. */
export interface GrowWorkspace {
  /** Where each point lies along its node's direction: f32 [n]; on the CPU u32 [n][2], with the number of the point. */
  readonly along: DeviceBuffer
  /** WebGPU only: directions [nodes][stride], sums [nodes][2][stride], and the node of each point. */
  readonly gpu?: GpuGrowWorkspace
}

interface GpuGrowWorkspace {
  readonly directions: DeviceRows
  readonly notes: DeviceBuffer
  readonly nodeOf: DeviceBuffer
  /** u32 [n], members on their way from one order to the next. */
  readonly moved: DeviceBuffer
  /** Nodes from so many points on are split by sorting. */
  readonly sortedFrom: number
  readonly sort?: { readonly order: DeviceBuffer; readonly buffers: SortWorkspace }
}

/**
 * Nodes from so many points on are split by a sort of all points, which fills a GPU: one workgroup that selects among a
 * million points alone takes some 30 ms by estimate, the sort about 1 ms.
 */
const SORTED_FROM = 2 ** 17
/** One pass of the sort tells so many nodes apart. */
const MOST_SORTED = 256

export function createGrowWorkspace(
  device: Device,
  scope: BufferScope,
  points: DeviceRows,
  widestLevel: number,
  sortedFrom = SORTED_FROM,
): GrowWorkspace {
  const cpu = device.info.kind === 'cpu'
  const along = scope.allocate(points.rows * (cpu ? 8 : 4), 'points along directions')
  if (cpu) return { along }
  const directions = allocateRows(scope, widestLevel, points.cols, 'f32', 'tree directions')
  const notes = scope.allocate(widestLevel * points.stride * 8, 'tree sums')
  const nodeOf = scope.allocate(points.rows * 4, 'tree node of each point')
  const moved = scope.allocate(points.rows * 4, 'points by node')
  const gpu = { directions, notes, nodeOf, moved, sortedFrom }
  if (!device.tiled || points.rows < sortedFrom) return { along, gpu }
  const order = scope.allocate(points.rows * 4, 'points along directions, in order')
  return { along, gpu: { ...gpu, sort: { order, buffers: createSortWorkspace(scope, points.rows) } } }
}

/** Splits every node of a level: members end up ordered around each node's split. */
export async function growNodes(device: Device, args: GrowArgs): Promise<void> {
  if (args.workspace.gpu) {
    if (!device.tiled) return growOnGpu(device, args, args.workspace.gpu)
    try {
      return await splitOnDevice(device, args, args.workspace.gpu)
    } catch (error) {
      // Nothing was run if a shader could not be compiled.
      if ([nodeOwners, splitNodes].every((shader) => device.usable?.(shader) !== false)) throw error
      return growOnGpu(device, args, args.workspace.gpu)
    }
  }
  const { points, table, workspace } = args
  return device.run({
    name: 'grow-nodes',
    webgpu: () => [],
    *cpu(memory) {
      const keys = elements(workspace.along, points.rows * 2)
      yield growJob(memory, args, { most: 0, keys, grain: Math.max(1, Math.floor(nodesIn(table) / 256)) })
    },
  })
}

/**
 * Nodes of at most `most` points to their leaves at once. Here the table's third number is how many
 * leaves a node is to become; they are cut as `trees/partition-tree.ts` does. CPU only: where rows are
 * fetched from far away, growing what fits a cache in one go is several times as fast.
 */
export function growSubtrees(device: Device, args: GrowJobArgs, most: number): Promise<void> {
  return device.run({
    name: 'grow-subtrees',
    webgpu: () => [],
    *cpu(memory) {
      yield growJob(memory, args, { most, grain: 1 })
    },
  })
}

export interface Growth {
  readonly most: number
  readonly keys?: Elements
  readonly planes?: Elements
  readonly thresholds?: Elements
  readonly grain: number
}

/** What a job needs to know of the nodes. */
export type GrowJobArgs = Omit<GrowArgs, 'workspace'>

export function growJob(memory: CpuMemory, args: GrowJobArgs, { grain, ...growth }: Growth): CpuJob {
  const { points, members, nodes, table, sample, steps, seed } = args
  return growNodesFunction.job(
    memory,
    {
      points,
      members: elements(members),
      nodes: elements(nodes, table.length),
      sample,
      steps,
      seed,
      ...growth,
    },
    { items: nodesIn(table), grain },
  )
}

function nodesIn(table: Uint32Array): number {
  return table.length / NODE_WORDS
}

/** Directions and projections on the device, selection on the host: it is sequential by nature. */
async function growOnGpu(device: Device, args: GrowArgs, gpu: GpuGrowWorkspace): Promise<void> {
  const { points, members, table, workspace } = args
  const order = new Uint32Array(await device.read(members))
  const owner = new Uint32Array(points.rows)
  for (let node = 0; node < table.length; node += NODE_WORDS) {
    for (let slot = table[node]; slot < table[node + 1]; slot++) owner[order[slot]] = node / NODE_WORDS
  }
  device.write(gpu.nodeOf, owner)
  await device.run({
    name: 'principal-directions',
    *webgpu(target) {
      yield directionsPass(target, args, gpu)
    },
    cpu: () => [],
  })
  await project(device, { points, directions: gpu.directions, nodes: gpu.nodeOf, out: workspace.along })
  const along = new Float32Array(await device.read(workspace.along))
  for (let node = 0; node < table.length; node += NODE_WORDS) {
    selectRank(order, along, table[node], table[node + 1], table[node + 2])
  }
  device.write(members, order.subarray(0, points.rows))
}

function directionsPass(target: GpuTarget, args: GrowArgs, gpu: GpuGrowWorkspace): ComputePass {
  const { points, members, nodes, table, sample, steps, seed } = args
  const count = nodesIn(table)
  const tiled = principalDirectionsTiled(denseType(points))
  const perNode = target.tiled && target.usable(tiled)
  return (perNode ? tiled : principalDirectionsShader(denseType(points))).pass(
    target,
    {
      x: points.buffer,
      members,
      nodes,
      directions: gpu.directions.buffer,
      notes: gpu.notes,
      count,
      quads: points.stride / 4,
      sample,
      steps,
      seed,
    },
    {
      items: count,
      ...(perNode ? { perGroup: 1 } : {}),
      operations: count * sample * points.stride * (steps * 6 + 2),
    },
  )
}

/** Everything on the device, without reading anything back. */
function splitOnDevice(device: Device, args: GrowArgs, gpu: GpuGrowWorkspace): Promise<void> {
  const { points, members, nodes, table, workspace } = args
  const { along } = workspace
  const { nodeOf, directions, moved } = gpu
  const count = nodesIn(table)
  const n = points.rows
  return device.run({
    name: 'split-nodes',
    *webgpu(target) {
      yield nodeOwners.pass(
        target,
        { members, nodes, owners: nodeOf, count, slots: n },
        { items: n, operations: n * 16 },
      )
      yield directionsPass(target, args, gpu)
      yield* projectKernel.passes(target, projectArgs({ points, directions, nodes: nodeOf, out: along }))
      if (!isSorted(target, args, gpu)) {
        const split = { along, nodes, members, moved, count }
        yield splitNodes.pass(target, split, { items: count, perGroup: 1, operations: n * 64 })
      } else yield* sortNodes(target, args, gpu)
    },
    cpu: () => [],
  })
}

/** Whether to sort: for few large nodes that all points belong to. */
function isSorted(target: GpuTarget, { points, table }: GrowArgs, { sort, sortedFrom }: GpuGrowWorkspace): boolean {
  if (sort === undefined || !target.tiled || nodesIn(table) > MOST_SORTED) return false
  let [inside, largest] = [0, 0]
  for (let node = 0; node < table.length; node += NODE_WORDS) {
    const size = table[node + 1] - table[node]
    inside += size
    largest = Math.max(largest, size)
  }
  if (inside < points.rows || largest < sortedFrom) return false
  return [projectionKeys, nodeKeys, ...tiledSortShaders()].every((shader) => target.usable(shader))
}

/** Members by node, in each node by projection, then by number. */
function* sortNodes(
  target: GpuTarget,
  { points, members, workspace }: GrowArgs,
  gpu: GpuGrowWorkspace,
): Generator<ComputePass> {
  const { order, buffers: sort } = gpu.sort as NonNullable<GpuGrowWorkspace['sort']>
  const count = points.rows
  const keys = gpu.moved
  const size = { items: count, operations: count * 8 }
  yield projectionKeys.pass(target, { along: workspace.along, keys, count }, size)
  yield* radixPasses(target, { n: count, keys, none: ALL_KEYS, firstPoint: 0, passes: 4, sort, order })
  yield nodeKeys.pass(target, { owners: gpu.nodeOf, order, keys, count }, size)
  yield* radixPasses(target, {
    n: count,
    keys,
    values: order,
    none: ALL_KEYS,
    firstPoint: 0,
    passes: 1,
    sort,
    order: members,
  })
}

const ALL_KEYS = 0xffffffff

/** Afterwards everything before `rank` comes before everything from it on, by projection, then by number. */
export function selectRank(members: Uint32Array, along: Float32Array, from: number, to: number, rank: number): void {
  if (rank <= from || rank >= to) return
  const before = (a: number, b: number): boolean => along[a] < along[b] || (along[a] === along[b] && a < b)
  let low = from
  let high = to - 1
  while (low < high) {
    const pivot = members[low + ((high - low) >> 1)]
    let i = low
    let j = high
    while (i <= j) {
      while (before(members[i], pivot)) i++
      while (before(pivot, members[j])) j--
      if (i > j) break
      const member = members[i]
      members[i] = members[j]
      members[j] = member
      i++
      j--
    }
    if (rank <= j) high = j
    else if (rank >= i) low = i
    else return
  }
}

/**
 * Splitting the nodes of a level of a partition tree on a GPU: a direction for each node, the points along it, and their order
 * around the member at which to split. The device selects, without reading anything back; on software adapters the host does,
 * which is faster there.
 */
import { directionsBody, NODE_WORDS } from '../../shaders/partition-tree.ts'
import { directionsTiledBody } from '../../shaders/partition-tree-tiled.ts'
import {
  nodeKeysBody,
  nodeOwnersBody,
  projectionKeysBody,
  SPLIT_THREADS,
  splitNodesBody,
} from '../../shaders/split-nodes.ts'
import type { ComputePass, Device, DeviceBuffer, GpuTarget } from '../device/contract.ts'
import { reads, writes } from '../device/fields.ts'
import { declareKernel } from './declared-kernel.ts'
import { compiled, DENSE_VECTORS, WRITTEN_ROWS } from './kernel-fields.ts'
import { project, projectArgs, projectKernel } from './project.ts'
import { type DeviceRows, denseType } from './rows.ts'
import { radixPasses, type SortWorkspace, tiledSortShaders } from './sort.ts'

/** What splitting nodes takes on both devices. */
export const NODE_FIELDS = {
  points: DENSE_VECTORS,
  nodes: reads('u32'),
  /** Points whose spread is looked at. */
  sample: 'u32',
  /** Power steps towards the direction of largest spread. */
  steps: 'u32',
  seed: 'u32',
} as const

export const directionsKernel = declareKernel('principal-directions', {
  args: { ...NODE_FIELDS, count: 'u32' },
  items: ({ count }) => count,
  gpu: {
    args: {
      /** `tiled`: a workgroup for each node. `private`: a thread, for software adapters. */
      form: compiled('tiled', 'private'),
      members: reads('u32'),
      /** A row for each node. */
      directions: WRITTEN_ROWS,
      /** [node][2][quads]: mean, sum */
      notes: writes('vec4f'),
    },
    body: ({ form }) => (form === 'tiled' ? directionsTiledBody() : directionsBody()),
    grid: ({ form, count }) => (form === 'tiled' ? { groups: count } : count),
    operations: ({ count, sample, points, steps }) => count * sample * points.stride * (steps * 6 + 2),
  },
})

export const nodeOwnersKernel = declareKernel('node-owners', {
  args: {
    members: reads('u32'),
    /** In the order of their members. */
    nodes: reads('u32'),
    count: 'u32',
    slots: 'u32',
    /** Node of each point, 0 for points of no node. */
    owners: writes('u32'),
  },
  items: ({ slots }) => slots,
  gpu: { body: nodeOwnersBody, operations: ({ slots }) => slots * 16 },
})

/** Keys by which all points are sorted along the directions of their nodes. */
export const projectionKeysKernel = declareKernel('projection-keys', {
  args: { along: reads('f32'), keys: writes('u32'), count: 'u32' },
  items: ({ count }) => count,
  gpu: { body: projectionKeysBody, operations: ({ count }) => count * 8 },
})

/** Keys by which points, as they are ordered, are sorted by node. */
export const nodeKeysKernel = declareKernel('node-keys', {
  args: { owners: reads('u32'), order: reads('u32'), keys: writes('u32'), count: 'u32' },
  items: ({ count }) => count,
  gpu: { body: nodeKeysBody, operations: ({ count }) => count * 8 },
})

export const splitNodesKernel = declareKernel('split-nodes', {
  args: {
    /** Projection of each point. */
    along: reads('f32'),
    nodes: reads('u32'),
    members: writes('u32'),
    /** As long as members. */
    moved: writes('u32'),
    count: 'u32',
    points: 'host',
  },
  gpu: {
    body: splitNodesBody,
    workgroup: SPLIT_THREADS,
    grid: ({ count }) => ({ groups: count }),
    operations: ({ points }) => points * 64,
  },
})

export interface SplitArgs {
  readonly points: DeviceRows
  readonly members: DeviceBuffer
  readonly nodes: DeviceBuffer
  /** What `nodes` holds. */
  readonly table: Uint32Array
  /** As `NODE_FIELDS` has them. */
  readonly sample: number
  readonly steps: number
  readonly seed: number
}

export interface SplitWorkspace {
  /** f32 [n]: where each point lies along its node's direction. */
  readonly along: DeviceBuffer
  readonly directions: DeviceRows
  /** Means and sums, [nodes][2][stride]. */
  readonly notes: DeviceBuffer
  /** u32 [n]: the node of each point. */
  readonly nodeOf: DeviceBuffer
  /** u32 [n], members on their way from one order to the next. */
  readonly moved: DeviceBuffer
  /** Nodes from so many points on are split by sorting. */
  readonly sortedFrom: number
  readonly sort?: { readonly order: DeviceBuffer; readonly buffers: SortWorkspace }
}

/** One pass of the sort tells so many nodes apart. */
const MOST_SORTED = 256

/** Splits every node of a level. */
export async function growOnGpu(device: Device, args: SplitArgs, workspace: SplitWorkspace): Promise<void> {
  if (!device.tiled) return splitOnHost(device, args, workspace)
  try {
    return await splitOnDevice(device, args, workspace)
  } catch (error) {
    // Nothing was run if a shader could not be compiled.
    const shaders = [nodeOwnersKernel.shader({}), splitNodesKernel.shader({})]
    if (shaders.every((shader) => device.usable?.(shader) !== false)) throw error
    return splitOnHost(device, args, workspace)
  }
}

/** Directions and projections on the device, selection on the host: it is sequential by nature. */
async function splitOnHost(device: Device, args: SplitArgs, workspace: SplitWorkspace): Promise<void> {
  const { points, members, table } = args
  const { along, directions, nodeOf } = workspace
  const order = new Uint32Array(await device.read(members))
  const owner = new Uint32Array(points.rows)
  for (let node = 0; node < table.length; node += NODE_WORDS) {
    for (let slot = table[node]; slot < table[node + 1]; slot++) owner[order[slot]] = node / NODE_WORDS
  }
  device.write(nodeOf, owner)
  await device.run({
    name: 'principal-directions',
    *webgpu(gpu) {
      yield directionsPass(gpu, args, workspace)
    },
    cpu: () => [],
  })
  await project(device, { points, directions, nodes: nodeOf, out: along })
  const values = new Float32Array(await device.read(along))
  for (let node = 0; node < table.length; node += NODE_WORDS) {
    selectRank(order, values, table[node], table[node + 1], table[node + 2])
  }
  device.write(members, order.subarray(0, points.rows))
}

function directionsPass(gpu: GpuTarget, args: SplitArgs, { directions, notes }: SplitWorkspace): ComputePass {
  const { table, ...given } = args
  const tiled = directionsKernel.shader({ form: 'tiled', points: denseType(args.points) })
  const form = gpu.tiled && gpu.usable(tiled) ? 'tiled' : 'private'
  return directionsKernel.pass(gpu, { ...given, form, directions, notes, count: nodesIn(table) })
}

function nodesIn(table: Uint32Array): number {
  return table.length / NODE_WORDS
}

/** Everything on the device, without reading anything back. */
function splitOnDevice(device: Device, args: SplitArgs, workspace: SplitWorkspace): Promise<void> {
  const { points, members, nodes, table } = args
  const { along, nodeOf, directions, moved } = workspace
  const count = nodesIn(table)
  const n = points.rows
  return device.run({
    name: 'split-nodes',
    *webgpu(gpu) {
      yield nodeOwnersKernel.pass(gpu, { members, nodes, owners: nodeOf, count, slots: n })
      yield directionsPass(gpu, args, workspace)
      yield* projectKernel.passes(gpu, projectArgs({ points, directions, nodes: nodeOf, out: along }))
      if (isSorted(gpu, args, workspace)) yield* sortNodes(gpu, args, workspace)
      else yield splitNodesKernel.pass(gpu, { along, nodes, members, moved, count, points: n })
    },
    cpu: () => [],
  })
}

/** Whether to sort: for few large nodes that all points belong to. */
function isSorted(gpu: GpuTarget, { points, table }: SplitArgs, { sort, sortedFrom }: SplitWorkspace): boolean {
  if (sort === undefined || !gpu.tiled || nodesIn(table) > MOST_SORTED) return false
  let [inside, largest] = [0, 0]
  for (let node = 0; node < table.length; node += NODE_WORDS) {
    const size = table[node + 1] - table[node]
    inside += size
    largest = Math.max(largest, size)
  }
  if (inside < points.rows || largest < sortedFrom) return false
  const shaders = [projectionKeysKernel.shader({}), nodeKeysKernel.shader({}), ...tiledSortShaders()]
  return shaders.every((shader) => gpu.usable(shader))
}

/** Members by node, in each node by projection, then by number. */
function* sortNodes(
  gpu: GpuTarget,
  { points, members }: SplitArgs,
  { along, nodeOf, moved: keys, sort: sorting }: SplitWorkspace,
): Generator<ComputePass> {
  const { order, buffers: sort } = sorting as NonNullable<SplitWorkspace['sort']>
  const count = points.rows
  const all = { n: count, keys, none: ALL_KEYS, firstPoint: 0, sort }
  yield projectionKeysKernel.pass(gpu, { along, keys, count })
  yield* radixPasses(gpu, { ...all, passes: 4, order })
  yield nodeKeysKernel.pass(gpu, { owners: nodeOf, order, keys, count })
  yield* radixPasses(gpu, { ...all, values: order, passes: 1, order: members })
}

const ALL_KEYS = 0xffffffff

/** Afterwards everything before `rank` comes before everything from it on, by projection, then by number. */
function selectRank(members: Uint32Array, along: Float32Array, from: number, to: number, rank: number): void {
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

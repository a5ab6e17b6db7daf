/**
 * The steps of growing a partition tree, level by level for all points at once.
 *
 * members: u32 [n], points node by node. nodes: u32 [count][3], for each node of the level its first
 * member, its end, and the member at which to split. Directions come from a sample; splitting is a
 * selection, not a sort, and equal projections go by number, so duplicates and constant data still
 * split where they should. On a GPU the device selects; on software adapters for WebGPU the host does, which is faster there.
 */

import { principalDirectionsShader } from '../../shaders/partition-tree.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { nodeOwners, splitNodes } from '../../shaders/split-nodes.ts'
import type { BufferScope, ComputePass, Device, DeviceBuffer, GpuTarget } from '../device/contract.ts'
import { gridFor } from '../device/plan.ts'
import { project, projectPasses } from './project.ts'
import { allocateRows, type DeviceRows, denseType, rowArgs, rowBytesOf } from './rows.ts'

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
  /** f32 [n], where each point lies along its node's direction. */
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
}

export function createGrowWorkspace(
  device: Device,
  scope: BufferScope,
  points: DeviceRows,
  widestLevel: number,
): GrowWorkspace {
  const along = scope.allocate(points.rows * 4, 'points along directions')
  if (device.info.kind === 'cpu') return { along }
  const directions = allocateRows(scope, widestLevel, points.cols, 'f32', 'tree directions')
  const notes = scope.allocate(widestLevel * points.stride * 8, 'tree sums')
  const nodeOf = scope.allocate(points.rows * 4, 'tree node of each point')
  return { along, gpu: { directions, notes, nodeOf, moved: scope.allocate(points.rows * 4, 'points by node') } }
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
  const { points, members, nodes, table, workspace, sample, steps, seed } = args
  const count = table.length / 3
  return device.run({
    name: 'grow-nodes',
    webgpu: () => [],
    *cpu(memory) {
      yield {
        entry: 'growNodes',
        items: count,
        grain: Math.max(1, Math.floor(count / 256)),
        args: [
          ...rowArgs(memory, points),
          memory.address(members, points.rows * 4),
          memory.address(nodes, table.length * 4),
          sample,
          steps,
          seed,
          memory.address(workspace.along, points.rows * 4),
        ],
        scratchBytes: (sample + 2) * points.stride * 4,
      }
    },
  })
}

/**
 * Nodes of at most `most` points to their leaves at once. Here the table's third number is how many
 * leaves a node is to become; they are cut as `trees/partition-tree.ts` does. CPU only: where rows are
 * fetched from far away, growing what fits a cache in one go is several times as fast.
 */
export function growSubtrees(device: Device, args: GrowArgs, most: number): Promise<void> {
  const { points, members, nodes, table, sample, steps, seed } = args
  return device.run({
    name: 'grow-subtrees',
    webgpu: () => [],
    *cpu(memory) {
      yield {
        entry: 'growSubtrees',
        items: table.length / 3,
        grain: 1,
        args: [
          ...rowArgs(memory, points),
          memory.address(members, points.rows * 4),
          memory.address(nodes, table.length * 4),
          sample,
          steps,
          seed,
          most,
        ],
        scratchBytes: (sample + 2) * points.stride * 4 + most * (rowBytesOf(points.stride, denseType(points)) + 12),
      }
    },
  })
}

/** Directions and projections on the device, selection on the host: it is sequential by nature. */
async function growOnGpu(device: Device, args: GrowArgs, gpu: GpuGrowWorkspace): Promise<void> {
  const { points, members, table, workspace } = args
  const count = table.length / 3
  const order = new Uint32Array(await device.read(members))
  const owner = new Uint32Array(points.rows)
  for (let node = 0; node < count; node++) {
    for (let slot = table[node * 3]; slot < table[node * 3 + 1]; slot++) owner[order[slot]] = node
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
  for (let node = 0; node < count; node++) {
    selectRank(order, along, table[node * 3], table[node * 3 + 1], table[node * 3 + 2])
  }
  device.write(members, order.subarray(0, points.rows))
}

function directionsPass(target: GpuTarget, args: GrowArgs, gpu: GpuGrowWorkspace): ComputePass {
  const { points, members, nodes, table, sample, steps, seed } = args
  const count = table.length / 3
  return {
    shader: principalDirectionsShader(denseType(points)),
    bindings: [points.buffer, members, nodes, gpu.directions.buffer, gpu.notes],
    params: [count, points.stride / 4, sample, steps, seed],
    groups: gridFor(count, THREADS, target.limits.workgroups),
    operations: count * sample * points.stride * (steps * 6 + 2),
  }
}

/** Everything on the device, without reading anything back. */
function splitOnDevice(device: Device, args: GrowArgs, gpu: GpuGrowWorkspace): Promise<void> {
  const { points, members, nodes, table, workspace } = args
  const count = table.length / 3
  const n = points.rows
  return device.run({
    name: 'split-nodes',
    *webgpu(target) {
      yield {
        shader: nodeOwners,
        bindings: [members, nodes, gpu.nodeOf],
        params: [n, count],
        groups: gridFor(n, THREADS, target.limits.workgroups),
        operations: n * 16,
      }
      yield directionsPass(target, args, gpu)
      yield* projectPasses(target, { points, directions: gpu.directions, nodes: gpu.nodeOf, out: workspace.along })
      yield {
        shader: splitNodes,
        bindings: [workspace.along, nodes, members, gpu.moved],
        params: [count],
        groups: gridFor(count, 1, target.limits.workgroups),
        operations: n * 64,
      }
    },
    cpu: () => [],
  })
}

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

/**
 * The steps of growing a partition tree, level by level for all points at once.
 *
 * members: u32 [n], points node by node. nodes: u32 [count][3], for each node of the level its first
 * member, its end, and the member at which to split. Directions come from a sample; splitting is a
 * selection, not a sort, and equal projections go by number, so duplicates and constant data still
 * split where they should. On a GPU the device selects; on software adapters for WebGPU the host does, which is faster there.
 */
import { NODE_WORDS } from '../../shaders/partition-tree.ts'
import type { BufferScope, Device, DeviceBuffer } from '../device/contract.ts'
import { countOf, elements, mayWrite, writes } from '../device/fields.ts'
import { SharedConstants, VECTOR_FIELDS } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { allocateRows, type DeviceRows, denseType, rowBytesOf } from './rows.ts'
import { createSortWorkspace } from './sort.ts'
import { growOnGpu, NODE_FIELDS, type SplitArgs, type SplitWorkspace } from './split-nodes.ts'

/** Keys among which a pivot is chosen. */
const PIVOTS = 21

export const partitionTreeConstants = new SharedConstants({
  NODE_WORDS: { type: 'u32', value: NODE_WORDS },
  PIVOTS: { type: 'u32', value: PIVOTS },
})

export const growNodesKernel = declareKernel('grow-nodes', {
  args: NODE_FIELDS,
  items: ({ nodes }) => countOf(nodes) / NODE_WORDS,
  cpu: {
    entry: 'growNodes',
    args: {
      members: writes('u32'),
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
    grain: ({ most, planes }, nodes) => (most > 0 || planes ? 1 : Math.max(1, Math.floor(nodes / 256))),
  },
})

export interface GrowArgs extends SplitArgs {
  readonly workspace: GrowWorkspace
}

/** Memory that every level uses again. */
export interface GrowWorkspace {
  /** Where each point lies along its node's direction: f32 [n]; on the CPU u32 [n][2], with the number of the point. */
  readonly along: DeviceBuffer
  /** WebGPU only. */
  readonly gpu?: SplitWorkspace
}

/**
 * Nodes from so many points on are split by a sort of all points, which fills a GPU: one workgroup that selects among a
 * million points alone takes some 30 ms by estimate, the sort about 1 ms.
 */
const SORTED_FROM = 2 ** 17

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
  const gpu = { along, directions, notes, nodeOf, moved, sortedFrom }
  if (!device.tiled || points.rows < sortedFrom) return { along, gpu }
  const order = scope.allocate(points.rows * 4, 'points along directions, in order')
  return { along, gpu: { ...gpu, sort: { order, buffers: createSortWorkspace(scope, points.rows) } } }
}

/** Splits every node of a level: members end up ordered around each node's split. */
export function growNodes(device: Device, { workspace, ...args }: GrowArgs): Promise<void> {
  if (workspace.gpu) return growOnGpu(device, args, workspace.gpu)
  const keys = elements(workspace.along, args.points.rows * 2)
  return growNodesKernel.run(device, { ...growValues(args), most: 0, keys })
}

/**
 * Nodes of at most `most` points to their leaves at once. Here the table's third number is how many
 * leaves a node is to become; they are cut as `trees/partition-tree.ts` does. CPU only: where rows are
 * fetched from far away, growing what fits a cache in one go is several times as fast.
 */
export function growSubtrees(device: Device, args: SplitArgs, most: number): Promise<void> {
  return growNodesKernel.run(device, { ...growValues(args), most })
}

function growValues({ points, members, nodes, table, sample, steps, seed }: SplitArgs) {
  return { points, members: elements(members), nodes: elements(nodes, table.length), sample, steps, seed }
}

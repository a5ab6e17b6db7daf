/**
 * Random partition trees over the points (cluster closures, Wang et al.): at every node a random
 * sample gives the direction of largest spread, all the node's points are projected on it, and the
 * node is split at a rank, so that trees are balanced whatever the data. Grown level by level for all
 * points at once. Cost: 2 n d operations a level for projecting, and about as much for directions.
 */
import { createRandom } from '../core/random.ts'
import { streamSeed } from '../core/streams.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { createGrowWorkspace, growNodes, growSubtrees } from '../kernels/partition-tree.ts'
import { type DeviceRows, denseType, rowBytesOf } from '../kernels/rows.ts'
import type { PointPart } from '../vectors/point-part.ts'
import type { PointStore } from '../vectors/points.ts'

/** Points leaf by leaf. */
export interface PartitionTree {
  /** u32 [n] */
  readonly members: DeviceBuffer
  /** u32 [leaves + 1] */
  readonly offsets: DeviceBuffer
  readonly leaves: number
  /** Points of the largest leaf. */
  readonly largest: number
}

/** Points whose spread is looked at, and power steps: more make trees alike without making them better. */
const SAMPLE = 32
const STEPS = 3
/** Nodes whose rows take at most so many bytes are grown to their leaves at once: they fit a near cache. */
const SUBTREE_BYTES = 2 ** 18

interface Node {
  readonly from: number
  readonly to: number
  /** Leaves this node is to become. */
  readonly cells: number
}

/** Leaves of at most `leafSize` points, all of the same depth. Buffers belong to `scope`. */
export async function growTree(
  device: Device,
  scope: BufferScope,
  points: DeviceRows,
  leafSize: number,
  seed: number,
): Promise<PartitionTree> {
  let cells = 1
  while (Math.ceil(points.rows / cells) > leafSize) cells *= 2
  return growCells(device, scope, points, Math.min(cells, points.rows), seed)
}

/** Which of the trees over the points of a store. */
export interface SharedTree {
  readonly leafSize: number
  readonly seed: number
  readonly number: number
}

/** A tree over a part of the points that runs over the same points share: grown once, and freed with them. */
export async function sharedTree(
  device: Device,
  points: PointStore,
  part: PointPart,
  { leafSize, seed, number }: SharedTree,
): Promise<PartitionTree> {
  const grow = async (scope: BufferScope): Promise<PartitionTree> =>
    growTree(device, scope, await points.sketch(part), leafSize, streamSeed(seed, 'trees', number))
  await points.load(part)
  return points.keptBeside(part).get(`trees/${leafSize}/${seed}`, `${part.first}/${number}`, grow)
}

/** Exactly `cells` leaves of sizes as equal as ranks allow. */
export async function growCells(
  device: Device,
  scope: BufferScope,
  points: DeviceRows,
  cells: number,
  seed: number,
): Promise<PartitionTree> {
  const n = points.rows
  const members = scope.allocate(n * 4, 'points by leaf')
  const everybody = new Uint32Array(n)
  for (let i = 0; i < n; i++) everybody[i] = i
  device.write(members, everybody)
  const temporary = new BufferScope(device)
  try {
    // The last level has about half as many nodes as there will be cells.
    const widest = Math.max(1, Math.ceil(cells / 2))
    const nodes = temporary.allocate(widest * 12, 'tree nodes')
    const workspace = createGrowWorkspace(device, temporary, points, widest)
    let open: Node[] = [{ from: 0, to: n, cells }]
    const random = createRandom(seed)
    const subtree = Math.max(1, Math.floor(SUBTREE_BYTES / rowBytesOf(points.stride, denseType(points))))
    while (open.length > 0) {
      const splitting = open.filter((node) => node.cells > 1)
      if (splitting.length === 0) break
      const small = device.info.kind === 'cpu' && splitting.every(({ from, to }) => to - from <= subtree)
      const third = (node: Node): number => (small ? node.cells : splitRank(node))
      const table = Uint32Array.from(splitting.flatMap((node) => [node.from, node.to, third(node)]))
      device.write(nodes, table)
      const step = { points, members, nodes, table, workspace, sample: SAMPLE, steps: STEPS, seed: random.next() }
      if (small) {
        await growSubtrees(device, step, subtree)
        break
      }
      await growNodes(device, step)
      open = splitting.flatMap(childrenOf)
    }
    const offsets = cellOffsets(n, cells)
    let largest = 0
    for (let cell = 0; cell < cells; cell++) largest = Math.max(largest, offsets[cell + 1] - offsets[cell])
    return { members, offsets: scope.upload(offsets, 'leaves'), leaves: cells, largest }
  } finally {
    temporary.free()
  }
}

/** Half of the cells to each side, and of the points in proportion. */
function splitRank({ from, to, cells }: Node): number {
  const left = Math.ceil(cells / 2)
  return from + Math.round(((to - from) * left) / cells)
}

/** Where the cells of n points begin, and the end: known without looking at a point. */
function cellOffsets(n: number, cells: number): Uint32Array {
  const offsets = new Uint32Array(cells + 1)
  const fill = (from: number, to: number, first: number, count: number): void => {
    if (count === 1) {
      offsets[first] = from
      return
    }
    const rank = splitRank({ from, to, cells: count })
    const left = Math.ceil(count / 2)
    fill(from, rank, first, left)
    fill(rank, to, first + left, count - left)
  }
  fill(0, n, 0, cells)
  offsets[cells] = n
  return offsets
}

function childrenOf(node: Node): Node[] {
  const rank = splitRank(node)
  const left = Math.ceil(node.cells / 2)
  return [
    { from: node.from, to: rank, cells: left },
    { from: rank, to: node.to, cells: node.cells - left },
  ]
}

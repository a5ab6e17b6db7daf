/**
 * Random partition trees over the points (cluster closures, Wang et al.): at every node a random
 * sample gives the direction of largest spread, all the node's points are projected on it, and the
 * node is split at a rank, so that trees are balanced whatever the data. Grown level by level for all
 * points at once. Cost: 2 n d operations a level for projecting, and about as much for directions.
 */
import { createRandom, type Random } from '../core/random.ts'
import { streamSeed } from '../core/streams.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { createGrowWorkspace, type GrowWorkspace, growNodes, growSubtrees } from '../kernels/partition-tree.ts'
import { type DeviceRows, denseType, rowBytesOf } from '../kernels/rows.ts'
import { growTop } from '../kernels/tree-top.ts'
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

/** Sample size for the variance, and number of power steps: more make trees more alike without improving them. */
const SAMPLE = 32
const STEPS = 3
/** Nodes whose rows have at most this many bytes are split down to their leaves together, because they fit in a near cache. */
const SUBTREE_BYTES = 2 ** 18
/** The first levels come from a sample where there are this many times as many points as such a node has. */
const TOP_FROM = 4
/** They end where cells have this share of the points of such a node, at most and on average; few have more than all. */
const CELL_SHARE = 0.6
/** Points of the sample for each cell. */
const SAMPLED_IN_CELL = 128

interface Node {
  readonly from: number
  readonly to: number
  /** Leaves this node is to become. */
  readonly cells: number
}

/** Leaves of at most `leafSize` points, of the same depth and size as far as numbers allow. Buffers belong to `scope`. */
export async function growTree(
  device: Device,
  scope: BufferScope,
  points: DeviceRows,
  leafSize: number,
  seed: number,
): Promise<PartitionTree> {
  const n = points.rows
  if (device.info.kind === 'cpu' && n >= TOP_FROM * subtreeRows(points))
    return growLarge(device, scope, points, leafSize, seed)
  let cells = 1
  while (Math.ceil(n / cells) > leafSize) cells *= 2
  return growCells(device, scope, points, Math.min(cells, n), seed)
}

/** The first levels at once, from a sample: their cells are then nodes that fit a near cache. */
async function growLarge(
  device: Device,
  scope: BufferScope,
  points: DeviceRows,
  leafSize: number,
  seed: number,
): Promise<PartitionTree> {
  const n = points.rows
  const random = createRandom(seed)
  const levels = Math.ceil(Math.log2(n / (CELL_SHARE * subtreeRows(points))))
  const count = Math.min(n, SAMPLED_IN_CELL * 2 ** levels)
  // One of each run of rows: that takes its share of every stretch of the data.
  const first = (i: number): number => Math.floor((i * n) / count)
  const sampled = Uint32Array.from({ length: count }, (_, i) => first(i) + random.below(first(i + 1) - first(i)))
  const members = scope.allocate(n * 4, 'points by leaf')
  const ends = await growTop(device, {
    points,
    sampled,
    levels,
    members,
    sample: SAMPLE,
    steps: STEPS,
    seed: random.next(),
  })
  const nodes: Node[] = []
  for (let cell = 0; cell + 1 < ends.length; cell++) {
    const [from, to] = [ends[cell], ends[cell + 1]]
    if (to > from) nodes.push({ from, to, cells: Math.ceil((to - from) / leafSize) })
  }
  return growBelow(device, scope, points, members, nodes, random)
}

/** Maximum rows of nodes that are split down to their leaves together. */
function subtreeRows(points: DeviceRows): number {
  return Math.max(1, Math.floor(SUBTREE_BYTES / rowBytesOf(points.stride, denseType(points))))
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
export function growCells(
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
  return growBelow(device, scope, points, members, [{ from: 0, to: n, cells }], createRandom(seed))
}

/** Grows nodes that follow one another, and make up all points, to their leaves. */
async function growBelow(
  device: Device,
  scope: BufferScope,
  points: DeviceRows,
  members: DeviceBuffer,
  tops: readonly Node[],
  random: Random,
): Promise<PartitionTree> {
  const cells = tops.reduce((sum, node) => sum + node.cells, 0)
  const temporary = new BufferScope(device)
  try {
    // The last level has about half as many nodes as there will be cells.
    const widest = Math.max(tops.length, Math.ceil(cells / 2))
    const nodes = temporary.allocate(widest * 12, 'tree nodes')
    let workspace: GrowWorkspace | undefined
    let open: readonly Node[] = tops
    const subtree = subtreeRows(points)
    while (open.length > 0) {
      const splitting = open.filter((node) => node.cells > 1)
      if (splitting.length === 0) break
      const isSmall = ({ from, to }: Node): boolean => device.info.kind === 'cpu' && to - from <= subtree
      const small = splitting.filter(isSmall)
      const large = splitting.filter((node) => !isSmall(node))
      // Small nodes wait for large ones, so that threads have them all at once.
      if (large.length === 0) {
        const table = tableOf(small, ({ cells }) => cells)
        device.write(nodes, table)
        const step = { points, members, nodes, table, sample: SAMPLE, steps: STEPS, seed: random.next() }
        await growSubtrees(device, step, subtree)
        break
      }
      const table = tableOf(large, splitRank)
      device.write(nodes, table)
      workspace ??= createGrowWorkspace(device, temporary, points, widest)
      await growNodes(device, {
        points,
        members,
        nodes,
        table,
        workspace,
        sample: SAMPLE,
        steps: STEPS,
        seed: random.next(),
      })
      open = [...small, ...large.flatMap(childrenOf)]
    }
    const offsets = new Uint32Array(cells + 1)
    let leaf = 0
    for (const node of tops) {
      fillOffsets(offsets, node, leaf)
      leaf += node.cells
    }
    offsets[cells] = points.rows
    let largest = 0
    for (let cell = 0; cell < cells; cell++) largest = Math.max(largest, offsets[cell + 1] - offsets[cell])
    return { members, offsets: scope.upload(offsets, 'leaves'), leaves: cells, largest }
  } finally {
    temporary.free()
  }
}

function tableOf(nodes: readonly Node[], third: (node: Node) => number): Uint32Array {
  return Uint32Array.from(nodes.flatMap((node) => [node.from, node.to, third(node)]))
}

/** Half of the cells to each side, and of the points in proportion. */
function splitRank({ from, to, cells }: Node): number {
  const left = Math.ceil(cells / 2)
  return from + Math.round(((to - from) * left) / cells)
}

/** Where the leaves of a node begin: known without looking at a point. `first`: the number of its first leaf. */
function fillOffsets(offsets: Uint32Array, node: Node, first: number): void {
  if (node.cells === 1) {
    offsets[first] = node.from
    return
  }
  const [left, right] = childrenOf(node)
  fillOffsets(offsets, left, first)
  fillOffsets(offsets, right, first + left.cells)
}

function childrenOf(node: Node): Node[] {
  const rank = splitRank(node)
  const left = Math.ceil(node.cells / 2)
  return [
    { from: node.from, to: rank, cells: left },
    { from: rank, to: node.to, cells: node.cells - left },
  ]
}

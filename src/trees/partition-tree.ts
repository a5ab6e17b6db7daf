/**
 * Random partition trees over the points (cluster closures, Wang et al.): at every node a random
 * sample gives the direction of largest spread, all the node's points are projected on it, and the
 * node is split at a rank, so that trees are balanced whatever the data. Grown level by level for all
 * points at once. Cost: 2 n d operations a level for projecting, and about as much for directions.
 */
import { createRandom } from '../core/random.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { createGrowWorkspace, growNodes } from '../kernels/partition-tree.ts'
import type { DeviceRows } from '../kernels/rows.ts'

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
  device.write(
    members,
    Uint32Array.from({ length: n }, (_, i) => i),
  )
  const temporary = new BufferScope(device)
  try {
    // The last level has about half as many nodes as there will be cells.
    const widest = Math.max(1, Math.ceil(cells / 2))
    const nodes = temporary.allocate(widest * 12, 'tree nodes')
    const workspace = createGrowWorkspace(device, temporary, points, widest)
    let open: Node[] = [{ from: 0, to: n, cells }]
    const done: Node[] = []
    const random = createRandom(seed)
    while (open.length > 0) {
      const splitting = open.filter((node) => node.cells > 1)
      done.push(...open.filter((node) => node.cells === 1))
      if (splitting.length > 0) {
        const table = Uint32Array.from(splitting.flatMap((node) => [node.from, node.to, splitRank(node)]))
        device.write(nodes, table)
        const seed = random.next()
        await growNodes(device, { points, members, nodes, table, workspace, sample: SAMPLE, steps: STEPS, seed })
      }
      open = splitting.flatMap(childrenOf)
    }
    done.sort((a, b) => a.from - b.from)
    const offsets = Uint32Array.from([...done.map((node) => node.from), n])
    return {
      members,
      offsets: scope.upload(offsets, 'leaves'),
      leaves: done.length,
      largest: done.reduce((largest, node) => Math.max(largest, node.to - node.from), 0),
    }
  } finally {
    temporary.free()
  }
}

/** Half of the cells to each side, and of the points in proportion. */
function splitRank({ from, to, cells }: Node): number {
  const left = Math.ceil(cells / 2)
  return from + Math.round(((to - from) * left) / cells)
}

function childrenOf(node: Node): Node[] {
  const rank = splitRank(node)
  const left = Math.ceil(node.cells / 2)
  return [
    { from: node.from, to: rank, cells: left },
    { from: rank, to: node.to, cells: node.cells - left },
  ]
}

/**
 * search-tree: an approximate nearest centre for every point, found by best-bin-first search of a
 * tree over the centres, or of several trees that share one queue.
 *
 * labels: u32 [n], distances: f32 [n], squared. The search ends with the leaf in which `checks` centres
 * were measured; with as many checks as centres the CPU's answer is exact (ties: the lowest label), and
 * the GPU's too while all nodes of a single tree fit the queue (LARGEST_QUEUE).
 * With a `width` labels and distances are [n][width]: all centres measured, in the order found, until
 * the list is full (then the search ends); NO_LABEL where there were fewer.
 * looked: f32 [n], centres and nodes measured. Cost: 3 d operations for each of those.
 */
import { THREADS } from '../../shaders/pieces.ts'
import { LEAF, searchRowsPerGroup, searchTreePrivate, searchTreeShader } from '../../shaders/search-tree.ts'
import type { Device, DeviceBuffer, RunControl } from '../device/contract.ts'
import { elements, mayRead, reads, writes } from '../device/fields.ts'
import { DENSE_VECTORS, declareFunction, SharedConstants } from './declared-function.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType } from './rows.ts'
import { type QuantizedTree, searchQuantizedJob } from './search-quantized.ts'

export { LEAF }

export const searchConstants = new SharedConstants({ SEARCH_LEAF: { type: 'u32', value: LEAF } })

/** Words of a node: first, count (with LEAF), column, threshold. */
export const NODE_WORDS = 4
/** Most nodes a GPU thread keeps for later. */
export const LARGEST_QUEUE = 256

export const searchTreeFunction = declareFunction('searchTree', {
  args: {
    points: DENSE_VECTORS,
    centers: reads('f32'),
    count: 'u32',
    nodes: reads('u32'),
    items: reads('u32'),
    nodeCenters: mayRead('f32'),
    roots: 'u32',
    nodeCount: 'u32',
    checks: 'u32',
    labels: writes('u32'),
    distances: writes('f32'),
    looked: writes('f32'),
    merge: 'bool',
    width: 'u32',
    order: mayRead('u32'),
  },
  scratch: {
    /** The point as floats. */
    row: ({ points }) => points.stride * 4,
    /** Numbers of four centres, and four distances. */
    group: () => 16,
    measures: () => 16,
    /** Rank and node. */
    queue: ({ nodeCount }) => nodeCount * 8,
    /** A bit for each centre that was measured, where several trees have it. */
    seen: ({ roots, count }) => (roots > 1 ? Math.ceil(count / 32) * 4 : 0),
  },
})

export interface DeviceTree {
  /** u32 [nodeCount][4]; the roots come first. */
  readonly nodes: DeviceBuffer
  /** u32: numbers of centres, leaf by leaf. */
  readonly items: DeviceBuffer
  /** f32 [nodeCount][stride] for a k-means tree; without them nodes are split by column and threshold. */
  readonly nodeCenters: DeviceBuffer | undefined
  readonly roots: number
  readonly nodeCount: number
  /** CPU only, of a single k-means tree: nodes, and centres where one is asked for, are then scored in integers. */
  readonly quantized?: QuantizedTree
}

export interface SearchTreeArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly tree: DeviceTree
  readonly checks: number
  readonly labels: DeviceBuffer
  readonly distances: DeviceBuffer
  readonly looked: DeviceBuffer
  /** Keep what labels and distances hold unless the centre found is strictly nearer. Default false. */
  readonly merge?: boolean
  /** List this many centres for each point, instead of the nearest alone; stands in for `checks`. */
  readonly width?: number
  /**
   * u32 [n], every row once: the order in which the CPU takes them. Where rows that lie near each other follow one
   * another, most of what a search reads is still in the cache. The results are the same in any order.
   */
  readonly order?: DeviceBuffer | undefined
}

export function searchTree(device: Device, args: SearchTreeArgs, control?: RunControl): Promise<void> {
  const { points, centers, tree, labels, distances, looked } = args
  const merge = args.merge ?? false
  const width = args.width ?? 0
  const checks = Math.min(width || args.checks, LEAF)
  // Inner nodes are measured too, at most about as many as leaves hold.
  const perRow = 3 * points.stride * (2 * Math.min(checks, centers.rows) + 64)
  return device.run(
    {
      name: 'search-tree',
      *webgpu(gpu) {
        const capacity = queueFor(tree.nodeCount)
        const shader = (gpu.tiled ? searchTreeShader : searchTreePrivate)(denseType(points), capacity)
        const rowsPerGroup = gpu.tiled ? searchRowsPerGroup(capacity) : THREADS
        yield* rowPasses(gpu, {
          rows: points.rows,
          perRow,
          atLeast: THREADS,
          pass: (firstRow, rows) =>
            shader.pass(
              gpu,
              {
                x: points.buffer,
                centers: centers.buffer,
                nodes: tree.nodes,
                items: tree.items,
                nodeCenters: tree.nodeCenters,
                labels,
                distances,
                looked,
                firstRow,
                rows,
                quads: points.stride / 4,
                roots: tree.roots,
                checks,
                merge,
                width,
              },
              { items: rows, perGroup: rowsPerGroup, share: (firstRow + rows) / points.rows },
            ),
        })
      },
      *cpu(memory) {
        const places = points.rows * (width || 1)
        const grain = Math.max(16, Math.round(1e6 / perRow))
        const { quantized } = tree
        if (quantized) {
          const { nodes, items, nodeCount } = tree
          const given = {
            points,
            centers,
            nodes,
            items,
            nodeCount,
            quantized,
            checks,
            width,
            labels,
            distances,
            looked,
          }
          yield searchQuantizedJob(memory, { ...given, merge, order: args.order, grain })
          return
        }
        yield searchTreeFunction.job(
          memory,
          {
            points,
            centers: elements(centers.buffer, centers.rows * centers.stride),
            count: centers.rows,
            nodes: elements(tree.nodes, tree.nodeCount * NODE_WORDS),
            items: elements(tree.items),
            nodeCenters: elements(tree.nodeCenters, tree.nodeCount * points.stride),
            roots: tree.roots,
            nodeCount: tree.nodeCount,
            checks,
            labels: elements(labels, places),
            distances: elements(distances, places),
            looked: elements(looked, points.rows),
            merge,
            width,
            order: elements(args.order, points.rows),
          },
          { items: points.rows, grain },
        )
      },
    },
    control,
  )
}

/** Few sizes, so that few shaders are compiled. */
function queueFor(nodes: number): number {
  let capacity = 32
  while (capacity < nodes && capacity < LARGEST_QUEUE) capacity *= 4
  return Math.min(capacity, LARGEST_QUEUE)
}

/**
 * search-tree: an approximate nearest centre for every point, found by best-bin-first search of a
 * tree over the centres, or of several trees that share one queue.
 *
 * Nodes of a k-means tree are ranked by the squared distance to their centre, less their discount.
 *
 * labels: u32 [n], distances: f32 [n], squared. The search ends with the leaf in which `checks` centres
 * were measured; with as many checks as centres the CPU's answer is exact (ties: the lowest label), and
 * the GPU's too while all nodes of a single tree fit the queue (LARGEST_QUEUE).
 * With a `width` labels and distances are [n][width]: all centres measured, in the order found, until
 * the list is full (then the search ends); NO_LABEL where there were fewer.
 * evaluated: f32 [n], centres and nodes measured. Cost: 3 d operations for each of those.
 */
import { LEAF, searchPrivateBody, searchRowsPerGroup, searchTiledBody } from '../../shaders/search-tree.ts'
import type { Device, DeviceBuffer, RunControl } from '../device/contract.ts'
import { elements, mayRead } from '../device/fields.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { compiled, compiledOf } from './kernel-fields.ts'
import type { DeviceRows } from './rows.ts'
import { ORDER_FIELD, SEARCH_FIELDS, searchGrain, searchOperations } from './search-fields.ts'
import { type QuantizedTree, searchQuantizedJob } from './search-quantized.ts'

export { NODE_WORDS } from './search-fields.ts'
export { LEAF }

export const searchConstants = new SharedConstants({ SEARCH_LEAF: { type: 'u32', value: LEAF } })

/** Most nodes a GPU thread keeps for later. */
export const LARGEST_QUEUE = 256

export const searchTreeKernel = declareKernel('search-tree', {
  args: {
    ...SEARCH_FIELDS,
    /** Of a k-means tree. The nodes of other trees are split by column and threshold. */
    nodeCenters: mayRead('vec4f'),
    roots: 'u32',
  },
  items: ({ points }) => points.rows,
  gpu: {
    args: {
      /** `private`: for software adapters. */
      form: compiled('tiled', 'private'),
      /** Nodes that a queue holds: a power of two. */
      capacity: compiledOf<number>(32, 128, 256),
    },
    body: ({ form, points, capacity }) => (form === 'tiled' ? searchTiledBody : searchPrivateBody)(points, capacity),
    cut: { params: ['firstRow', 'rows'], operations: searchOperations },
    grid: ({ form, capacity, rows }) =>
      form === 'tiled' ? { groups: Math.ceil(rows / searchRowsPerGroup(capacity)) } : rows,
    forms: [
      ...[32, 128, 256].map((capacity) => ({ form: 'tiled', points: 'f32', capacity }) as const),
      { form: 'tiled', points: 'u8', capacity: 128 },
    ],
  },
  cpu: {
    entry: 'searchTree',
    args: { count: 'u32', nodeCount: 'u32', ...ORDER_FIELD },
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
    grain: searchGrain,
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
  readonly evaluated: DeviceBuffer
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
  const { points, centers, tree, labels, distances, evaluated, merge = false, width = 0 } = args
  const { nodes, items, nodeCenters, nodeCount, roots, quantized } = tree
  const places = points.rows * (width || 1)
  const shared = {
    points,
    centers,
    nodes: elements(nodes, nodeCount),
    items: elements(items),
    checks: Math.min(width || args.checks, LEAF),
    width,
    merge,
    labels: elements(labels, places),
    distances: elements(distances, places),
    evaluated: elements(evaluated, points.rows),
  }
  const order = elements(args.order, points.rows)
  const ofTree = { roots, nodeCenters: elements(nodeCenters, (nodeCount * points.stride) / 4) }
  return device.run(
    {
      name: 'search-tree',
      *webgpu(gpu) {
        const form = { form: gpu.tiled ? 'tiled' : 'private', capacity: queueFor(nodeCount) } as const
        const share = (done: number) => done / points.rows
        yield* searchTreeKernel.passes(gpu, { ...shared, ...ofTree, ...form }, { share })
      },
      *cpu(memory) {
        yield quantized
          ? searchQuantizedJob(memory, { ...shared, quantized, order })
          : searchTreeKernel.job(memory, { ...shared, ...ofTree, order, count: centers.rows, nodeCount })
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

/** A tree over centres as flat arrays, the form in which devices search it. */
import type { BufferScope, Device, DeviceBuffer } from '../device/contract.ts'
import { quantizedLayout } from '../kernels/quantized-centers.ts'
import { type DeviceRows, padRows } from '../kernels/rows.ts'
import { quantizeTree } from '../kernels/search-quantized.ts'
import { type DeviceTree, LEAF, NODE_WORDS } from '../kernels/search-tree.ts'

export interface FlatTree {
  /**
   * u32 [nodes][4]: first child or item, count (with LEAF), column, and f32 bits: the threshold of a k-d tree, the
   * discount of a node of a k-means tree. Roots come first.
   */
  readonly nodes: Uint32Array
  /** Numbers of centres, leaf by leaf. */
  readonly items: Uint32Array
  /** f32 [nodes][cols] for a k-means tree. */
  readonly nodeCenters: Float32Array | undefined
  readonly roots: number
  readonly cols: number
}

export function nodeCountOf(tree: FlatTree): number {
  return tree.nodes.length / NODE_WORDS
}

/** Items of every leaf of the tree that begins at `root`. */
export function* leavesOf({ nodes, items }: FlatTree, root = 0): Generator<Uint32Array> {
  const waiting = [root]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const first = nodes[node * NODE_WORDS]
    const count = nodes[node * NODE_WORDS + 1]
    if (count >= LEAF) yield items.subarray(first, first + count - LEAF)
    else for (let child = first; child < first + count; child++) waiting.push(child)
  }
}

const CENTERS_OF_NODES = 'centres of nodes'

/** Buffers for trees that are replaced every round: reused while the next tree fits, otherwise reallocated. */
export class TreeBuffers {
  readonly #device: Device
  readonly #scope: BufferScope
  readonly #held = new Map<string, DeviceBuffer>()

  constructor(device: Device, scope: BufferScope) {
    this.#device = device
    this.#scope = scope
  }

  upload(tree: FlatTree): DeviceTree {
    const centers = tree.nodeCenters && padRows(tree.nodeCenters, nodeCountOf(tree), tree.cols)
    return {
      nodes: this.#write('nodes', tree.nodes),
      items: this.#write('leaves', tree.items),
      nodeCenters: centers && this.#write(CENTERS_OF_NODES, centers),
      roots: tree.roots,
      nodeCount: nodeCountOf(tree),
    }
  }

  /**
   * The same with its nodes as integers, and with `forNearest` the centres that `centers` holds: to find the nearest of
   * them, and not lists. What searches have no use for then, the nodes as floats, is freed.
   */
  async quantize(tree: DeviceTree, centers: DeviceRows, forNearest = true): Promise<DeviceTree> {
    const { nodes, items, nodeCenters, nodeCount, roots } = tree
    if (this.#device.info.kind !== 'cpu' || nodeCenters === undefined || roots > 1) return tree
    const nodeRows = { ...centers, buffer: nodeCenters, rows: nodeCount }
    const quantized = {
      nodes: this.#room('nodes as integers', quantizedLayout(nodeRows).bytes),
      centers: forNearest ? this.#room('centres as integers', quantizedLayout(centers).bytes) : undefined,
    }
    await quantizeTree(this.#device, { nodes, items, nodeCenters: nodeRows, centers }, quantized)
    nodeCenters.free()
    this.#held.delete(CENTERS_OF_NODES)
    return { ...tree, nodeCenters: undefined, quantized }
  }

  #write(label: string, data: ArrayBufferView): DeviceBuffer {
    const buffer = this.#room(label, data.byteLength)
    this.#device.write(buffer, data)
    return buffer
  }

  #room(label: string, bytes: number): DeviceBuffer {
    const held = this.#held.get(label)
    if (held && held.bytes >= bytes) return held
    held?.free()
    // A little more than needed: the next tree has about as many nodes.
    const buffer = this.#scope.allocate(Math.ceil((bytes * 1.25) / 16) * 16, label)
    this.#held.set(label, buffer)
    return buffer
  }
}

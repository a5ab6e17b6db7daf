/**
 * Hierarchical k-means (Nister and Stewenius 2006), grown until there are exactly k leaves: always the
 * largest leaf is split (or the one that spreads most), by a small k-means of its points. With two
 * children a node it is bisecting k-means.
 *
 * Leaves are split in waves, all those that may come next in one pass over the points; which of the
 * splits count is then decided in the order of the queue, so the tree is the one that splitting one leaf
 * at a time would give. A split that did not count is lost work: less than one level of the tree.
 * Cost: 3 n branching d operations a round and level, about log k / log branching levels.
 */
import type { Random } from '../core/random.ts'
import type { Device, RunControl } from '../device/contract.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import { measurePoints } from '../kernels/move-through.ts'
import type { TreePoints } from '../vectors/tree-points.ts'
import { type Child, type Span, splitGroups } from './group-lloyd.ts'

export interface HierarchicalOptions {
  readonly k: number
  readonly branching: number
  /** Rounds at each node. */
  readonly rounds: number
  /** What splits a node. Default: Lloyd. */
  readonly splitMethod?: 'lloyd' | 'sharp' | undefined
  /** Which leaf is split next: the largest (default), or the one with the largest mean squared distance to its centre. */
  readonly splitOrder?: 'size' | 'spread' | undefined
  readonly random: Random
  readonly unit?: boolean
  /** The points to grow from. Default: all. */
  readonly among?: Uint32Array | undefined
  readonly control?: RunControl
}

interface Leaf extends Span {
  /** What splitting it gives, once that is known. */
  children: readonly Child[] | undefined
  /** The leaf with the largest comes next. */
  readonly rank: number
  /** Its place in the tree. */
  readonly node: TreeNode
}

/** A tree over labels: a leaf is a label, an inner node has children. */
export interface TreeNode {
  children: TreeNode[]
  label: number
}

export interface Hierarchy {
  /**
   * The leaf of every point, numbered from 0 in the order of the tree; k of them if there are k different points. NO_LABEL for
   * points the tree was not grown from.
   */
  readonly labels: Uint32Array
  readonly leaves: number
  readonly root: TreeNode
}

export async function growHierarchy(
  device: Device,
  points: TreePoints,
  options: HierarchicalOptions,
): Promise<Hierarchy> {
  const { k, random, control } = options
  // Once, not again for every wave of splits.
  const measured = options.splitMethod === 'sharp' ? await measurePoints(device, points) : undefined
  const order = options.among?.slice() ?? Uint32Array.from({ length: points.rows }, (_, i) => i)
  const growing = new LeafQueue()
  const root: TreeNode = { children: [], label: 0 }
  growing.push({ from: 0, to: order.length, children: undefined, rank: 0, node: root })
  const done: Leaf[] = []
  while (growing.size + done.length < k) {
    const top = growing.top()
    if (top === undefined) break
    const room = k - growing.size - done.length
    const fits = top.children !== undefined && top.children.length <= room + 1
    if (top.to - top.from === 1 || (fits && (top.children as readonly Child[]).length < 2)) {
      growing.pop()
      done.push(top)
    } else if (fits) {
      growing.pop()
      for (const { from, to, spread, weight } of top.children as readonly Child[]) {
        const node: TreeNode = { children: [], label: 0 }
        top.node.children.push(node)
        const rank = options.splitOrder === 'spread' ? spread : weight
        growing.push({ from, to, children: undefined, rank, node })
      }
      control?.onProgress?.((growing.size + done.length) / k)
    } else {
      // Near the end a node has fewer children, so that there are k leaves and not more.
      const branches = Math.min(options.branching, room + 1)
      const most = Math.ceil(room / (branches - 1))
      if (top.children !== undefined) top.children = undefined
      const wave = growing.largest(most).filter((leaf) => leaf.children === undefined && leaf.to - leaf.from > 1)
      const split = await splitGroups(device, points, order, wave, branches, random, { ...options, measured })
      wave.forEach((leaf, i) => {
        leaf.children = split[i]
      })
    }
  }
  const labels = new Uint32Array(points.rows).fill(NO_LABEL)
  const leaves = [...growing.all(), ...done].sort((a, b) => a.from - b.from)
  leaves.forEach(({ from, to, node }, label) => {
    node.label = label
    for (let at = from; at < to; at++) labels[order[at]] = label
  })
  return { labels, root, leaves: leaves.length }
}

/** Leaves by falling rank; equal ones in the order of the tree. */
class LeafQueue {
  #heap: Leaf[] = []

  get size(): number {
    return this.#heap.length
  }

  all(): readonly Leaf[] {
    return this.#heap
  }

  top(): Leaf | undefined {
    return this.#heap[0]
  }

  largest(count: number): Leaf[] {
    return [...this.#heap].sort((a, b) => (before(a, b) ? -1 : 1)).slice(0, count)
  }

  push(leaf: Leaf): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(leaf)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!before(leaf, heap[parent])) break
      heap[at] = heap[parent]
      at = parent
    }
    heap[at] = leaf
  }

  pop(): void {
    const heap = this.#heap
    const leaf = heap.pop()
    if (leaf === undefined || heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1], heap[child])) child++
      if (!before(heap[child], leaf)) break
      heap[at] = heap[child]
      at = child
    }
    heap[at] = leaf
  }
}

function before(a: Leaf, b: Leaf): boolean {
  return a.rank > b.rank || (a.rank === b.rank && a.from < b.from)
}

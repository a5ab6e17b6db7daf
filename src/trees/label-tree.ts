/**
 * A tree whose leaves are labels, as it is kept with a model: u32 [nodes][2], for an inner node its
 * first child and how many, for a leaf its label and LEAF. Children stand side by side, after their
 * parent. Node centres follow from the centres and sizes of the clusters below.
 */
import { LEAF, NODE_WORDS } from '../kernels/search-tree.ts'
import type { FlatTree } from './flat-tree.ts'
import type { TreeNode } from './hierarchical.ts'

const WORDS = 2

export function flattenLabels(root: TreeNode): Uint32Array {
  const order: TreeNode[] = [root]
  const words: number[] = []
  for (let at = 0; at < order.length; at++) {
    const { children, label } = order[at]
    if (children.length === 0) words.push(label, LEAF)
    else words.push(order.length, children.length)
    order.push(...children)
  }
  return Uint32Array.from(words)
}

/** The same tree as devices search it: a node's centre is the mean of the points below it. */
export function searchableTree(tree: Uint32Array, centers: Float32Array, sizes: Uint32Array, cols: number): FlatTree {
  const count = tree.length / WORDS
  const nodes = new Uint32Array(count * NODE_WORDS)
  const items: number[] = []
  const sums = new Float64Array(count * cols)
  const weights = new Float64Array(count)
  // Children come after their parents, so backwards every child is ready before its parent needs it.
  for (let node = count - 1; node >= 0; node--) {
    const [first, number] = [tree[node * WORDS], tree[node * WORDS + 1]]
    if (number === LEAF) {
      // An empty cluster counts as one point, so that it can still be found.
      const size = Math.max(1, sizes[first])
      weights[node] = size
      for (let j = 0; j < cols; j++) sums[node * cols + j] = centers[first * cols + j] * size
      nodes.set([items.length, LEAF + 1], node * NODE_WORDS)
      items.push(first)
      continue
    }
    nodes.set([first, number], node * NODE_WORDS)
    for (let child = first; child < first + number; child++) {
      weights[node] += weights[child]
      for (let j = 0; j < cols; j++) sums[node * cols + j] += sums[child * cols + j]
    }
  }
  const nodeCenters = Float32Array.from(sums, (sum, i) => sum / weights[Math.floor(i / cols)])
  return { nodes, items: Uint32Array.from(items), nodeCenters, roots: 1, cols }
}

/**
 * Randomised k-d trees over centres (Silpa-Anan and Hartley 2008): each node is split at the mean of a
 * column drawn among those of highest variance, so that the trees differ and err at different places.
 *
 * Built on the host: a level costs d operations for each of at most SAMPLE centres of a node.
 */
import { createRandom, type Random } from '../core/random.ts'
import { f32 } from '../device/contract.ts'
import { LEAF, NODE_WORDS } from '../kernels/search-tree.ts'
import type { FlatTree } from './flat-tree.ts'

export interface KdForestOptions {
  readonly trees: number
  readonly seed: number
}

/** Mean and variance of a node are taken over this many of its centres. */
const SAMPLE = 100
/** The column is drawn among this many. */
const TOP_COLUMNS = 5
/** Centres of a leaf: fewer make the queue longer than the search. */
const LEAF_SIZE = 4

interface Span {
  readonly from: number
  readonly to: number
}

/** centers: k x cols. */
export function buildKdForest(centers: Float32Array, cols: number, { trees, seed }: KdForestOptions): FlatTree {
  const k = centers.length / cols
  const random = createRandom(seed)
  const items = new Uint32Array(trees * k)
  const words: number[] = []
  const spans: Span[] = []
  for (let tree = 0; tree < trees; tree++) {
    for (let i = 0; i < k; i++) items[tree * k + i] = i
    spans.push({ from: tree * k, to: (tree + 1) * k })
  }
  // Nodes in the order they are made, so that the two children of a node are neighbours.
  for (let node = 0; node < spans.length; node++) {
    const { from, to } = spans[node]
    const split = to - from > LEAF_SIZE ? splitNode(centers, cols, items, spans[node], random) : undefined
    if (split === undefined) {
      words.push(from, LEAF + (to - from), 0, 0)
      continue
    }
    words.push(spans.length, 2, split.column, f32(split.threshold))
    spans.push({ from, to: split.middle }, { from: split.middle, to })
  }
  const nodes = new Uint32Array(spans.length * NODE_WORDS)
  nodes.set(words)
  return { nodes, items, nodeCenters: undefined, roots: trees, cols }
}

interface Split {
  readonly column: number
  readonly threshold: number
  readonly middle: number
}

/** Undefined if the centres of the node are all the same. */
function splitNode(
  centers: Float32Array,
  cols: number,
  items: Uint32Array,
  span: Span,
  random: Random,
): Split | undefined {
  const { mean, order } = spread(centers, cols, items, span, random)
  for (const column of order) {
    const threshold = Math.fround(mean[column])
    const middle = partition(centers, cols, items, span, column, threshold)
    if (middle > span.from && middle < span.to) return { column, threshold, middle }
  }
  // The sample's means put all on one side: any column in which two centres differ will do.
  for (let column = 0; column < cols; column++) {
    let low = Number.POSITIVE_INFINITY
    let high = Number.NEGATIVE_INFINITY
    for (let at = span.from; at < span.to; at++) {
      low = Math.min(low, centers[items[at] * cols + column])
      high = Math.max(high, centers[items[at] * cols + column])
    }
    if (low < high) {
      const halfway = Math.fround(low / 2 + high / 2)
      const threshold = halfway > low ? halfway : high
      return { column, threshold, middle: partition(centers, cols, items, span, column, threshold) }
    }
  }
  return undefined
}

/** Means of the columns, and those of highest variance in random order. */
function spread(
  centers: Float32Array,
  cols: number,
  items: Uint32Array,
  { from, to }: Span,
  random: Random,
): { mean: Float64Array; order: number[] } {
  const count = Math.min(SAMPLE, to - from)
  const mean = new Float64Array(cols)
  const squares = new Float64Array(cols)
  for (let i = 0; i < count; i++) {
    // The first places get a random sample when the node holds more.
    const other = from + i + (to - from > count ? random.below(to - from - i) : 0)
    const item = items[other]
    items[other] = items[from + i]
    items[from + i] = item
    for (let t = 0; t < cols; t++) mean[t] += centers[item * cols + t] / count
  }
  for (let i = 0; i < count; i++) {
    const at = items[from + i] * cols
    for (let t = 0; t < cols; t++) squares[t] += (centers[at + t] - mean[t]) ** 2
  }
  const top: number[] = []
  for (let t = 0; t < cols; t++) {
    if (squares[t] === 0 || (top.length === TOP_COLUMNS && squares[t] <= squares[top[TOP_COLUMNS - 1]])) continue
    if (top.length === TOP_COLUMNS) top.pop()
    let place = top.length
    while (place > 0 && squares[top[place - 1]] < squares[t]) place--
    top.splice(place, 0, t)
  }
  for (let i = top.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const column = top[i]
    top[i] = top[j]
    top[j] = column
  }
  return { mean, order: top }
}

/** Centres under the threshold come first; returns where the others begin. */
function partition(
  centers: Float32Array,
  cols: number,
  items: Uint32Array,
  { from, to }: Span,
  column: number,
  threshold: number,
): number {
  let middle = from
  for (let at = from; at < to; at++) {
    const item = items[at]
    if (centers[item * cols + column] >= threshold) continue
    items[at] = items[middle]
    items[middle++] = item
  }
  return middle
}

/**
 * Which clusters to merge and which to split. Given the labels, the objective is a sum over clusters: a merge costs, and
 * a split gains, an amount that no operation on other clusters changes. So operations on different clusters add up.
 */
import { NO_LABEL } from '../../kernels/assign-lists.ts'

/** Weight and weighted squared distances of each cluster. */
export interface ClusterMasses {
  readonly weights: Float64Array
  readonly squares: Float64Array
}

/** Cluster `from` becomes a part of `into`. */
export interface Merge {
  readonly from: number
  readonly into: number
  readonly cost: number
}

export interface Split {
  readonly cluster: number
  readonly gain: number
}

/** `merge` frees a number, which a part of the split cluster takes. */
export interface Pair {
  readonly merge: Merge
  readonly split: Split
}

export function clusterMasses(
  labels: Uint32Array,
  distances: Float32Array,
  weights: Float32Array | undefined,
  k: number,
): ClusterMasses {
  const masses = { weights: new Float64Array(k), squares: new Float64Array(k) }
  for (let point = 0; point < labels.length; point++) {
    const weight = weights ? weights[point] : 1
    masses.weights[labels[point]] += weight
    masses.squares[labels[point]] += weight * distances[point]
  }
  return masses
}

/**
 * What merging clusters a and b adds to the objective, by the squared distance of their centres.
 *
 * With `unit` points and centres have length one. The squared distances of a cluster of weight w then add up to
 * 2 (w - s), where s is the length of the sum of its points. Hence s is known, the centre is the direction of the sum, and
 * a merge adds 2 (s_a + s_b - |sum_a + sum_b|), written below so that no digits cancel.
 */
export function mergeCost(
  { weights, squares }: ClusterMasses,
  a: number,
  b: number,
  between: number,
  unit: boolean,
): number {
  if (!unit) return (weights[a] * weights[b] * between) / (weights[a] + weights[b])
  const [one, other] = [a, b].map((cluster) => Math.max(0, weights[cluster] - squares[cluster] / 2))
  const sum = one + other
  if (sum === 0) return 0
  // |sum_a + sum_b|^2 = (s_a + s_b)^2 - s_a s_b |c_a - c_b|^2
  const taken = one * other * between
  return (2 * taken) / (sum + Math.sqrt(Math.max(0, sum * sum - taken)))
}

/**
 * Pairs of a split and a merge whose gain exceeds the cost by more than `margin`, the best split with the cheapest merge
 * that does not touch it, and so on. No cluster is in two operations.
 */
export function pairUp(merges: readonly Merge[], splits: readonly Split[], margin: number): Pair[] {
  const cheapest = merges.toSorted((a, b) => a.cost - b.cost || a.from - b.from || a.into - b.into)
  const best = splits.toSorted((a, b) => b.gain - a.gain || a.cluster - b.cluster)
  const used = new Set<number>()
  const pairs: Pair[] = []
  const free = ({ from, into }: Merge): boolean => !used.has(from) && !used.has(into)
  let first = 0
  for (const split of best) {
    while (first < cheapest.length && !free(cheapest[first])) first++
    if (first === cheapest.length || !(split.gain - cheapest[first].cost > margin)) break
    if (used.has(split.cluster)) continue
    let at = first
    const fits = (merge: Merge): boolean => free(merge) && merge.from !== split.cluster && merge.into !== split.cluster
    while (at < cheapest.length && !fits(cheapest[at])) at++
    if (at === cheapest.length || !(split.gain - cheapest[at].cost > margin)) continue
    const merge = cheapest[at]
    for (const cluster of [merge.from, merge.into, split.cluster]) used.add(cluster)
    pairs.push({ merge, split })
  }
  return pairs
}

/** Labels after the pairs. `second`: whether a point belongs to the second half of its cluster. */
export function relabelled(
  labels: Uint32Array,
  pairs: readonly Pair[],
  second: (point: number) => boolean,
): { changed: Uint32Array; moved: number } {
  let largest = 0
  for (const label of labels) largest = Math.max(largest, label)
  // Where the points of a cluster go: all of them, or the second half.
  const merged = new Uint32Array(largest + 1).fill(NO_LABEL)
  const halved = new Uint32Array(largest + 1).fill(NO_LABEL)
  for (const { merge, split } of pairs) {
    if (merge.from <= largest) merged[merge.from] = merge.into
    if (split.cluster <= largest) halved[split.cluster] = merge.from
  }
  const changed = labels.slice()
  let moved = 0
  for (let point = 0; point < labels.length; point++) {
    const label = labels[point]
    const next = merged[label] !== NO_LABEL ? merged[label] : halved[label]
    if (next === NO_LABEL || (merged[label] === NO_LABEL && !second(point))) continue
    changed[point] = next
    moved++
  }
  return { changed, moved }
}

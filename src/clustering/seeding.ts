/**
 * Where the centres begin.
 *
 * - none: a random label for every point, so that centres are all near the mean (k-means#).
 * - random: different points, drawn evenly.
 * - kpp: k-means++ (Arthur and Vassilvitskii 2007): each next centre is drawn with a chance in
 *   proportion to the squared distance to the nearest one so far. k passes over the data.
 * - parallel: after k-means|| (Bahmani et al. 2012): many at once by the same rule, in a few passes.
 *   Small k: five times oversampled, then reduced to k by weighted k-means++ over the sample, as in
 *   the paper. Large k, where that reduction would cost more than it brings: drawn to about k
 *   straight away, then filled up or thinned out evenly.
 */

import { createRandom, type Random, sampleDistinct, shuffle } from '../core/random.ts'
import { flattenLabels } from '../trees/label-tree.ts'
import { DistanceSampler } from './distance-sampler.ts'
import { RowSet } from './distinct.ts'
import { chunks, intoFrame } from './frame.ts'
import { hierarchyStart } from './hierarchy-start.ts'
import { PointStore } from './points.ts'
import { changedState, type RunState, type StartName } from './run-state.ts'
import { treeStartLabels } from './tree-start.ts'

const PARALLEL_PASSES = 5
/** Up to here the oversampled candidates are reduced as in the paper. */
const LARGEST_REDUCED = 256
/** k-means++ reads the data k times; beyond this many numbers read, few passes over many centres win. */
const CHEAP_READS = 4e9

/** Centres in the points' frame, k x cols; or a label for every point. */
export type Start =
  | { readonly centers: Float32Array }
  | {
      /** NO_LABEL for points without weight that are to take the nearest centre. */
      readonly labels: Uint32Array
      /** The tree the labels are the leaves of: see label-tree.ts. */
      readonly tree?: Uint32Array
    }

export async function chooseStart(
  state: RunState,
  start: StartName,
  random: Random,
  weights: Float32Array | undefined,
  onProgress?: (share: number) => void,
): Promise<Start> {
  const { points, k } = state
  const cells = start === 'tree' ? await treeStartLabels(state, random.next()) : undefined
  if (cells) return { labels: cells }
  if (start === 'none') return { labels: randomLabels(points.rows, k, random, weights) }
  if (start === 'hkm' || start === 'bisecting') {
    const { labels, root } = await hierarchyStart(state, start, random, weights, onProgress)
    return { labels, tree: flattenLabels(root) }
  }
  const cheap = points.numbers * k <= CHEAP_READS
  const name = start === 'auto' || start === 'tree' ? (cheap ? 'kpp' : 'parallel') : start
  const indices =
    name === 'random'
      ? await randomStart(state, random, weights)
      : name === 'kpp'
        ? await plusPlusStart(state, random, weights, onProgress)
        : await parallelStart(state, random, weights, onProgress)
  return { centers: await points.gather(indices) }
}

/** A random label for every point, and a point for every label, one with weight where there are enough. */
function randomLabels(n: number, k: number, random: Random, weights: Float32Array | undefined): Uint32Array {
  const order = shuffledPoints(n, random, weights)
  const labels = new Uint32Array(n)
  order.forEach((point, i) => {
    labels[point] = i < k ? i : random.below(k)
  })
  return labels
}

/** All points in random order, those without weight last. */
function shuffledPoints(n: number, random: Random, weights: Float32Array | undefined): Uint32Array {
  const order = Uint32Array.from({ length: n }, (_, i) => i)
  shuffle(random, order)
  if (!weights?.includes(0)) return order
  const weighted = order.filter((i) => weights[i] > 0)
  const sorted = new Uint32Array(n)
  sorted.set(weighted)
  sorted.set(
    order.filter((i) => weights[i] === 0),
    weighted.length,
  )
  return sorted
}

/** Different points with weight, in random order. There are enough: the caller has checked. */
async function randomStart(state: RunState, random: Random, weights?: Float32Array): Promise<number[]> {
  const { points, k } = state
  const rows = new RowSet(points.frame)
  const chosen: number[] = []
  // Mostly the first k draws do; duplicates and weightless points make it look further.
  const order = sampleDistinct(random, points.rows, Math.min(points.rows, 2 * k + 100))
  const take = async (index: number): Promise<void> => {
    if (weights && weights[index] === 0) return
    if (await rows.addFrom(points.source, index)) chosen.push(index)
  }
  for (let i = 0; i < order.length && chosen.length < k; i++) await take(order[i])
  if (chosen.length < k) {
    const all = Uint32Array.from({ length: points.rows }, (_, i) => i)
    shuffle(random, all)
    for (let i = 0; i < all.length && chosen.length < k; i++) await take(all[i])
    // Only weightless points are left to tell apart.
    for (let i = 0; i < all.length && chosen.length < k; i++) {
      if (await rows.addFrom(points.source, all[i])) chosen.push(all[i])
    }
  }
  return chosen
}

async function plusPlusStart(
  state: RunState,
  random: Random,
  weights: Float32Array | undefined,
  onProgress?: (share: number) => void,
): Promise<number[]> {
  const { k } = state
  const sampler = new DistanceSampler(state, weights)
  try {
    const chosen = [drawByWeight(random, state.points.rows, weights)]
    while (chosen.length < k) {
      await sampler.add([chosen[chosen.length - 1]], chosen.length - 1)
      state.control.signal?.throwIfAborted()
      const next = await sampler.draw(random)
      if (next === undefined) break
      chosen.push(next)
      onProgress?.(chosen.length / k)
    }
    return chosen.length < k ? fillUp(state, chosen, random, weights) : chosen
  } finally {
    sampler.free()
  }
}

async function parallelStart(
  state: RunState,
  random: Random,
  weights: Float32Array | undefined,
  onProgress?: (share: number) => void,
): Promise<number[]> {
  const { points, k } = state
  const reduced = k <= LARGEST_REDUCED
  const perPass = ((reduced ? 5 : 1) * k) / PARALLEL_PASSES
  const sampler = new DistanceSampler(state, weights, Math.ceil(perPass * 2) + 64)
  try {
    const chosen = [drawByWeight(random, points.rows, weights)]
    let fresh = chosen.slice()
    for (let pass = 0; pass < PARALLEL_PASSES; pass++) {
      await sampler.add(fresh, chosen.length - fresh.length)
      state.control.signal?.throwIfAborted()
      fresh = await sampler.drawMany(random, perPass)
      chosen.push(...fresh)
      onProgress?.((pass + 1) / PARALLEL_PASSES)
    }
    if (chosen.length > k && reduced) {
      await sampler.add(fresh, chosen.length - fresh.length)
      return await reduce(state, chosen, random, weights)
    }
    if (chosen.length > k) return sampleOf(chosen, k, random)
    return fillUp(state, chosen, random, weights)
  } finally {
    sampler.free()
  }
}

/** k of the candidates by k-means++, each weighted with the points nearest to it. */
async function reduce(
  state: RunState,
  candidates: readonly number[],
  random: Random,
  given: Float32Array | undefined,
): Promise<number[]> {
  const { device, points } = state
  const labels = await points.readLabels()
  const weights = new Float32Array(candidates.length)
  labels.forEach((label, point) => {
    weights[label] += given ? given[point] : 1
  })
  const sample = await PointStore.open(device, await points.pick(candidates), {
    frame: { shift: undefined, scale: 1, unit: false, type: 'f32' },
    weights,
  })
  try {
    const chosen = await plusPlusStart(changedState(state, { points: sample }), random, weights)
    return chosen.map((index) => candidates[index])
  } finally {
    sample.free()
  }
}

function sampleOf(indices: readonly number[], count: number, random: Random): number[] {
  return Array.from(sampleDistinct(random, indices.length, count), (i) => indices[i])
}

/** Too few places of their own were drawn (duplicates, tiny data): other different points fill up. */
async function fillUp(
  state: RunState,
  chosen: readonly number[],
  random: Random,
  weights: Float32Array | undefined,
): Promise<number[]> {
  const { points, k } = state
  const rows = new RowSet(points.frame)
  const result: number[] = []
  const order = [...chosen, ...shuffledPoints(points.rows, random, weights)]
  for (let i = 0; i < order.length && result.length < k; i++) {
    if (await rows.addFrom(points.source, order[i])) result.push(order[i])
  }
  return result
}

function drawByWeight(random: Random, rows: number, weights: Float32Array | undefined): number {
  if (weights === undefined) return random.below(rows)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let left = random.uniform() * total
  for (let i = 0; i < rows; i++) {
    left -= weights[i]
    if (left < 0 && weights[i] > 0) return i
  }
  return weights.findIndex((weight) => weight > 0)
}

/** k points in random order, or all of them as they come; equal ones too, but none without weight. */
export async function samplePoints({ points, k, weights }: RunState, random: Random): Promise<Float32Array> {
  if (weights?.includes(0)) {
    const weighted = Uint32Array.from({ length: points.rows }, (_, i) => i).filter((i) => weights[i] > 0)
    const chosen = k < weighted.length ? sampleDistinct(random, weighted.length, k).map((i) => weighted[i]) : weighted
    return points.gather(chosen)
  }
  if (k < points.rows) return points.gather(sampleDistinct(random, points.rows, k))
  const rows = new Float32Array(k * points.cols)
  for await (const { first, data } of chunks(points.source)) {
    rows.set(intoFrame(data, points.cols, points.frame), first * points.cols)
  }
  return rows
}

export function seedingRandom(seed: number, restart: number): Random {
  return createRandom(seed).fork(restart)
}

/**
 * Where the centres begin.
 *
 * - none: a random label for every point, so that centres are all near the mean (k-means#).
 * - random: different points, drawn evenly.
 * - kpp: greedy k-means++ over a sample of the points, or over all of them if there are few: see greedy-start.ts.
 * - parallel: after k-means|| (Bahmani et al. 2012): many points at once by the rule of k-means++, in a few passes. Five times
 *   as many as needed, then reduced to k by weighted greedy k-means++ over them, as in the paper. Where that reduction would
 *   cost more than it brings: drawn to about k straight away, then filled up or thinned out evenly.
 * - auto: kpp on as many points as the start may look at, parallel if those are too few. They are few where the run relocates
 *   clusters: that repairs what a start missed, and costs less than a start that misses nothing.
 */

import { type Random, sampleDistinct, shuffle } from '../core/random.ts'
import { plusPlusTrials } from '../kernels/plus-plus.ts'
import type { StartName } from '../models/method-names.ts'
import { flattenLabels } from '../trees/label-tree.ts'
import { RowSet } from '../vectors/distinct.ts'
import { intoFrame, wideChunks } from '../vectors/frame.ts'
import { DistanceSampler } from './distance-sampler.ts'
import { greedyChoice, greedyReads, greedyRows, greedySample } from './greedy-start.ts'
import { hierarchyStart } from './hierarchy-start.ts'
import type { RunState } from './run-state.ts'
import { drawByWeight } from './sample.ts'
import { treeStart } from './tree-start.ts'

const PARALLEL_PASSES = 5
/** Candidates for each centre. */
const OVERSAMPLING = 5
/** Numbers that are read in some tenths of a second: a start may always take that. */
const CHEAP_READS = 2e9
/** How much longer it takes to read a number in the start than in a round over every centre: measured on the CPU. */
const COST_OF_READ = 3
/** Rounds that runs to the default tolerance mostly take, and those of a run over separated groups. */
const USUAL_ROUNDS = 30
const SHORT_ROUNDS = 3
/** The start may take this share of the run. */
const START_SHARE = 1 / 5
/** Fewer rows for each centre than this, and k-means|| chooses better. */
const LEAST_ROWS_PER_CENTER = 5
/** A start may always look at so many rows: not much less time would be spent on fewer. */
const LEAST_ROWS = 128

/** Centres in the points' frame, k x cols; or a label for every point, which may be on the device already. */
export type Start =
  | { readonly centers: Float32Array }
  | { readonly labelled: true }
  | {
      /** NO_LABEL for points without weight that are to take the nearest centre. */
      readonly labels: Uint32Array
      /** The tree the labels are the leaves of: see label-tree.ts. */
      readonly tree?: Uint32Array
    }

export interface StartOptions {
  readonly start: StartName
  readonly random: Random
  readonly weights: Float32Array | undefined
  /** Most rounds of the run. */
  readonly iterations: number
  /** The run relocates clusters. */
  readonly relocate: boolean
  readonly onProgress?: ((share: number) => void) | undefined
}

export async function chooseStart(state: RunState, options: StartOptions): Promise<Start> {
  const { points, k } = state
  const { start, random, weights, onProgress } = options
  if (start === 'tree' && (await treeStart(state, random.next()))) return { labelled: true }
  if (start === 'random-labels') return { labels: randomLabels(points.rows, k, random, weights) }
  if (start === 'hkm' || start === 'bisecting') {
    const { labels, root } = await hierarchyStart(state, start, random, weights, onProgress)
    return { labels, tree: flattenLabels(root) }
  }
  return { centers: await points.gather(await chooseCenters(state, options)) }
}

async function chooseCenters(state: RunState, options: StartOptions): Promise<number[]> {
  if (options.start === 'random') return randomStart(state, options.random, options.weights)
  if (options.start === 'kpp-parallel') return parallelStart(state, options)
  if (options.start === 'kpp') return plusPlusStart(state, greedyRows(state), options)
  const rows = affordableRows(state, options)
  return rows === undefined ? parallelStart(state, options) : plusPlusStart(state, rows, options)
}

/**
 * Rows that greedy k-means++ may look at without taking more than its share of the run; undefined if they are too few. With
 * relocation that is the share of a short run: over separated groups a good start needs no more than a few rounds, and the
 * start would take longer than all of them.
 */
function affordableRows(state: RunState, { start, iterations, relocate }: StartOptions): number | undefined {
  const { points, k } = state
  const round = points.numbers * k
  // Methods that would start from a tree do not look at every centre: their rounds are short.
  const rounds = start === 'tree' ? 1 : Math.min(iterations, USUAL_ROUNDS) * START_SHARE
  const wanted = greedyRows(state)
  const costOfRow = (COST_OF_READ * greedyReads(state, wanted)) / wanted
  const most = Math.floor(Math.max(COST_OF_READ * CHEAP_READS, rounds * round) / costOfRow)
  const least = Math.min(points.rows, LEAST_ROWS_PER_CENTER * k)
  if (most < least) return undefined
  const short = Math.floor((SHORT_ROUNDS * START_SHARE * points.rows) / (COST_OF_READ * plusPlusTrials(k)))
  return Math.min(wanted, most, relocate ? Math.max(least, LEAST_ROWS, short) : wanted)
}

/** Some centres are given; the others are chosen by greedy k-means++. k x cols, in the points' frame. */
export async function completeCenters(
  state: RunState,
  given: Float32Array,
  options: Pick<StartOptions, 'random' | 'weights' | 'onProgress'>,
): Promise<Float32Array> {
  const { points, k } = state
  const chosen = await plusPlusStart(state, greedyRows(state), options, given)
  const centers = new Float32Array(k * points.cols)
  centers.set(given)
  centers.set(await points.gather(chosen), given.length)
  return centers
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

/** k points, less those that are given. */
async function plusPlusStart(
  state: RunState,
  rows: number,
  { random, weights, onProgress }: Pick<StartOptions, 'random' | 'weights' | 'onProgress'>,
  given?: Float32Array,
): Promise<number[]> {
  const { k, points, control } = state
  const wanted = k - (given ? given.length / points.cols : 0)
  const watched = { signal: control.signal, onProgress }
  const chosen = await greedySample(state, rows, weights, { k, given, random, control: watched })
  // Beside given centres, the nearest of which is found by scores, a point could be chosen that lies on one.
  return chosen.length < wanted || given ? fillUp(state, chosen, random, weights, given) : chosen
}

async function parallelStart(state: RunState, { random, weights, onProgress }: StartOptions): Promise<number[]> {
  const { points, k } = state
  const reduced = greedyReads(state, OVERSAMPLING * k) <= Math.max(CHEAP_READS, points.numbers * k)
  const perPass = ((reduced ? OVERSAMPLING : 1) * k) / PARALLEL_PASSES
  const sampler = new DistanceSampler(state, weights, Math.ceil(perPass * 2) + 64)
  try {
    const chosen = [drawByWeight(random, points.rows, weights)]
    let fresh = chosen.slice()
    for (let pass = 0; pass < PARALLEL_PASSES; pass++) {
      await sampler.add(fresh, chosen.length - fresh.length)
      state.control.signal?.throwIfAborted()
      fresh = await sampler.drawMany(random, perPass)
      for (const point of fresh) chosen.push(point)
      onProgress?.((pass + 1) / PARALLEL_PASSES)
    }
    if (chosen.length > k && reduced) {
      await sampler.add(fresh, chosen.length - fresh.length)
      const kept = await reduce(state, chosen, random, weights)
      return kept.length < k ? fillUp(state, kept, random, weights) : kept
    }
    if (chosen.length > k) return sampleOf(chosen, k, random)
    return fillUp(state, chosen, random, weights)
  } finally {
    sampler.free()
  }
}

/** k of the candidates by greedy k-means++, each weighted with the points nearest to it. */
async function reduce(
  state: RunState,
  candidates: readonly number[],
  random: Random,
  given: Float32Array | undefined,
): Promise<number[]> {
  const { device, points, k, control } = state
  const labels = await points.readLabels()
  const weights = new Float32Array(candidates.length)
  labels.forEach((label, point) => {
    weights[label] += given ? given[point] : 1
  })
  const frame = { shift: undefined, scale: 1, unit: false, type: 'f32' } as const
  const greedy = { k, random, control: { signal: control.signal } }
  const chosen = await greedyChoice(device, await points.pick(candidates), frame, weights, greedy)
  return chosen.map((index) => candidates[index])
}

function sampleOf(indices: readonly number[], count: number, random: Random): number[] {
  return Array.from(sampleDistinct(random, indices.length, count), (i) => indices[i])
}

/** Too few places of their own were chosen (duplicates, tiny data): other different points fill up. */
async function fillUp(
  state: RunState,
  chosen: readonly number[],
  random: Random,
  weights: Float32Array | undefined,
  given: Float32Array = new Float32Array(),
): Promise<number[]> {
  const { points, k } = state
  const { cols } = points
  const rows = new RowSet(points.frame)
  for (let at = 0; at < given.length; at += cols) rows.addCenter(given.subarray(at, at + cols), points.source)
  const wanted = k - given.length / cols
  const result: number[] = []
  const take = async (index: number): Promise<void> => {
    if (result.length < wanted && (await rows.addFrom(points.source, index))) result.push(index)
  }
  for (const index of chosen) await take(index)
  if (result.length === wanted) return result
  for (const index of shuffledPoints(points.rows, random, weights)) {
    await take(index)
    if (result.length === wanted) break
  }
  return result
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
  for await (const { first, data } of wideChunks(points.source)) {
    rows.set(intoFrame(data, points.cols, points.frame), first * points.cols)
  }
  return rows
}

/**
 * Figure 1: how near to a boundary the points are that change their cluster. A point that goes from
 * centre i to centre j has the ratio 1 - d(x, c_j) / d(x, c_i), d being the Euclidean distance to the
 * centres of that round; 0 is on the boundary. The paper finds over 90 % of them under 0.15.
 */
import { clusterSteps, type Matrix } from '../../src/index.ts'
import { writePlot } from '../curves.ts'
import { printTable } from '../table.ts'
import type { Setting } from './setting.ts'

const K = 2000
const BIN = 0.01
const BINS = 100
const EDGES = [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5]

export async function activeByRatio({ vectors, device, rounds, results }: Setting): Promise<void> {
  // A cluster refilled with a far point moves it for another reason: empty ones stay empty here.
  const steps = clusterSteps(vectors, {
    k: K,
    method: 'lloyd',
    // The first has nothing before it to change from.
    iterations: Math.max(2, rounds),
    tolerance: 0,
    seed: 1,
    empty: 'keep',
    device,
  })
  const found: { round: number; bins: Float64Array }[] = []
  let labels: Uint32Array | undefined
  let centers: Matrix | undefined
  for await (const step of steps) {
    const before = labels
    labels = await step.labels()
    if (before && centers) found.push({ round: step.iteration, bins: ratios(vectors, centers, before, labels) })
    centers = await step.centers()
  }
  const all = new Float64Array(BINS)
  for (const { bins } of found) for (let b = 0; b < BINS; b++) all[b] += bins[b]
  const last = found[found.length - 1]
  const columns = [
    { name: 'all rounds', bins: all },
    { name: `round ${found[0].round}`, bins: found[0].bins },
    { name: `round ${last.round}`, bins: last.bins },
  ]
  printTable(
    `Share of active points by distance ratio, exact k-means, k = ${K.toLocaleString('en')}`,
    EDGES.map((edge) => ({
      'ratio under': edge,
      ...Object.fromEntries(columns.map(({ name, bins }) => [name, `${(100 * shareUnder(bins, edge)).toFixed(1)} %`])),
    })),
  )
  console.log(
    `active points: ${columns.map(({ name, bins }) => `${name} ${sum(bins).toLocaleString('en')}`).join(', ')}`,
  )
  const series = columns.map(({ name, bins }) => {
    const total = sum(bins)
    // Where the bin ends, so that a point of the line says what lies under it.
    const points = Array.from(bins.subarray(0, 50), (count, b): [number, number] => [(b + 1) * BIN, count / total])
    return { name, points }
  })
  writePlot('closures-active', series, {
    title: `k = ${K.toLocaleString('en')}`,
    x: 'distance ratio, in bins of 0.01',
    y: 'share of active points',
  })
  results.active = { k: K, bin: BIN, underFifteen: shareUnder(all, 0.15), series }
}

const sum = (bins: Float64Array): number => bins.reduce((total, count) => total + count, 0)

const shareUnder = (bins: Float64Array, edge: number): number =>
  sum(bins.subarray(0, Math.round(edge / BIN))) / sum(bins)

function ratios(vectors: Matrix, centers: Matrix, before: Uint32Array, after: Uint32Array): Float64Array {
  const bins = new Float64Array(BINS)
  for (let i = 0; i < after.length; i++) {
    if (before[i] === after[i]) continue
    const ratio = 1 - Math.sqrt(squared(vectors, i, centers, after[i]) / squared(vectors, i, centers, before[i]))
    // Rounding can put a point that is on the boundary a hair beyond it.
    bins[Math.min(BINS - 1, Math.max(0, Math.floor(ratio / BIN)))]++
  }
  return bins
}

function squared(vectors: Matrix, row: number, centers: Matrix, label: number): number {
  const { cols } = vectors
  let total = 0
  for (let j = 0; j < cols; j++) total += (vectors.data[row * cols + j] - centers.data[label * cols + j]) ** 2
  return total
}

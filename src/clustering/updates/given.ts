/**
 * Centres go where a function of the caller puts them, from the means of the clusters. Sums are taken on the device as for
 * means; k x d numbers meet the host in every round.
 */
import { readRows } from '../../kernels/rows.ts'
import type { OwnMethod } from '../own-method.ts'
import { type RunState, readCenters, type Update, type UpdateResult, writeCenters } from '../run-state.ts'
import { narrowed, widened } from '../wide-centers.ts'
import { type ClusterSums, clusterSums } from './sums.ts'

type Move = NonNullable<OwnMethod['update']>

export function givenUpdate(state: RunState, move: Move): Update {
  const sums = clusterSums(state)
  let iteration = 0
  return {
    async begin(_state, _source, round) {
      iteration = round
    },
    reset: () => sums.reset(),
    addPart: (_state, part, vectors) => sums.take(part, vectors),
    partial: () => sums.partial(),
    absorb: (_state, merged) => sums.absorb(merged),
    finish: () => finish(state, sums, move, iteration),
  }
}

async function finish(state: RunState, sums: ClusterSums, move: Move, iteration: number): Promise<UpdateResult> {
  const { k, points } = state
  const { cols } = points
  const [before, { means, weights }] = await Promise.all([readCenters(state), meansOf(state, sums)])
  let empty = 0
  for (let cluster = 0; cluster < k; cluster++) {
    if (weights[cluster] > 0) continue
    empty++
    for (let j = 0; j < cols; j++) means[cluster * cols + j] = before[cluster * cols + j]
  }
  const told = weights.map((weight) => weight / state.weightScale)
  const request = { iteration, centers: widened(state, before), means: widened(state, means), weights: told }
  const after = narrowed(state, await move(request), 'the result of update')
  writeCenters(state, after)
  return { gain: gainOf(weights, means, before, after, cols), empty }
}

/** By how much the sum of squares falls: w (|c - mean|^2 - |c' - mean|^2) for each cluster. */
function gainOf(
  weights: Float32Array,
  means: Float64Array,
  before: Float32Array,
  after: Float32Array,
  cols: number,
): number {
  let gain = 0
  weights.forEach((weight, cluster) => {
    if (weight === 0) return
    let fall = 0
    for (let i = cluster * cols; i < (cluster + 1) * cols; i++) {
      fall += (before[i] - means[i]) ** 2 - (after[i] - means[i]) ** 2
    }
    gain += weight * fall
  })
  return gain
}

async function meansOf(
  { device, points, k }: RunState,
  sums: ClusterSums,
): Promise<{ means: Float64Array; weights: Float32Array }> {
  await sums.settle()
  const { buffers } = sums
  const { cols, stride } = points
  const rows = { buffer: buffers.sums, rows: k, cols, stride, type: 'f32' } as const
  const [added, totals] = await Promise.all([readRows(device, rows), device.read(buffers.totals)])
  const weights = new Float32Array(totals, 0, k).slice()
  const means = Float64Array.from(added, (sum, i) => sum / weights[Math.floor(i / cols)])
  return { means, weights }
}

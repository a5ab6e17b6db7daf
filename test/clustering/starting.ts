/** What tests of starts share: a state to start from, and how good the centres are. */
import { createRunState, type RunState } from '../../src/clustering/run-state.ts'
import { chooseStart } from '../../src/clustering/seeding.ts'
import { Team } from '../../src/clustering/team.ts'
import type { VectorInput } from '../../src/core/matrix.ts'
import { toSource } from '../../src/core/matrix.ts'
import { stream } from '../../src/core/streams.ts'
import type { Device, Matrix } from '../../src/index.ts'
import type { StartName } from '../../src/models/method-names.ts'
import { inspectVectors, largestInFrame } from '../../src/vectors/frame.ts'
import { PointStore } from '../../src/vectors/points.ts'

/** Lends the state a run has before its first round. */
export async function withState<T>(
  device: Device,
  vectors: VectorInput,
  k: number,
  weights: Float32Array | undefined,
  use: (state: RunState) => Promise<T>,
): Promise<T> {
  const source = toSource(vectors)
  const inspected = await inspectVectors(source, 'euclidean')
  const { frame } = inspected
  const points = await PointStore.open(device, source, { frame, weights })
  const totalWeight = weights ? weights.reduce((sum, weight) => sum + weight, 0) : source.rows
  const control = { signal: undefined }
  const state = createRunState(new Team(), points, 0, k, {
    largest: largestInFrame(inspected, frame),
    seed: 0,
    settings: {},
    weights,
    totalWeight,
    weightScale: 1,
    evidence: totalWeight,
    control,
  })
  try {
    return await use(state)
  } finally {
    state.scope.free()
    points.free()
  }
}

export function startCenters(
  device: Device,
  vectors: VectorInput,
  k: number,
  options: { start?: StartName; seed?: number; weights?: Float32Array; iterations?: number; relocate?: boolean } = {},
): Promise<Float32Array> {
  const { start = 'kpp', seed = 0, weights, iterations = 100, relocate = false } = options
  return withState(device, vectors, k, weights, async (state) => {
    const random = stream(seed, 'seeding', 0)
    const chosen = await chooseStart(state, { start, random, weights, iterations, relocate })
    if (!('centers' in chosen)) throw new Error('this start has labels')
    return chosen.centers
  })
}

/** Sum of squared distances to the nearest centre. */
export function potential({ data, rows, cols }: Matrix, centers: ArrayLike<number>, weights?: Float32Array): number {
  let sum = 0
  for (let i = 0; i < rows; i++) {
    let nearest = Number.POSITIVE_INFINITY
    for (let c = 0; c < centers.length; c += cols) {
      let squared = 0
      for (let j = 0; j < cols; j++) squared += (data[i * cols + j] - centers[c + j]) ** 2
      nearest = Math.min(nearest, squared)
    }
    sum += nearest * (weights?.[i] ?? 1)
  }
  return sum
}

/**
 * Clusters of a stream: every new vector moves the centre it is nearest to, by one part in the number of vectors that the
 * cluster has then, so that a centre is the mean of all vectors it was given (MacQueen's k-means; what scikit-learn calls
 * partial_fit). Vectors that came before keep their labels.
 */
import { badOption } from '../core/errors.ts'
import { type Matrix, matrix, type VectorSource } from '../core/matrix.ts'
import { intoFrame, outOfFrame, wideChunks } from '../vectors/frame.ts'
import type { ModelFacts } from './facts.ts'
import type { ClusterModel } from './model.ts'
import type { Prediction } from './prediction.ts'

export function requireUpdatable({ sigmas, facts }: ClusterModel): void {
  if (sigmas === undefined) return
  throw badOption(
    'method',
    facts.method,
    'mixtures cannot be updated; cluster with another method, or run it again on all vectors.',
  )
}

export interface UpdatedParts {
  readonly centers: Matrix<Float32Array>
  readonly labels: Uint32Array
  readonly facts: ModelFacts
  /** In the frame of the model. */
  readonly inner: Float32Array
}

/** The model with the vectors of `source`, which were assigned to its clusters. */
export async function updatedParts(
  model: ClusterModel,
  source: VectorSource,
  { labels, distances }: Prediction,
  seconds: number,
): Promise<UpdatedParts> {
  const { state, sizes, facts } = model
  const { rows: k, cols } = model.centers
  const frame = { ...state.frame, type: 'f32' as const }
  const sums = Float64Array.from(state.centers, (value, i) => value * sizes[Math.floor(i / cols)])
  const counts = Float64Array.from(sizes)
  for await (const { first, data } of wideChunks(source)) {
    const inner = intoFrame(data, cols, frame)
    for (let row = 0; row * cols < inner.length; row++) {
      const label = labels[first + row]
      counts[label]++
      for (let j = 0; j < cols; j++) sums[label * cols + j] += inner[row * cols + j]
    }
  }
  const centers = Float32Array.from(sums, (sum, i) => {
    const count = counts[Math.floor(i / cols)]
    return count > 0 ? sum / count : state.centers[i]
  })
  if (frame.unit) centers.set(intoFrame(centers, cols, frame))
  const outside = matrix(outOfFrame(centers, cols, frame), k, cols)
  const all = new Uint32Array(model.labels.length + labels.length)
  all.set(model.labels)
  all.set(labels, model.labels.length)
  const last = facts.iterations[facts.iterations.length - 1]
  const squares = distances.reduce((sum, distance) => sum + distance, 0)
  const { certainty: _, sample: __, weight, ...kept } = facts
  const before = weight ?? facts.rows
  const round = {
    iteration: (last?.iteration ?? 0) + 1,
    distortion: (model.distortion * before + squares) / (before + labels.length),
    moved: labels.length,
    candidates: k,
    seconds: (last?.seconds ?? 0) + seconds,
    restart: last?.restart ?? 0,
  }
  const { shards: ___, ...options } = facts.options
  return {
    centers: outside,
    labels: all,
    facts: {
      ...kept,
      rows: all.length,
      options,
      ...(weight === undefined ? {} : { weight: weight + labels.length }),
      iterations: [...facts.iterations, round],
    } as ModelFacts,
    inner: centers,
  }
}

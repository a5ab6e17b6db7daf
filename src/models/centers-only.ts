/** Centres that came from elsewhere, as a model. */
import type { Matrix } from '../core/matrix.ts'
import { ClusterModel } from './model.ts'

/** A model whose vectors are its centres: there is nothing else to tell of them. */
export function modelOfCenters(
  centers: Matrix<Float32Array>,
  metric: 'euclidean' | 'cosine' | 'inner-product',
): ClusterModel {
  const { rows: k, cols } = centers
  const measured = metric === 'cosine' ? 'cosine' : 'euclidean'
  const round = { iteration: 1, distortion: 0, moved: 0, candidates: k, seconds: 0, restart: 0 }
  return new ClusterModel(
    centers,
    Uint32Array.from({ length: k }, (_, i) => i),
    {
      method: 'lloyd',
      metric: measured,
      k,
      rows: k,
      cols,
      seed: 0,
      options: {
        ...{ k, method: 'lloyd', seed: 0, iterations: 1, tolerance: 0, restarts: 1, start: 'given', metric: measured },
        ...{ empty: 'keep', relocate: false, weighted: false, settings: {} },
      },
      device: { kind: 'cpu', name: 'elsewhere', reason: 'the centres were given' },
      stopped: 'iterations',
      iterations: [round],
    },
    { centers: centers.data, frame: { shift: undefined, scale: 1, unit: metric === 'cosine', type: 'f32' } },
  )
}

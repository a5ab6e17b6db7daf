/** New points to the nearest of a model's centres. */
import { matrix, type VectorSource } from '../core/matrix.ts'
import type { Device } from '../device/contract.ts'
import { chooseFrame, type Frame, isIdentity } from './frame.ts'
import type { ClusterModel, Prediction, PredictOptions } from './model.ts'
import { nearestInFrame } from './nearest.ts'

export async function predictNearest(
  device: Device,
  source: VectorSource,
  model: ClusterModel,
  { signal, onProgress }: PredictOptions,
): Promise<Prediction> {
  // Looks at the new vectors too, for NaN and zeros; the frame stays that of the centres.
  const own = await chooseFrame(source, model.facts.metric)
  const { frame, centers } = model.state
  const raw = isIdentity(frame) && !frame.unit
  const fitting: Frame = { ...frame, type: raw ? own.type : 'f32' }
  const rows = matrix(centers, model.centers.rows, model.centers.cols)
  return nearestInFrame(device, source, rows, fitting, 1, { signal, onProgress })
}

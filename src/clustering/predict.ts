/** New points to the nearest of finished centres. */
import type { VectorSource } from '../core/matrix.ts'
import { BufferScope, type Device } from '../device/contract.ts'
import { assign, assignWorkspaceBytes } from '../kernels/assign.ts'
import { allocateRows, writeRows } from '../kernels/rows.ts'
import { chooseFrame, type Frame } from './frame.ts'
import type { ClusterModel, Prediction, PredictOptions } from './model.ts'
import { PointStore } from './points.ts'

export async function nearestCenters(
  device: Device,
  source: VectorSource,
  model: ClusterModel,
  { signal, onProgress }: PredictOptions,
): Promise<Prediction> {
  // Looks at the new vectors too, for NaN and zeros; the frame stays that of the centres.
  const own = await chooseFrame(source, model.facts.metric)
  const frame: Frame = { ...model.state.frame, type: isBytes(model.state.frame) ? own.type : 'f32' }
  const points = await PointStore.open(device, source, { frame })
  const scope = new BufferScope(device)
  try {
    const centers = allocateRows(scope, model.centers.rows, model.centers.cols, 'f32', 'centres')
    writeRows(device, centers, model.state.centers)
    const workspace = scope.allocate(assignWorkspaceBytes(centers), 'prepared centres')
    for (const part of points.parts) {
      const vectors = await points.vectors(part)
      const report = onProgress && ((share: number) => onProgress((part.first + share * part.count) / points.rows))
      const { labels, distances } = part
      await assign(device, { points: vectors, centers, labels, distances, workspace }, { signal, onProgress: report })
      onProgress?.((part.first + part.count) / points.rows)
    }
    const unscale = 1 / (frame.scale * frame.scale)
    const distances = (await points.readDistances()).map((distance) => distance * unscale)
    return { labels: await points.readLabels(), distances }
  } finally {
    scope.free()
    points.free()
  }
}

/** Centres that were never moved or scaled take bytes and floats alike. */
function isBytes(frame: Frame): boolean {
  return frame.shift === undefined && frame.scale === 1 && !frame.unit
}

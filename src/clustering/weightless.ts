/** Points without weight: they move no centre, but they have a label like all others. */
import { assign } from '../kernels/assign.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import type { PointPart } from '../vectors/point-part.ts'
import { PointStore } from '../vectors/points.ts'
import type { RunState } from './run-state.ts'

/** Gives points without a label that of the nearest centre. */
export async function labelNearest(state: RunState): Promise<void> {
  const { points } = state
  for (const part of points.parts) {
    const labels = await points.labelsOf(part)
    if (labels.includes(NO_LABEL)) await labelRest(state, part, labels)
  }
}

async function labelRest(state: RunState, part: PointPart, labels: Uint32Array): Promise<void> {
  const { device, points, centers, assignWorkspace: workspace, control } = state
  const missing = Uint32Array.from(labels, (_, i) => i).filter((i) => labels[i] === NO_LABEL)
  const indices = missing.map((i) => part.first + i)
  const picked = await PointStore.open(device, await points.pick(indices), {
    frame: { shift: undefined, scale: 1, unit: false, type: 'f32' },
  })
  try {
    for (const piece of picked.parts) {
      const vectors = await picked.vectors(piece)
      const { labels: own, distances } = piece
      await assign(device, { points: vectors, centers, labels: own, distances, workspace }, { signal: control.signal })
    }
    const found = await picked.readLabels()
    missing.forEach((point, i) => {
      labels[point] = found[i]
    })
    await points.writeLabelsOf(part, labels)
  } finally {
    picked.free()
  }
}

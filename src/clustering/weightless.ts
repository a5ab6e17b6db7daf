/** Points without weight: they move no centre, but they have a label like all others. */
import { assign } from '../kernels/assign.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import { PointStore } from '../vectors/points.ts'
import type { RunState } from './run-state.ts'

/** Gives points without a label that of the nearest centre. `labels` are those of all points, and are changed. */
export async function labelNearest(state: RunState, labels: Uint32Array): Promise<void> {
  if (!labels.includes(NO_LABEL)) return
  const { device, points, centers, assignWorkspace: workspace, control } = state
  const indices = Uint32Array.from(labels, (_, i) => i).filter((i) => labels[i] === NO_LABEL)
  const picked = await PointStore.open(device, await points.pick(indices), {
    frame: { shift: undefined, scale: 1, unit: false, type: 'f32' },
  })
  try {
    for (const part of picked.parts) {
      const vectors = await picked.vectors(part)
      const { labels: own, distances } = part
      await assign(device, { points: vectors, centers, labels: own, distances, workspace }, { signal: control.signal })
    }
    const found = await picked.readLabels()
    indices.forEach((point, i) => {
      labels[point] = found[i]
    })
    await points.writeLabels(labels)
  } finally {
    picked.free()
  }
}

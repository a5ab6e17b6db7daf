/** Labels from a partition tree cut into exactly k cells of nearly equal size: the start of cluster closures. */
import { BufferScope } from '../device/contract.ts'
import { labelCells } from '../kernels/label-cells.ts'
import { growCells } from '../trees/partition-tree.ts'
import type { RunState } from './run-state.ts'

/**
 * Writes the labels, on the device. False, and nothing is done, where the points are in several domains: each would have
 * cells, and so clusters, of its own, and neighbours within a domain would never include the others.
 */
export async function treeStart(state: RunState, seed: number): Promise<boolean> {
  const { device, k } = state
  if (state.points.layout.domains.length > 1) return false
  const points = await state.points.onFirstDevice()
  const [part] = points.parts
  const scope = new BufferScope(device)
  try {
    const { members, offsets } = await growCells(device, scope, await points.sketch(part), k, seed)
    await labelCells(device, { count: part.count, members, offsets, cells: k, labels: part.labels })
    // Where several devices own the points, each gets the labels of its own.
    if (points !== state.points) await state.points.writeLabels(await points.readLabels())
    return true
  } finally {
    scope.free()
  }
}

/** Labels from a partition tree cut into exactly k cells of nearly equal size: the start of cluster closures. */
import { BufferScope } from '../device/contract.ts'
import { growCells } from '../trees/partition-tree.ts'
import type { RunState } from './run-state.ts'

/**
 * Undefined where the points are in several parts: each part would have cells, and so clusters, of
 * its own, and neighbours within a part would never hear of the others.
 */
export async function treeStartLabels(state: RunState, seed: number): Promise<Uint32Array | undefined> {
  const { device, points, k } = state
  if (points.parts.length > 1) return undefined
  const scope = new BufferScope(device)
  try {
    const tree = await growCells(device, scope, await points.sketch(points.parts[0]), k, seed)
    const members = new Uint32Array(await device.read(tree.members))
    const offsets = new Uint32Array(await device.read(tree.offsets))
    const labels = new Uint32Array(points.rows)
    for (let cell = 0; cell < k; cell++) {
      for (let at = offsets[cell]; at < offsets[cell + 1]; at++) labels[members[at]] = cell
    }
    return labels
  } finally {
    scope.free()
  }
}

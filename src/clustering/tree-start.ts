/** Labels from a partition tree cut into exactly k cells of nearly equal size: the start of cluster closures. */
import { BufferScope } from '../device/contract.ts'
import { growCells } from '../trees/partition-tree.ts'
import type { PointPart } from './points.ts'
import type { RunState } from './run-state.ts'

export async function treeStartLabels(state: RunState, seed: number): Promise<Uint32Array> {
  const { device, points, k } = state
  const labels = new Uint32Array(points.rows)
  const scope = new BufferScope(device)
  try {
    let first = 0
    for (const part of points.parts) {
      const cells = cellsOf(part, points.rows, k)
      if (cells === 0) {
        // More parts than clusters: this one joins the cluster before.
        labels.fill(Math.max(0, first - 1), part.first, part.first + part.count)
        continue
      }
      const tree = await growCells(device, scope, await points.vectors(part), cells, seed + part.first)
      const members = new Uint32Array(await device.read(tree.members))
      const offsets = new Uint32Array(await device.read(tree.offsets))
      for (let cell = 0; cell < cells; cell++) {
        for (let at = offsets[cell]; at < offsets[cell + 1]; at++) labels[part.first + members[at]] = first + cell
      }
      first += cells
    }
    return labels
  } finally {
    scope.free()
  }
}

/** A part's share of the cells, so that all shares add up to k and none exceeds its points. */
function cellsOf(part: PointPart, rows: number, k: number): number {
  return Math.floor(((part.first + part.count) * k) / rows) - Math.floor((part.first * k) / rows)
}

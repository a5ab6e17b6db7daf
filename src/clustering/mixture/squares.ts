/** How far points are from the components of their labels. */
import { BufferScope } from '../../device/contract.ts'
import { assignLists } from '../../kernels/assign-lists.ts'
import { tally } from '../../kernels/tally.ts'
import type { RunState } from '../run-state.ts'

/** Sum of weighted squared distances to the centres as they stand now. */
export async function squaresOf(state: RunState): Promise<number> {
  const { device, points, centers } = state
  const scope = new BufferScope(device)
  let squares = 0
  try {
    const own = scope.allocate(points.largestPart * 4, 'own components')
    for (const part of points.parts) {
      const { labels, distances, weights } = part
      const bytes = part.count * 4
      device.copy({ buffer: labels, offset: 0, bytes }, { buffer: own, offset: 0, bytes })
      const vectors = await points.vectors(part)
      await assignLists(device, { points: vectors, centers, lists: own, width: 1, labels, distances })
      const { sums, differences } = part
      const tallied = await tally(device, {
        count: part.count,
        values: distances,
        weights,
        left: labels,
        sums,
        differences,
      })
      squares += tallied.sum
    }
    return squares
  } finally {
    scope.free()
  }
}

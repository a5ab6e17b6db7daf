/** Centre = mean of its points (Lloyd); of unit vectors, the mean brought back to length one. */
import { accumulate, createAccumulateWorkspace } from '../../kernels/accumulate.ts'
import { means } from '../../kernels/means.ts'
import { tally, tallyWorkspaceBytes } from '../../kernels/tally.ts'
import type { RunState, Update } from '../run-state.ts'

export function meanUpdate(state: RunState): Update {
  const { device, scope, points, k } = state
  const { stride } = points
  const sums = scope.allocate(k * stride * 4, 'sums of clusters')
  const totals = scope.allocate(k * 4, 'weights of clusters')
  const counts = scope.allocate(k * 4, 'sizes of clusters')
  const gains = scope.allocate(k * 4, 'gains of clusters')
  const gainSums = scope.allocate(tallyWorkspaceBytes(k), 'sum of gains')
  const empties = scope.allocate(tallyWorkspaceBytes(k), 'empty clusters')
  const workspace = createAccumulateWorkspace(
    device,
    scope,
    points.largestPart,
    stride,
    k,
    points.source.sparse !== undefined,
  )
  return {
    async take(_state, part, vectors) {
      await accumulate(device, {
        points: vectors,
        labels: part.labels,
        weights: part.weights,
        k,
        sums,
        totals,
        counts,
        add: part.first > 0,
        workspace,
      })
    },
    async finish() {
      await means(device, { sums, totals, centers: state.centers, gains, unit: state.unit })
      const { sum, different } = await tally(device, {
        count: k,
        values: gains,
        left: counts,
        sums: gainSums,
        differences: empties,
      })
      return { gain: sum, empty: different, counts }
    },
  }
}

/** Centre = mean of its points (Lloyd); of unit vectors, the mean brought back to length one. */
import type { DeviceBuffer } from '../../device/contract.ts'
import { accumulate, createAccumulateWorkspace } from '../../kernels/accumulate.ts'
import { means } from '../../kernels/means.ts'
import type { DeviceRows } from '../../kernels/rows.ts'
import { tally, tallyWorkspaceBytes } from '../../kernels/tally.ts'
import type { PointPart } from '../points.ts'
import type { RunState, Update, UpdateResult } from '../run-state.ts'

export function meanUpdate(state: RunState): Update {
  const sums = clusterSums(state)
  return {
    take: (_state, part, vectors) => sums.take(part, vectors),
    finish: () => sums.finish(),
  }
}

export interface ClusterSums {
  readonly buffers: { readonly sums: DeviceBuffer; readonly totals: DeviceBuffer; readonly counts: DeviceBuffer }
  /** Adds a part of the points by their labels; the first part begins anew. */
  take(part: PointPart, vectors: DeviceRows): Promise<void>
  /** Centres become the means of what was taken. */
  finish(): Promise<UpdateResult>
}

/** Without `weighted` all points count alike. */
export function clusterSums(state: RunState, weighted = true): ClusterSums {
  const { device, scope, points, k } = state
  const { stride } = points
  const buffers = {
    sums: scope.allocate(k * stride * 4, 'sums of clusters'),
    totals: scope.allocate(k * 4, 'weights of clusters'),
    counts: scope.allocate(k * 4, 'sizes of clusters'),
  }
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
    buffers,
    take({ labels, weights: own, first }, vectors) {
      const weights = weighted ? own : undefined
      return accumulate(device, { points: vectors, labels, weights, k, ...buffers, add: first > 0, workspace })
    },
    async finish() {
      const { sums, totals, counts } = buffers
      await means(device, { sums, totals, centers: state.centers, gains, unit: state.unit })
      const { sum, different } = await tally(device, {
        count: k,
        values: gains,
        // No weight is a zero as no points are: a cluster whose points weigh nothing is empty.
        left: state.weights ? totals : counts,
        sums: gainSums,
        differences: empties,
      })
      return { gain: sum, empty: different }
    },
  }
}

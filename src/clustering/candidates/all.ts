/** Every point looks at every centre. Cost: 2 n k d operations a round. */
import { assign } from '../../kernels/assign.ts'
import type { CandidateSource } from '../run-state.ts'

export function allCandidates(): CandidateSource {
  return {
    async assign(state, part, vectors) {
      const { points, control } = state
      // A part is a share of the round; progress counts the parts before it.
      const onProgress =
        control.onProgress && ((share: number) => control.onProgress?.((part.first + share * part.count) / points.rows))
      await assign(
        state.device,
        {
          points: vectors,
          centers: state.centers,
          labels: part.labels,
          distances: part.distances,
          workspace: state.assignWorkspace,
        },
        { signal: control.signal, onProgress },
      )
      return state.k
    },
  }
}

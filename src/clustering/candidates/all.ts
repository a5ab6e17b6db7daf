/** Every point looks at every centre. Cost: 2 n k d operations a round. */
import { shuffle } from '../../core/random.ts'
import { stream } from '../../core/streams.ts'
import { assign } from '../../kernels/assign.ts'
import { type CandidateSource, reportShare } from '../run-state.ts'
import { allocateGroups, type GroupBuffers, writeGroups } from './groups.ts'

/** Points that share a pass over the centres, where points are taken in groups. */
const GROUP = 16

export function allCandidates(): CandidateSource {
  let buffers: GroupBuffers | undefined
  return {
    async assign(state, part, vectors) {
      const { control } = state
      const onProgress = (share: number): void => reportShare(state, part, share)
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
      return state.k * part.count
    },
    async groups(state, part, round) {
      const { count, index } = part.domain
      const order = Uint32Array.from({ length: count }, (_, i) => i)
      shuffle(stream(state.seed, 'groups', round, index), order)
      const size = Math.min(GROUP, state.settings.batch as number)
      buffers ??= allocateGroups(state)
      return [writeGroups(state, buffers, order, evenly(count, size), 'all')]
    },
  }
}

/** Where groups of `size` begin among n, and the end. */
function evenly(n: number, size: number): Uint32Array {
  return Uint32Array.from({ length: Math.ceil(n / size) + 1 }, (_, i) => Math.min(n, i * size))
}

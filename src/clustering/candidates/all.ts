/** Every point looks at every centre. Cost: 2 n k d operations a round. */
import { createRandom, shuffle } from '../../core/random.ts'
import { assign } from '../../kernels/assign.ts'
import type { CandidateSource } from '../run-state.ts'
import { allocateGroups, type GroupBuffers, writeGroups } from './groups.ts'

/** Points that share a pass over the centres, where points are taken in groups. */
const GROUP = 16
const STREAM = 0xa1100000

export function allCandidates(): CandidateSource {
  let buffers: GroupBuffers | undefined
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
    async groups(state, part, round) {
      const order = Uint32Array.from({ length: part.count }, (_, i) => i)
      shuffle(createRandom(state.seed).fork(STREAM + round), order)
      const size = Math.min(GROUP, state.settings.batch as number)
      buffers ??= allocateGroups(state)
      return [writeGroups(state, buffers, order, evenly(part.count, size), 'all')]
    },
  }
}

/** Where groups of `size` begin among n, and the end. */
function evenly(n: number, size: number): Uint32Array {
  return Uint32Array.from({ length: Math.ceil(n / size) + 1 }, (_, i) => Math.min(n, i * size))
}

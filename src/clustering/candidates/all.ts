/** Every point is compared with every centre. Cost: 2 n k d operations a round. */
import { shuffle } from '../../core/random.ts'
import { stream } from '../../core/streams.ts'
import type { DeviceBuffer } from '../../device/contract.ts'
import { type AssignArgs, assign } from '../../kernels/assign.ts'
import type { DeviceRows } from '../../kernels/rows.ts'
import type { PointPart } from '../../vectors/point-part.ts'
import { moveBatch } from '../move-batch.ts'
import { type CandidateSource, type RunState, reportShare } from '../run-state.ts'
import { allocateGroups, type GroupBuffers, writeGroups } from './groups.ts'

/** Points that share a pass over the centres, where points are taken in groups. */
const GROUP = 16

export function allCandidates(): CandidateSource {
  let buffers: GroupBuffers | undefined
  const argsOf = (state: RunState, part: PointPart, vectors: DeviceRows, workspace: DeviceBuffer): AssignArgs => ({
    points: vectors,
    centers: state.centers,
    labels: part.labels,
    distances: part.distances,
    workspace,
  })
  return {
    async assign(state, part, vectors) {
      const { control } = state
      const onProgress = (share: number): void => reportShare(state, part, share)
      await assign(state.device, argsOf(state, part, vectors, state.assignWorkspace), {
        signal: control.signal,
        onProgress,
      })
      return state.k * part.count
    },
    rehearse(state, rehearsal, part, vectors) {
      return assign(rehearsal, argsOf(state, part, vectors, rehearsal.allocate(0, 'nothing')))
    },
    async groups(state, part, round) {
      const { count, index } = part.domain
      const order = Uint32Array.from({ length: count }, (_, i) => i)
      shuffle(stream(state.seed, 'groups', round, index), order)
      const size = Math.min(GROUP, moveBatch(state.settings.batch as number, state.points.rows))
      buffers ??= allocateGroups(state)
      return [writeGroups(state, buffers, order, evenly(count, size), 'all')]
    },
  }
}

/** Where groups of `size` begin among n, and the end. */
function evenly(n: number, size: number): Uint32Array {
  return Uint32Array.from({ length: Math.ceil(n / size) + 1 }, (_, i) => Math.min(n, i * size))
}

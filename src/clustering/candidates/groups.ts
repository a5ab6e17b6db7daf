/** Groups built on the host in each round; their memory is reused. */
import type { DeviceBuffer } from '../../device/contract.ts'
import type { Among, PointGroups } from '../../kernels/move-batch.ts'
import type { RunState } from '../run-state.ts'

export interface GroupBuffers {
  readonly members: DeviceBuffer
  readonly offsets: DeviceBuffer
}

/** Room for the groups of any domain. */
export function allocateGroups({ scope, points }: RunState): GroupBuffers {
  return {
    members: scope.allocate(points.largestDomain * 4, 'points by group'),
    offsets: scope.allocate((points.largestDomain + 1) * 4, 'groups'),
  }
}

export function writeGroups(
  { device }: RunState,
  buffers: GroupBuffers,
  members: Uint32Array,
  offsets: Uint32Array,
  among: Among,
): PointGroups {
  device.write(buffers.members, members)
  device.write(buffers.offsets, offsets)
  const groups = offsets.length - 1
  let largest = 1
  for (let group = 0; group < groups; group++) largest = Math.max(largest, offsets[group + 1] - offsets[group])
  return { ...buffers, groups, largest, among }
}

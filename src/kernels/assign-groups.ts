/**
 * assign-groups: the nearest among the centres of the point's group, so that many small k-means run at
 * once over the same points.
 *
 * groups: u32 [g][2], first centre and number of centres. places: u32 [n], the group of each point,
 * NO_LABEL for none. labels: u32 [n], the number of the nearest centre (ties: the lowest), NO_LABEL
 * where there is none. Cost: 3 n width d operations.
 */
import { assignGroupsShader } from '../../shaders/assign-groups.ts'
import { THREADS } from '../../shaders/pieces.ts'
import type { Device, DeviceBuffer, RunControl } from '../device/contract.ts'
import { gridFor } from '../device/plan.ts'
import { assignGroupsOfSparse } from './assign-groups-sparse.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType, rowArgs, rowsAt } from './rows.ts'

export interface AssignGroupsArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly groups: DeviceBuffer
  /** Centres of the largest group. */
  readonly width: number
  readonly places: DeviceBuffer
  readonly labels: DeviceBuffer
}

export function assignGroups(device: Device, args: AssignGroupsArgs, control?: RunControl): Promise<void> {
  const { points, centers, groups, width, places, labels } = args
  if (points.type === 'csr') return assignGroupsOfSparse(device, args, control)
  const work = Math.max(1, width) * points.stride
  return device.run(
    {
      name: 'assign-groups',
      *webgpu(gpu) {
        yield* rowPasses(gpu, {
          rows: points.rows,
          perRow: 3 * work,
          atLeast: THREADS,
          pass: (first, count) => ({
            shader: assignGroupsShader(denseType(points)),
            bindings: [points.buffer, centers.buffer, groups, places, labels],
            params: [first, count, points.stride / 4],
            groups: gridFor(count, THREADS, gpu.limits.workgroups),
          }),
        })
      },
      *cpu(memory) {
        yield {
          entry: 'assignGroups',
          items: points.rows,
          grain: Math.max(16, Math.round(5e5 / work)),
          args: [
            ...rowArgs(memory, points),
            rowsAt(memory, centers),
            memory.address(groups, groups.bytes),
            memory.address(places, points.rows * 4),
            memory.address(labels, points.rows * 4),
          ],
          scratchBytes: 16 + points.stride * 4,
        }
      },
    },
    control,
  )
}

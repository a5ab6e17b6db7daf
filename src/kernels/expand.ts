/**
 * expand: means and variances of the components of a spherical mixture from the sums of accumulate-soft,
 * means in place. found: f32 [k][2], total of shares and variance, never below `floor`.
 *
 * The variance is that of inner pairs and that of outer ones, weighed by w = (inner total / total) *
 * (1 - lambda) and 1 - w: with lambda 0 the ordinary one. Where there is one kind alone, it counts alone. A
 * component without shares keeps its mean. With `unit` means are brought to length one.
 */
import { expandShader } from '../../shaders/expand.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { type Device, type DeviceBuffer, f32, slice } from '../device/contract.ts'
import { cutForBinding, gridFor } from '../device/plan.ts'
import type { DeviceRows } from './rows.ts'

export interface ExpandArgs {
  readonly sums: DeviceBuffer
  readonly centers: DeviceRows
  readonly lambda: number
  readonly floor: number
  readonly unit?: boolean
  readonly found: DeviceBuffer
}

export function expand(device: Device, { sums, centers, lambda, floor, unit, found }: ExpandArgs): Promise<void> {
  const { rows, cols, stride } = centers
  return device.run({
    name: 'expand',
    *webgpu(gpu) {
      for (const { start, end } of cutForBinding(rows, stride * 12, gpu.limits, 'sums')) {
        const here = end - start
        yield {
          shader: expandShader,
          bindings: [
            slice(sums, start * stride * 12, here * stride * 12),
            slice(centers.buffer, start * stride * 4, here * stride * 4),
            found,
          ],
          params: [start, here, stride / 4, cols, unit ? 1 : 0, f32(lambda), f32(floor)],
          groups: gridFor(here, THREADS, gpu.limits.workgroups),
          operations: here * stride * 12,
        }
      }
    },
    *cpu(memory) {
      yield {
        entry: 'expandComponents',
        items: rows,
        grain: Math.max(1, Math.round(1e5 / stride)),
        args: [
          memory.address(sums),
          cols,
          stride,
          lambda,
          floor,
          unit ? 1 : 0,
          memory.address(centers.buffer),
          memory.address(found),
        ],
      }
    },
  })
}

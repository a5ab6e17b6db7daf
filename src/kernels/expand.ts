/**
 * expand: means and variances of the components of a spherical mixture from the sums of accumulate-soft,
 * means in place. found: f32 [k][3]: total of shares, that of inner ones, variance (never below `floor`).
 *
 * The variance is that of inner pairs and that of outer ones, weighed by w = (inner total / total) *
 * (1 - lambda) and 1 - w: with lambda 0 the ordinary one. Where there is one kind alone, it counts alone. A
 * component without shares keeps its mean. With `unit` means are brought to length one. Squares are about the
 * mean as it comes out, or `aroundOld` about the mean it was.
 */
import { expandShader } from '../../shaders/expand.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { type Device, type DeviceBuffer, f32, slice } from '../device/contract.ts'
import { cutForBinding, gridFor } from '../device/plan.ts'
import { type DeviceRows, rowsAt } from './rows.ts'

export interface ExpandArgs {
  readonly sums: DeviceBuffer
  readonly centers: DeviceRows
  readonly lambda: number
  readonly floor: number
  readonly unit?: boolean
  readonly aroundOld?: boolean
  readonly found: DeviceBuffer
}

export function expand(device: Device, args: ExpandArgs): Promise<void> {
  const { sums, centers, lambda, floor, found } = args
  const { rows, cols, stride } = centers
  const unit = args.unit ? 1 : 0
  const aroundOld = args.aroundOld ? 1 : 0
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
          params: [start, here, stride / 4, cols, unit, aroundOld, f32(lambda), f32(floor)],
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
          memory.address(sums, rows * stride * 12),
          cols,
          stride,
          lambda,
          floor,
          unit,
          aroundOld,
          rowsAt(memory, centers),
          memory.address(found, rows * 12),
        ],
      }
    },
  })
}

/**
 * expand: means and variances of the components of a spherical mixture from the sums of accumulate-soft,
 * means in place. found: f32 [k][3]: total of shares, that of inner ones, variance (never below `floor`).
 *
 * The variance is about the mean as it comes out. With a `lambda` it is about the mean as it was, and that of inner
 * pairs and that of outer ones are weighed by w = (inner total / total) * (1 - lambda) and 1 - w; where there is one
 * kind alone, it counts alone. A component without shares keeps its mean. With `unit` means are brought to length one.
 */
import { expandShader } from '../../shaders/expand.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { type Device, type DeviceBuffer, f32, slice } from '../device/contract.ts'
import { cutForBinding, gridFor } from '../device/plan.ts'
import { softSumsBytes } from './accumulate-soft.ts'
import { type DeviceRows, rowsAt } from './rows.ts'

export interface ExpandArgs {
  readonly sums: DeviceBuffer
  readonly centers: DeviceRows
  /** 0 to 1. Default: the ordinary variance. */
  readonly lambda?: number | undefined
  readonly floor: number
  readonly unit?: boolean
  readonly found: DeviceBuffer
}

export function expand(device: Device, args: ExpandArgs): Promise<void> {
  const { sums, centers, lambda = 0, floor, found } = args
  const { rows, cols, stride } = centers
  const unit = args.unit ? 1 : 0
  const aroundOld = args.lambda === undefined ? 0 : 1
  const rowBytes = softSumsBytes({ rows: 1, stride })
  return device.run({
    name: 'expand',
    *webgpu(gpu) {
      for (const { start, end } of cutForBinding(rows, rowBytes, gpu.limits, 'sums')) {
        const here = end - start
        yield {
          shader: expandShader,
          bindings: [
            slice(sums, start * rowBytes, here * rowBytes),
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
          memory.address(sums, rows * rowBytes),
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

/**
 * expand: means and variances of the components of a spherical mixture from the sums of accumulate-soft, means in place.
 * found: f32 [k][3]: total of shares, total of inner shares, variance (never below `floor`).
 *
 * The variance is about the new mean. With a `lambda` it is about the old mean, and the variances of inner and of outer pairs
 * are weighted by w = (inner total / total) * (1 - lambda) and 1 - w; if there are only inner or only outer pairs, these have
 * weight 1. A component without shares keeps its mean. With `unit` means are scaled to length 1.
 */
import { expandShader } from '../../shaders/expand.ts'
import { type Device, type DeviceBuffer, slice } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { cutForBinding } from '../device/plan.ts'
import { softSumsBytes } from './accumulate-soft.ts'
import { declareFunction } from './declared-function.ts'
import type { DeviceRows } from './rows.ts'

export const expandFunction = declareFunction('expandComponents', {
  args: {
    sums: reads('f32'),
    cols: 'u32',
    stride: 'u32',
    lambda: 'f64',
    floor: 'f64',
    unit: 'bool',
    aroundOld: 'bool',
    centers: writes('f32'),
    found: writes('f32'),
  },
})

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
  const { sums, centers, lambda = 0, floor, unit = false, found } = args
  const { rows, cols, stride } = centers
  const aroundOld = args.lambda !== undefined
  const rowBytes = softSumsBytes({ rows: 1, stride })
  return device.run({
    name: 'expand',
    *webgpu(gpu) {
      for (const { start, end } of cutForBinding(rows, rowBytes, gpu.limits, 'sums')) {
        const components = end - start
        yield expandShader.pass(
          gpu,
          {
            first: start,
            components,
            quads: stride / 4,
            cols,
            unit,
            aroundOld,
            lambda,
            floor,
            sums: slice(sums, start * rowBytes, components * rowBytes),
            centers: slice(centers.buffer, start * stride * 4, components * stride * 4),
            found: elements(found, rows * 3),
          },
          { items: components, operations: components * stride * 12 },
        )
      }
    },
    *cpu(memory) {
      yield expandFunction.job(
        memory,
        {
          sums: elements(sums, (rows * rowBytes) / 4),
          cols,
          stride,
          lambda,
          floor,
          unit,
          aroundOld,
          centers: elements(centers.buffer, rows * stride),
          found: elements(found, rows * 3),
        },
        { items: rows, grain: Math.max(1, Math.round(1e5 / stride)) },
      )
    },
  })
}

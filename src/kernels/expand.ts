/**
 * expand: means and variances of the components of a spherical mixture from the sums of accumulate-soft, means in place.
 * found: f32 [k][3]: total of shares, total of inner shares, variance (never below `floor`).
 *
 * The variance is about the new mean. With a `lambda` it is about the old mean, and the variances of inner and of outer pairs
 * are weighted by w = (inner total / total) * (1 - lambda) and 1 - w; if there are only inner or only outer pairs, these have
 * weight 1. A component without shares keeps its mean. With `unit` means are scaled to length 1.
 */
import { expandBody } from '../../shaders/expand.ts'
import { type Device, type DeviceBuffer, slice } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { cutForBinding } from '../device/plan.ts'
import { softSumsBytes } from './accumulate-soft.ts'
import { declareKernel } from './declared-kernel.ts'
import { WRITTEN_ROWS } from './kernel-fields.ts'
import { type DeviceRows, rowsPart } from './rows.ts'

export const expandKernel = declareKernel('expand', {
  args: {
    /** [components][quads + 1] */
    sums: reads('vec4f'),
    cols: 'u32',
    stride: 'stride',
    lambda: 'f64',
    floor: 'f64',
    unit: 'bool',
    aroundOld: 'bool',
    centers: WRITTEN_ROWS,
    /** [components][3] */
    found: writes('f32'),
  },
  items: ({ centers }) => centers.rows,
  gpu: {
    /** Sums and centres are those of a pass, `found` is that of all components. */
    args: { first: 'u32', components: 'u32' },
    body: expandBody,
    operations: ({ components, stride }) => components * stride * 12,
  },
  cpu: { entry: 'expandComponents', grain: ({ stride }) => Math.max(1, Math.round(1e5 / stride)) },
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
  const rowBytes = softSumsBytes({ rows: 1, stride })
  const shared = {
    cols,
    stride,
    lambda,
    floor,
    unit,
    aroundOld: args.lambda !== undefined,
    found: elements(found, rows * 3),
  }
  return device.run({
    name: 'expand',
    *webgpu(gpu) {
      for (const { start, end } of cutForBinding(rows, rowBytes, gpu.limits, 'sums')) {
        const components = end - start
        const part = {
          sums: slice(sums, start * rowBytes, components * rowBytes),
          centers: rowsPart(centers, start, end),
        }
        yield expandKernel.pass(gpu, { ...shared, ...part, first: start, components })
      }
    },
    *cpu(memory) {
      yield expandKernel.job(memory, { ...shared, sums: elements(sums, (rows * rowBytes) / 16), centers })
    },
  })
}

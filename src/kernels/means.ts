/**
 * means: centres from sums and weights, in place. gains: f32 [k], the decrease of the squared distances of a cluster's points
 * when its centre moves. With `unit` centres are scaled to length 1. A cluster without weight keeps its centre.
 */
import { meansShader } from '../../shaders/means.ts'
import { type Device, type DeviceBuffer, slice } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { cutForBinding } from '../device/plan.ts'
import { declareFunction } from './declared-function.ts'
import type { DeviceRows } from './rows.ts'

export const meansFunction = declareFunction('meansFromSums', {
  args: {
    sums: reads('f32'),
    totals: reads('f32'),
    stride: 'u32',
    unit: 'bool',
    centers: writes('f32'),
    gains: writes('f32'),
  },
})

export interface MeansArgs {
  readonly sums: DeviceBuffer
  readonly totals: DeviceBuffer
  readonly centers: DeviceRows
  readonly gains: DeviceBuffer
  readonly unit?: boolean
}

export function means(device: Device, { sums, totals, centers, gains, unit = false }: MeansArgs): Promise<void> {
  const { rows, stride } = centers
  const rowBytes = stride * 4
  return device.run({
    name: 'means',
    *webgpu(gpu) {
      for (const { start, end } of cutForBinding(rows, rowBytes, gpu.limits, 'centres')) {
        const clusters = end - start
        yield meansShader.pass(
          gpu,
          {
            firstCluster: start,
            clusters,
            quads: stride / 4,
            unit,
            sums: slice(sums, start * rowBytes, clusters * rowBytes),
            totals: elements(totals, rows),
            centers: slice(centers.buffer, start * rowBytes, clusters * rowBytes),
            gains: elements(gains, rows),
          },
          { items: clusters, operations: clusters * stride * 8 },
        )
      }
    },
    *cpu(memory) {
      yield meansFunction.job(
        memory,
        {
          sums: elements(sums, rows * stride),
          totals: elements(totals, rows),
          stride,
          unit,
          centers: elements(centers.buffer, rows * stride),
          gains: elements(gains, rows),
        },
        { items: rows, grain: Math.max(1, Math.round(2e5 / stride)) },
      )
    },
  })
}

/**
 * means: centres from sums and weights, in place; gains: f32 [k], by how much the squared distances of
 * a cluster's points fall when its centre moves. With `unit` centres are brought to length one.
 * A cluster without weight keeps its centre.
 */
import { meansShader } from '../../shaders/means.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { type Device, type DeviceBuffer, slice } from '../device/contract.ts'
import { cutForBinding, gridFor } from '../device/plan.ts'
import { type DeviceRows, rowsAt } from './rows.ts'

export interface MeansArgs {
  readonly sums: DeviceBuffer
  readonly totals: DeviceBuffer
  readonly centers: DeviceRows
  readonly gains: DeviceBuffer
  readonly unit?: boolean
}

export function means(device: Device, { sums, totals, centers, gains, unit }: MeansArgs): Promise<void> {
  const rowBytes = centers.stride * 4
  return device.run({
    name: 'means',
    *webgpu(gpu) {
      for (const { start, end } of cutForBinding(centers.rows, rowBytes, gpu.limits, 'centres')) {
        const bytes = (end - start) * rowBytes
        yield {
          shader: meansShader,
          bindings: [
            slice(sums, start * rowBytes, bytes),
            totals,
            slice(centers.buffer, start * rowBytes, bytes),
            gains,
          ],
          params: [start, end - start, centers.stride / 4, unit ? 1 : 0],
          groups: gridFor(end - start, THREADS, gpu.limits.workgroups),
          operations: (end - start) * centers.stride * 8,
        }
      }
    },
    *cpu(memory) {
      yield {
        entry: 'meansFromSums',
        items: centers.rows,
        grain: Math.max(1, Math.round(2e5 / centers.stride)),
        args: [
          memory.address(sums, centers.rows * rowBytes),
          memory.address(totals, centers.rows * 4),
          centers.stride,
          unit ? 1 : 0,
          rowsAt(memory, centers),
          memory.address(gains, centers.rows * 4),
        ],
      }
    },
  })
}

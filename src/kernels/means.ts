/**
 * means: centres from sums and weights, in place. gains: f32 [k], the decrease of the squared distances of a cluster's points
 * when its centre moves. With `unit` centres are scaled to length 1. A cluster without weight keeps its centre.
 */
import { meansBody } from '../../shaders/means.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { cutForBinding } from '../device/plan.ts'
import { declareKernel } from './declared-kernel.ts'
import { READ_ROWS, WRITTEN_ROWS } from './kernel-fields.ts'
import { type DeviceRows, rowsPart } from './rows.ts'

export const meansKernel = declareKernel('means', {
  args: {
    sums: READ_ROWS,
    totals: reads('f32'),
    stride: 'stride',
    unit: 'bool',
    centers: WRITTEN_ROWS,
    gains: writes('f32'),
  },
  items: ({ centers }) => centers.rows,
  gpu: {
    /** Sums and centres are those of a pass, totals and gains those of all clusters. */
    args: { firstCluster: 'u32', clusters: 'u32' },
    body: meansBody,
    operations: ({ clusters, stride }) => clusters * stride * 8,
  },
  cpu: { entry: 'meansFromSums', grain: ({ stride }) => Math.max(1, Math.round(2e5 / stride)) },
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
  const shared = { totals: elements(totals, rows), stride, unit, gains: elements(gains, rows) }
  const all = { sums: { buffer: sums, rows, stride }, centers }
  return device.run({
    name: 'means',
    *webgpu(gpu) {
      for (const { start, end } of cutForBinding(rows, stride * 4, gpu.limits, 'centres')) {
        const part = { sums: rowsPart(all.sums, start, end), centers: rowsPart(centers, start, end) }
        yield meansKernel.pass(gpu, { ...shared, ...part, firstCluster: start, clusters: end - start })
      }
    },
    *cpu(memory) {
      yield meansKernel.job(memory, { ...shared, ...all })
    },
  })
}

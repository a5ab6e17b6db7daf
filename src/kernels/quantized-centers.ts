/** Centres as 16-bit integers on the CPU device: where things stand in the buffer that holds them (wasm/quantized-rows.ts). */
import { type BufferPart, type CpuJob, type CpuMemory, type DeviceBuffer, slice } from '../device/contract.ts'
import { type BufferField, type Element, elements, mayRead, reads, writes } from '../device/fields.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { READ_ROWS } from './kernel-fields.ts'
import type { DeviceRows } from './rows.ts'

/** Scaled vectors are at most this long, so that no product of two leaves 32 bits: see wasm/quantized.ts. */
export const QUANTIZED_LENGTH = 30000

export const quantizedConstants = new SharedConstants({ QUANTIZED_LENGTH: { type: 'f32', value: QUANTIZED_LENGTH } })

export const HEADER_BYTES = 64

export interface QuantizedLayout {
  readonly rows: number
  readonly starts: number
  /** What rounding took away of each centre, where that is measured. */
  readonly errors: number
  readonly bytes: number
}

/** Header, rows padded to 8 columns, starting values, errors. */
export function quantizedLayout({ rows, stride }: { readonly rows: number; readonly stride: number }): QuantizedLayout {
  const starts = HEADER_BYTES + rows * Math.ceil(stride / 8) * 16
  return { rows: HEADER_BYTES, starts, errors: starts + rows * 4, bytes: starts + rows * 8 }
}

/** Arguments of WebAssembly functions that read or write centres as integers. */
export function quantizedFields<O extends boolean>(
  access: (element: Element) => BufferField<O>,
  ofHeader: (element: Element) => BufferField<O>,
) {
  return {
    /** Scales of centres and points, worst error of a centre, longest centre. */
    header: ofHeader('f32'),
    quantized: access('i16'),
    /** -|c|^2 / 2 in the scale of the centres. */
    starts: access('f32'),
  }
}

/** Values of `quantizedFields`: parts of the buffer that `quantizedLayout` lays out. */
export function quantizedValues(buffer: DeviceBuffer, centers: { readonly rows: number; readonly stride: number }) {
  const { rows, starts } = quantizedLayout(centers)
  return {
    header: elements(slice(buffer, 0, HEADER_BYTES)),
    quantized: elements(slice(buffer, rows, starts - rows), (starts - rows) / 2),
    starts: elements(slice(buffer, starts, centers.rows * 4)),
  }
}

export const measureCentersKernel = declareKernel('measure-centers', {
  args: { centers: READ_ROWS, stride: 'stride', count: 'u32', header: writes('f32') },
  cpu: { entry: 'measureCenters', items: () => 1, grain: 1 },
})

export const quantizeCentersKernel = declareKernel('quantize-centers', {
  args: {
    centers: READ_ROWS,
    stride: 'stride',
    ...quantizedFields(writes, reads),
    errors: writes('f32'),
    /** Every centre once: the order in which they are written. */
    order: mayRead('u32'),
  },
  items: ({ centers }) => centers.rows,
  cpu: { entry: 'quantizeCenters', grain: ({ stride }) => Math.max(1, Math.round(1e5 / stride)) },
})

export const worstErrorKernel = declareKernel('worst-error', {
  args: { errors: reads('f32'), count: 'u32', header: writes('f32') },
  cpu: { entry: 'worstError', items: () => 1, grain: 1 },
})

/** Scale of the centres and length of the longest, in the first two floats of the header. */
export function measureCentersJob(memory: CpuMemory, centers: DeviceRows, header: BufferPart): CpuJob {
  const { rows, stride } = centers
  return measureCentersKernel.job(memory, { centers, stride, count: rows, header: elements(header) })
}

/** Everything that `quantizedLayout` lays out. With an `order`, u32 [k], the centres come in it. */
export function* quantizeCentersJobs(
  memory: CpuMemory,
  centers: DeviceRows,
  into: DeviceBuffer,
  order?: DeviceBuffer,
): Generator<CpuJob> {
  const { rows, stride } = centers
  const values = quantizedValues(into, centers)
  const errors = elements(slice(into, quantizedLayout(centers).errors, rows * 4))
  yield measureCentersJob(memory, centers, slice(into, 0, HEADER_BYTES))
  yield quantizeCentersKernel.job(memory, { centers, stride, ...values, errors, order: elements(order, rows) })
  yield worstErrorKernel.job(memory, { errors, count: rows, header: values.header })
}

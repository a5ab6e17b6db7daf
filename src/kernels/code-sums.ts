/**
 * code-sums: sums and counts of points by their codeword in each of m subspaces, without float atomics, so that results are
 * reproducible bit for bit.
 *
 * codes as `encode` writes them. sums: f32 [m][h][stride], whole rows of the points; counts: u32 [m][h]. Both are added to what
 * is there, for points in several parts: clear them first. Cost: n m d operations.
 */
import { codeSumsBody, codeSumsTotalBody } from '../../shaders/code-sums.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { rowsWithinOperations } from '../device/plan.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { codeBytes, codeStride } from './encode.ts'
import { compiled, DENSE_VECTORS } from './kernel-fields.ts'
import type { DeviceRows } from './rows.ts'

export interface CodeSumsArgs {
  readonly points: DeviceRows
  readonly codes: DeviceBuffer
  readonly m: number
  readonly codewords: number
  readonly sums: DeviceBuffer
  readonly counts: DeviceBuffer
}

/** Columns of a CPU item. */
const CODE_SUM_COLUMNS = 32
/** With more codewords a CPU item adds rows to the sums directly: each codeword has few rows then. */
const MOST_IN_PIECES = 512

export const codeSumsConstants = new SharedConstants({ CODE_SUM_COLUMNS: { type: 'u32', value: CODE_SUM_COLUMNS } })

export const codeSumsKernel = declareKernel('code-sums', {
  args: { n: 'u32', points: DENSE_VECTORS, codeStride: 'u32', m: 'u32', h: 'u32' },
  gpu: {
    args: {
      /** Codes of 32 bits. */
      wide: compiled(true, false),
      codes: reads('u32'),
      slabRows: 'u32',
      slabs: 'u32',
      /** Rows of each slab that earlier passes took, and that this one takes. */
      offset: 'u32',
      rows: 'u32',
      /** [slab][m][h][quads] */
      partials: writes('vec4f'),
      /** [slab][m][h] */
      partialCounts: writes('u32'),
    },
    body: codeSumsBody,
    grid: ({ slabs, m, points }) => (slabs * m * points.stride) / 4,
    operations: ({ slabs, m, points, rows }) => slabs * m * points.stride * rows,
    forms: [
      { points: 'f32', wide: false },
      { points: 'f32', wide: true },
      { points: 'u8', wide: false },
    ],
  },
  cpu: {
    entry: 'codeSums',
    args: { codes: reads('u8'), sums: writes('f32'), counts: writes('u32'), direct: 'bool' },
    scratch: {
      /** f32 [h][columns of an item]: sums of a piece of the rows. */
      table: ({ points, h, direct }) => (direct ? 0 : h * Math.min(CODE_SUM_COLUMNS, points.stride) * 4),
    },
    items: ({ points, m }) => m * Math.ceil(points.stride / CODE_SUM_COLUMNS),
    grain: 1,
  },
})

export const codeSumsTotalKernel = declareKernel('code-sums-total', {
  args: {
    slabs: 'u32',
    /** vec4f of all sums. */
    size: 'u32',
    /** All counts. */
    countSize: 'u32',
    partials: reads('vec4f'),
    partialCounts: reads('u32'),
    sums: writes('vec4f'),
    counts: writes('u32'),
  },
  items: ({ size }) => size,
  gpu: { body: codeSumsTotalBody, operations: ({ slabs, size }) => slabs * size * 4 },
})

/** Slabs of rows that a GPU sums in parallel; each needs a whole table. */
const MOST_SLABS = 16
const SLAB_ROWS = 1024

export async function codeSums(device: Device, args: CodeSumsArgs): Promise<void> {
  const { points, codes, m, codewords: h, sums, counts } = args
  const { rows: n, stride } = points
  const tableBytes = m * h * stride * 4
  const fitting = Math.max(1, Math.floor(device.info.limits.bindingBytes / tableBytes))
  const slabs = device.info.kind === 'cpu' ? 0 : Math.min(MOST_SLABS, fitting, Math.ceil(n / SLAB_ROWS))
  const slabRows = Math.ceil(n / slabs)
  const scope = new BufferScope(device)
  try {
    const partials = scope.allocate(slabs * tableBytes, 'sums of slabs')
    const partialCounts = scope.allocate(slabs * m * h * 4, 'counts of slabs')
    if (slabs > 0) {
      device.clear(partials)
      device.clear(partialCounts)
    }
    const shared = { n, points, codeStride: codeStride(m), m, h }
    await device.run({
      name: 'code-sums',
      *webgpu(gpu) {
        const perRow = slabs * m * stride
        const parts = { slabs, partials, partialCounts }
        for (let offset = 0; offset < slabRows; ) {
          const rows = Math.min(slabRows - offset, rowsWithinOperations(gpu.operationsPerPass, perRow, 64))
          yield codeSumsKernel.pass(gpu, { ...shared, ...parts, wide: h > 256, slabRows, offset, rows, codes })
          offset += rows
        }
        const size = (m * h * stride) / 4
        yield codeSumsTotalKernel.pass(gpu, {
          ...parts,
          size,
          countSize: m * h,
          sums: elements(sums, size),
          counts: elements(counts, m * h),
        })
      },
      *cpu(memory) {
        yield codeSumsKernel.job(memory, {
          ...shared,
          codes: elements(codes, codeBytes(n, m, h)),
          sums: elements(sums, tableBytes / 4),
          counts: elements(counts, m * h),
          direct: h > MOST_IN_PIECES,
        })
      },
    })
  } finally {
    scope.free()
  }
}

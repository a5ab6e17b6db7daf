/**
 * code-sums: sums and counts of points by their codeword in each of m subspaces, without float atomics, so that results are
 * reproducible bit for bit.
 *
 * codes as `encode` writes them. sums: f32 [m][h][stride], whole rows of the points; counts: u32 [m][h]. Both are added to what
 * is there, for points in several parts: clear them first. Cost: n m d operations.
 */
import { codeSumsShader, codeSumsTotal } from '../../shaders/code-sums.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { rowsWithinOperations } from '../device/plan.ts'
import { DENSE_VECTORS, declareFunction, SharedConstants } from './declared-function.ts'
import { codeBytes, codeStride } from './encode.ts'
import { type DeviceRows, denseType } from './rows.ts'

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

export const codeSumsFunction = declareFunction('codeSums', {
  args: {
    n: 'u32',
    points: DENSE_VECTORS,
    codes: reads('u8'),
    codeStride: 'u32',
    h: 'u32',
    sums: writes('f32'),
    counts: writes('u32'),
    direct: 'bool',
  },
  scratch: {
    /** f32 [h][columns of an item]: sums of a piece of the rows. */
    table: ({ points, h, direct }) => (direct ? 0 : h * Math.min(CODE_SUM_COLUMNS, points.stride) * 4),
  },
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
    await device.run({
      name: 'code-sums',
      *webgpu(gpu) {
        const quads = stride / 4
        const perRow = slabs * m * stride
        const shader = codeSumsShader(denseType(points), h > 256)
        const shared = { slabs, partials, partialCounts }
        for (let offset = 0; offset < slabRows; ) {
          const rows = Math.min(slabRows - offset, rowsWithinOperations(gpu.operationsPerPass, perRow, 64))
          yield shader.pass(
            gpu,
            { ...shared, n, slabRows, offset, rows, quads, m, h, codeStride: codeStride(m), x: points.buffer, codes },
            { items: slabs * m * quads, operations: rows * perRow },
          )
          offset += rows
        }
        const size = m * h * quads
        yield codeSumsTotal.pass(
          gpu,
          { ...shared, size, countSize: m * h, sums: elements(sums, size), counts: elements(counts, m * h) },
          { items: size, operations: slabs * size * 4 },
        )
      },
      *cpu(memory) {
        yield codeSumsFunction.job(
          memory,
          {
            n,
            points,
            codes: elements(codes, codeBytes(n, m, h)),
            codeStride: codeStride(m),
            h,
            sums: elements(sums, tableBytes / 4),
            counts: elements(counts, m * h),
            direct: h > MOST_IN_PIECES,
          },
          { items: m * Math.ceil(stride / CODE_SUM_COLUMNS), grain: 1 },
        )
      },
    })
  } finally {
    scope.free()
  }
}

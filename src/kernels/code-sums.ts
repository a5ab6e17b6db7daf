/**
 * code-sums: sums and counts of points by their codeword in each of m subspaces, without float
 * atomics, so that runs repeat bit for bit.
 *
 * codes as `encode` writes them. sums: f32 [m][h][stride], whole rows of the points; counts: u32
 * [m][h]. Both are added to what is there, for points in several parts: clear them first.
 * Cost: n m d operations.
 */
import { codeSumsShader, codeSumsTotal } from '../../shaders/code-sums.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { gridFor, rowsWithinOperations } from '../device/plan.ts'
import { codeBytes, codeStride } from './encode.ts'
import { type DeviceRows, denseType, rowArgs } from './rows.ts'

export interface CodeSumsArgs {
  readonly points: DeviceRows
  readonly codes: DeviceBuffer
  readonly m: number
  readonly codewords: number
  readonly sums: DeviceBuffer
  readonly counts: DeviceBuffer
}

/** Columns a CPU item takes, and the most codewords for which it sums pieces on their own. */
const BLOCK = 32
const MOST_IN_PIECES = 512
/** Slabs of rows a GPU sums side by side; each needs a whole table. */
const MOST_SLABS = 16
const SLAB_ROWS = 1024

export async function codeSums(device: Device, args: CodeSumsArgs): Promise<void> {
  const { points, codes, m, codewords: h, sums, counts } = args
  const n = points.rows
  const tableBytes = m * h * points.stride * 4
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
        const quads = points.stride / 4
        const perRow = slabs * m * points.stride
        for (let offset = 0; offset < slabRows; ) {
          const rows = Math.min(slabRows - offset, rowsWithinOperations(gpu.operationsPerPass, perRow, 64))
          yield {
            shader: codeSumsShader(denseType(points), h > 256),
            bindings: [points.buffer, codes, partials, partialCounts],
            params: [n, slabRows, slabs, offset, rows, quads, m, h, codeStride(m)],
            groups: gridFor(slabs * m * quads, THREADS, gpu.limits.workgroups),
            operations: rows * perRow,
          }
          offset += rows
        }
        const size = m * h * quads
        yield {
          shader: codeSumsTotal,
          bindings: [partials, partialCounts, sums, counts],
          params: [slabs, size, m * h],
          groups: gridFor(size, THREADS, gpu.limits.workgroups),
          operations: slabs * size * 4,
        }
      },
      *cpu(memory) {
        const direct = h > MOST_IN_PIECES
        yield {
          entry: 'codeSums',
          items: m * Math.ceil(points.stride / BLOCK),
          grain: 1,
          args: [
            n,
            ...rowArgs(memory, points),
            memory.address(codes, codeBytes(n, m, h)),
            codeStride(m),
            h,
            memory.address(sums, tableBytes),
            memory.address(counts, m * h * 4),
            direct ? 1 : 0,
          ],
          scratchBytes: direct ? 0 : h * BLOCK * 4,
        }
      },
    })
  } finally {
    scope.free()
  }
}

/**
 * matmul: out = A B' (rows against rows: rotations), and gram: out = A' B (columns against columns,
 * summed over the rows). Both repeat bit for bit. Cost: 2 n p q operations.
 */
import { gramSlabsShader, gramSumShader, matmulRowsShader } from '../../shaders/matmul.ts'
import { gramTilesShader, matmulTilesShader } from '../../shaders/matmul-tiles.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { PRODUCT_TILE } from '../../shaders/tile-product.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { rowsWithinOperations } from '../device/plan.ts'
import { DENSE_VECTORS, declareFunction, SharedConstants } from './declared-function.ts'
import { PANEL, packCentersJob, panelsBytes } from './panels.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType } from './rows.ts'
import { tilesOf, usesTiles } from './tiles.ts'

export interface MatmulArgs {
  /** n x d */
  readonly a: DeviceRows
  /** q x d, floats */
  readonly b: DeviceRows
  /** n x q, floats; padding columns become zero */
  readonly out: DeviceRows
  /** The product is symmetric and only what lies on and above the diagonal is wanted: the rest may hold anything. */
  readonly upper?: boolean
}

/** Rows of A that are packed at a time, in fours, and the floats they may take: a core's own cache. */
const MOST_GROUPS = 8
const PACKED_FLOATS = 65536
/** Four rows by eight columns of a product. */
const PRODUCT_BYTES = 4 * PANEL * 4

export const matmulRows = declareFunction('matmulRows', {
  args: {
    a: DENSE_VECTORS,
    packed: reads('f32'),
    count: 'u32',
    out: writes('f32'),
    outStride: 'u32',
    groups: 'u32',
    upper: 'bool',
  },
  scratch: { product: () => PRODUCT_BYTES, rows: ({ groups, a }) => groups * a.stride * 16 },
})

export async function matmul(device: Device, { a, b, out, upper = false }: MatmulArgs): Promise<void> {
  const scope = new BufferScope(device)
  try {
    const packed = device.info.kind === 'cpu' ? scope.allocate(panelsBytes(b), 'packed matrix') : undefined
    await device.run({
      name: 'matmul',
      *webgpu(gpu) {
        const outQuads = out.stride / 4
        const type = denseType(a)
        const tiled = usesTiles('matmul', gpu, {
          ...{ width: out.stride, shader: matmulTilesShader(type) },
          ...{ rows: a.rows, cols: out.stride, terms: a.stride },
        })
        yield* rowPasses(gpu, {
          rows: a.rows,
          perRow: 2 * b.rows * a.stride,
          atLeast: tiled ? PRODUCT_TILE.rows : THREADS,
          pass: (firstRow, rows) => {
            const args = {
              x: a.buffer,
              b: b.buffer,
              out: out.buffer,
              firstRow,
              rows,
              quads: a.stride / 4,
              count: b.rows,
              outQuads,
            }
            return tiled
              ? matmulTilesShader(type).pass(gpu, args, { items: tilesOf(rows) * tilesOf(out.stride), perGroup: 1 })
              : matmulRowsShader(type).pass(gpu, args, { items: Math.ceil(rows / 4) * outQuads })
          },
        })
      },
      *cpu(memory) {
        const panels = packed as DeviceBuffer
        yield packCentersJob(memory, {
          centers: b.buffer,
          stride: b.stride,
          count: b.rows,
          norms: false,
          packed: panels,
        })
        const groups = Math.max(1, Math.min(MOST_GROUPS, Math.floor(PACKED_FLOATS / (a.stride * 4))))
        yield matmulRows.job(
          memory,
          {
            a,
            packed: elements(panels, panelsBytes(b) / 4),
            count: b.rows,
            out: elements(out.buffer, a.rows * out.stride),
            outStride: out.stride,
            groups,
            upper,
          },
          { items: a.rows, grain: Math.max(1, Math.round(2.5e5 / (b.rows * a.stride * groups))) * groups * 4 },
        )
      },
    })
  } finally {
    scope.free()
  }
}

export interface GramArgs {
  /** n x p */
  readonly a: DeviceRows
  /** n x q */
  readonly b: DeviceRows
  /** p x q, floats, room for p and q padded to a multiple of 4 */
  readonly out: DeviceBuffer
  /** As for matmul. */
  readonly upper?: boolean
}

/** Slabs of rows that are summed on their own; few, because each needs a whole product of memory. */
const MOST_SLABS = 16
const SLAB_ROWS = 1024
/** Columns of A that a CPU item takes, and rows that it takes at a time. */
const GRAM_COLUMNS = 64
const GRAM_ROWS = 64

export const gramConstants = new SharedConstants({
  GRAM_COLUMNS: { type: 'u32', value: GRAM_COLUMNS },
  GRAM_ROWS: { type: 'u32', value: GRAM_ROWS },
})

export const gramSlabs = declareFunction('gramSlabs', {
  args: { n: 'u32', slabRows: 'u32', a: DENSE_VECTORS, b: DENSE_VECTORS, partials: writes('f32'), upper: 'bool' },
  scratch: {
    product: () => PRODUCT_BYTES,
    /** Four columns of A. */
    packedA: () => GRAM_ROWS * 16,
    /** A panel of columns of B, with its starting values. */
    packedB: () => (GRAM_ROWS + 1) * PANEL * 4,
  },
})

export const gramSum = declareFunction('gramSum', {
  args: { slabs: 'u32', strideA: 'u32', strideB: 'u32', partials: reads('f32'), out: writes('f32') },
})

/** A hardware GPU is filled by this many workgroups; each needs a tile of memory. */
const HARDWARE_GROUPS = 512
const MOST_PARTIAL_BYTES = 16 * 2 ** 20

function hardwareSlabs(p: number, q: number): number {
  const wanted = Math.ceil(HARDWARE_GROUPS / (tilesOf(p) * tilesOf(q)))
  return Math.max(MOST_SLABS, Math.min(wanted, Math.floor(MOST_PARTIAL_BYTES / (p * q * 4))))
}

export async function gram(device: Device, { a, b, out, upper = false }: GramArgs): Promise<void> {
  const n = a.rows
  // A kernel sees the products of all slabs in one binding; wide rows leave room for few.
  const fitting = Math.max(1, Math.floor(device.info.limits.bindingBytes / (a.stride * b.stride * 4)))
  const most = device.info.kind === 'webgpu' && !device.info.software ? hardwareSlabs(a.stride, b.stride) : MOST_SLABS
  const slabs = Math.min(most, fitting, Math.ceil(n / SLAB_ROWS))
  const slabRows = Math.ceil(n / slabs)
  const scope = new BufferScope(device)
  try {
    const partials = scope.allocate(slabs * a.stride * b.stride * 4, 'partial products')
    await device.run({
      name: 'gram',
      *webgpu(gpu) {
        const quadsA = a.stride / 4
        const quadsB = b.stride / 4
        const width = Math.min(a.stride, b.stride)
        const shader = gramTilesShader(denseType(a), denseType(b))
        const tiled = usesTiles('gram', gpu, { width, shader, rows: a.stride, cols: b.stride, terms: n })
        const perSlab = 2 * slabRows * a.stride * b.stride
        for (let slab = 0; slab < slabs; ) {
          // A slab is few workgroups in tiles, and many in blocks.
          const most = gpu.tiled || tiled ? rowsWithinOperations(gpu.operationsPerPass, perSlab, 1) : 1
          const count = Math.min(slabs - slab, most)
          const args = {
            a: a.buffer,
            b: b.buffer,
            partials,
            n,
            slabRows,
            firstSlab: slab,
            slabs: count,
            quadsA,
            quadsB,
          }
          const operations = count * perSlab
          yield tiled
            ? shader.pass(gpu, args, { items: count * tilesOf(a.stride) * tilesOf(b.stride), perGroup: 1, operations })
            : gramSlabsShader(denseType(a), denseType(b)).pass(gpu, args, {
                items: count * quadsA * quadsB,
                operations,
              })
          slab += count
        }
        const size = a.stride * quadsB
        yield gramSumShader.pass(gpu, { partials, out, slabs, size }, { items: size, operations: slabs * size * 4 })
      },
      *cpu(memory) {
        const parts = elements(partials, slabs * a.stride * b.stride)
        yield gramSlabs.job(
          memory,
          { n, slabRows, a, b, partials: parts, upper },
          { items: slabs * Math.ceil(a.stride / GRAM_COLUMNS), grain: 1 },
        )
        yield gramSum.job(
          memory,
          { slabs, strideA: a.stride, strideB: b.stride, partials: parts, out: elements(out, a.stride * b.stride) },
          { items: a.stride, grain: Math.max(1, Math.round(1e5 / (slabs * b.stride))) },
        )
      },
    })
  } finally {
    scope.free()
  }
}

/**
 * matmul: out = A B' (rows against rows: rotations), and gram: out = A' B (columns against columns,
 * summed over the rows). Both repeat bit for bit. Cost: 2 n p q operations.
 */
import { gramBlocks, gramSumBody, matmulBlocks } from '../../shaders/matmul.ts'
import { gramTiles, matmulTiles } from '../../shaders/matmul-tiles.ts'
import { THREADS } from '../../shaders/snippets.ts'
import { PRODUCT_TILE } from '../../shaders/tile-product.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { rowsWithinOperations } from '../device/plan.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { compiled, DENSE_VECTORS, READ_ROWS } from './kernel-fields.ts'
import { PANEL, packCentersJob, panelsBytes } from './panels.ts'
import { type DeviceRows, denseType } from './rows.ts'
import { tilesOf, tileThreads, usesTiles } from './tiles.ts'

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

export const matmulKernel = declareKernel('matmul', {
  args: {
    a: DENSE_VECTORS,
    /** Rows of B. */
    count: 'u32',
    out: { matrix: 'write', flat: ({ form }) => form === 'tiles' },
    outStride: 'stride',
  },
  items: ({ a }) => a.rows,
  gpu: {
    args: { form: compiled('blocks', 'tiles'), b: READ_ROWS },
    body: ({ form }) => (form === 'tiles' ? matmulTiles() : matmulBlocks()),
    workgroup: tileThreads,
    cut: {
      params: ['firstRow', 'rows'],
      operations: ({ a, count }) => 2 * count * a.stride,
      atLeast: ({ form }) => (form === 'tiles' ? PRODUCT_TILE.rows : THREADS),
    },
    grid: ({ form, rows, outStride }) =>
      form === 'tiles' ? { groups: tilesOf(rows) * tilesOf(outStride) } : (Math.ceil(rows / 4) * outStride) / 4,
  },
  cpu: {
    entry: 'matmulRows',
    /** B in panels, and groups of four rows that are packed at a time. */
    args: { packed: reads('f32'), groups: 'u32', upper: 'bool' },
    scratch: { product: () => PRODUCT_BYTES, rows: ({ groups, a }) => groups * a.stride * 16 },
    grain: ({ a, count, groups }) => Math.max(1, Math.round(2.5e5 / (count * a.stride * groups))) * groups * 4,
  },
})

export async function matmul(device: Device, { a, b, out, upper = false }: MatmulArgs): Promise<void> {
  const scope = new BufferScope(device)
  try {
    const packed = device.info.kind === 'cpu' ? scope.allocate(panelsBytes(b), 'packed matrix') : undefined
    const shared = { a, count: b.rows, out, outStride: out.stride }
    await device.run({
      name: 'matmul',
      *webgpu(gpu) {
        const tiled = usesTiles('matmul', gpu, {
          ...{ width: out.stride, shader: matmulKernel.shader({ a: denseType(a), form: 'tiles' }) },
          ...{ rows: a.rows, cols: out.stride, terms: a.stride },
        })
        yield* matmulKernel.passes(gpu, { ...shared, b, form: tiled ? 'tiles' : 'blocks' })
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
        yield matmulKernel.job(memory, { ...shared, packed: elements(panels, panelsBytes(b) / 4), groups, upper })
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

const GRAM_FORMS = [
  { a: 'f32', b: 'f32' },
  { a: 'u8', b: 'f32' },
  { a: 'u8', b: 'u8' },
] as const

export const gramKernel = declareKernel('gram', {
  args: {
    n: 'u32',
    slabRows: 'u32',
    /** Of a pass, or all. */
    slabs: 'u32',
    a: DENSE_VECTORS,
    b: DENSE_VECTORS,
    /** [slab][columns of A][columns of B] */
    partials: writes('vec4f'),
  },
  gpu: {
    args: { form: compiled('blocks', 'tiles'), firstSlab: 'u32', strideA: 'stride', strideB: 'stride' },
    body: ({ form }) => (form === 'tiles' ? gramTiles() : gramBlocks()),
    workgroup: tileThreads,
    grid: ({ form, slabs, strideA, strideB }) =>
      form === 'tiles' ? { groups: slabs * tilesOf(strideA) * tilesOf(strideB) } : (slabs * strideA * strideB) / 16,
    operations: ({ slabs, slabRows, strideA, strideB }) => slabs * 2 * slabRows * strideA * strideB,
    forms: GRAM_FORMS.flatMap((types) => (['blocks', 'tiles'] as const).map((form) => ({ ...types, form }))),
  },
  cpu: {
    entry: 'gramSlabs',
    args: { upper: 'bool' },
    scratch: {
      product: () => PRODUCT_BYTES,
      /** Four columns of A. */
      packedA: () => GRAM_ROWS * 16,
      /** A panel of columns of B, with its starting values. */
      packedB: () => (GRAM_ROWS + 1) * PANEL * 4,
    },
    items: ({ slabs, a }) => slabs * Math.ceil(a.stride / GRAM_COLUMNS),
    grain: 1,
  },
})

/** Adds the slabs in order. `size`: vec4f of one product. */
export const gramSumKernel = declareKernel('gram-sum', {
  args: { slabs: 'u32', size: 'u32', partials: reads('vec4f'), out: writes('vec4f') },
  items: ({ size }) => size,
  gpu: { body: gramSumBody, operations: ({ slabs, size }) => slabs * size * 4 },
  cpu: {
    entry: 'gramSum',
    args: { strideA: 'u32', strideB: 'u32' },
    items: ({ strideA }) => strideA,
    grain: ({ slabs, strideB }) => Math.max(1, Math.round(1e5 / (slabs * strideB))),
  },
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
    const strides = { strideA: a.stride, strideB: b.stride }
    const size = (a.stride * b.stride) / 4
    const parts = elements(partials, slabs * size)
    const sum = { slabs, size, partials: parts, out: elements(out, size) }
    await device.run({
      name: 'gram',
      *webgpu(gpu) {
        const width = Math.min(a.stride, b.stride)
        const shader = gramKernel.shader({ a: denseType(a), b: denseType(b), form: 'tiles' })
        const tiled = usesTiles('gram', gpu, { width, shader, rows: a.stride, cols: b.stride, terms: n })
        const perSlab = 2 * slabRows * a.stride * b.stride
        for (let slab = 0; slab < slabs; ) {
          // A slab is few workgroups in tiles, and many in blocks.
          const most = gpu.tiled || tiled ? rowsWithinOperations(gpu.operationsPerPass, perSlab, 1) : 1
          const count = Math.min(slabs - slab, most)
          const args = { a, b, partials: parts, n, slabRows, firstSlab: slab, slabs: count, ...strides }
          yield gramKernel.pass(gpu, { ...args, form: tiled ? 'tiles' : 'blocks' })
          slab += count
        }
        yield gramSumKernel.pass(gpu, sum)
      },
      *cpu(memory) {
        yield gramKernel.job(memory, { n, slabRows, slabs, a, b, partials: parts, upper })
        yield gramSumKernel.job(memory, { ...sum, ...strides })
      },
    })
  } finally {
    scope.free()
  }
}

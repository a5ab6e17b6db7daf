/**
 * matmul: out = A B' (rows against rows: rotations), and gram: out = A' B (columns against columns,
 * summed over the rows). Both repeat bit for bit. Cost: 2 n p q operations.
 */
import { gramSlabsShader, gramSumShader, matmulRowsShader } from '../../shaders/matmul.ts'
import { gramTilesShader, matmulTilesShader } from '../../shaders/matmul-tiles.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { PRODUCT_TILE } from '../../shaders/tile-product.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { gridFor, rowsWithinOperations } from '../device/plan.ts'
import { packCentersJob, panelsBytes } from './panels.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType, rowArgs } from './rows.ts'
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

export async function matmul(device: Device, { a, b, out, upper }: MatmulArgs): Promise<void> {
  const scope = new BufferScope(device)
  try {
    const packed = device.info.kind === 'cpu' ? scope.allocate(panelsBytes(b), 'packed matrix') : undefined
    await device.run({
      name: 'matmul',
      *webgpu(gpu) {
        const outQuads = out.stride / 4
        const tiled = usesTiles(gpu.forms.matmul, gpu, { width: out.stride, shader: matmulTilesShader(denseType(a)) })
        yield* rowPasses(gpu, {
          rows: a.rows,
          perRow: 2 * b.rows * a.stride,
          atLeast: tiled ? PRODUCT_TILE.rows : THREADS,
          pass: (first, count) => ({
            shader: (tiled ? matmulTilesShader : matmulRowsShader)(denseType(a)),
            bindings: [a.buffer, b.buffer, out.buffer],
            params: [first, count, a.stride / 4, b.rows, outQuads],
            groups: tiled
              ? gridFor(tilesOf(count) * tilesOf(out.stride), 1, gpu.limits.workgroups)
              : gridFor(Math.ceil(count / 4) * outQuads, THREADS, gpu.limits.workgroups),
          }),
        })
      },
      *cpu(memory) {
        const address = memory.address(packed as DeviceBuffer, panelsBytes(b))
        const panels = packed as DeviceBuffer
        yield packCentersJob(memory, {
          centers: b.buffer,
          stride: b.stride,
          count: b.rows,
          norms: false,
          packed: panels,
        })
        const groups = Math.max(1, Math.min(MOST_GROUPS, Math.floor(PACKED_FLOATS / (a.stride * 4))))
        yield {
          entry: 'matmulRows',
          items: a.rows,
          grain: Math.max(1, Math.round(2.5e5 / (b.rows * a.stride * groups))) * groups * 4,
          args: [
            ...rowArgs(memory, a),
            address,
            b.rows,
            memory.address(out.buffer, a.rows * out.stride * 4),
            out.stride,
            groups,
            upper ? 1 : 0,
          ],
          scratchBytes: 128 + groups * a.stride * 16,
        }
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
/** Columns of A that a CPU item takes. */
const GRAM_COLUMNS = 64

/** A hardware GPU is filled by this many workgroups; each needs a tile of memory. */
const HARDWARE_GROUPS = 512
const MOST_PARTIAL_BYTES = 16 * 2 ** 20

function hardwareSlabs(p: number, q: number): number {
  const wanted = Math.ceil(HARDWARE_GROUPS / (tilesOf(p) * tilesOf(q)))
  return Math.max(MOST_SLABS, Math.min(wanted, Math.floor(MOST_PARTIAL_BYTES / (p * q * 4))))
}

export async function gram(device: Device, { a, b, out, upper }: GramArgs): Promise<void> {
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
        const tiled = usesTiles(gpu.forms.gram, gpu, { width, shader })
        const perSlab = 2 * slabRows * a.stride * b.stride
        for (let slab = 0; slab < slabs; ) {
          const count = gpu.tiled ? Math.min(slabs - slab, rowsWithinOperations(gpu.operationsPerPass, perSlab, 1)) : 1
          yield {
            shader: (tiled ? gramTilesShader : gramSlabsShader)(denseType(a), denseType(b)),
            bindings: [a.buffer, b.buffer, partials],
            params: [n, slabRows, slab, count, quadsA, quadsB],
            groups: tiled
              ? gridFor(count * tilesOf(a.stride) * tilesOf(b.stride), 1, gpu.limits.workgroups)
              : gridFor(count * quadsA * quadsB, THREADS, gpu.limits.workgroups),
            operations: count * perSlab,
          }
          slab += count
        }
        const size = a.stride * quadsB
        yield {
          shader: gramSumShader,
          bindings: [partials, out],
          params: [slabs, size],
          groups: gridFor(size, THREADS, gpu.limits.workgroups),
          operations: slabs * size * 4,
        }
      },
      *cpu(memory) {
        yield {
          entry: 'gramSlabs',
          items: slabs * Math.ceil(a.stride / GRAM_COLUMNS),
          grain: 1,
          args: [
            n,
            slabRows,
            ...rowArgs(memory, a),
            ...rowArgs(memory, b),
            memory.address(partials, slabs * a.stride * b.stride * 4),
            upper ? 1 : 0,
          ],
          scratchBytes: 128 + 64 * 16 + 65 * 32,
        }
        yield {
          entry: 'gramSum',
          items: a.stride,
          grain: Math.max(1, Math.round(1e5 / (slabs * b.stride))),
          args: [
            slabs,
            a.stride,
            b.stride,
            memory.address(partials, slabs * a.stride * b.stride * 4),
            memory.address(out, a.stride * b.stride * 4),
          ],
        }
      },
    })
  } finally {
    scope.free()
  }
}

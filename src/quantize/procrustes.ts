/**
 * The rotation step: the matrix R with orthonormal columns that makes tr(R' M) largest, M being p x s.
 * That is the polar factor of M.
 *
 * Small ones come from a singular value decomposition on the host. From 48 columns on that would take
 * longer than the rest of a round, and products on the device take over: with Y = M / |M|, steps
 * Y <- Y (a I + b Y'Y + c (Y'Y)^2) first lift all singular values to around 1, small ones by a = 3.44 a
 * step, then Newton-Schulz steps Y <- Y (3 I - Y'Y) / 2 bring them to 1. Directions that M hardly has
 * would take many steps, and such that it has not at all would never arrive; a little of the rotation
 * before is added to M, which keeps those directions where they are and still cannot lower tr(R' M):
 * R maximises tr(R' M) + delta tr(R' R0), whose second term is largest for R0 itself.
 */
import { BufferScope, type Device } from '../device/contract.ts'
import { gram, matmul } from '../kernels/matmul.ts'
import { allocateRows, type DeviceRows, paddedCols, writeRows } from '../kernels/rows.ts'
import { polarFactor, spectralNorm } from '../math/orthogonal.ts'

/** Up to so many columns the host is fast enough. */
const HOST_COLUMNS = 47
/** How much of the rotation before, of the largest singular value. The host needs it only where M is rank deficient. */
const DELTA = 1e-2
const HOST_DELTA = 1e-9
/** Lifts singular values from DELTA (3.44^4 = 141 times) into 0.7 to 1.2, where it leaves those that are there. */
const LIFTING = { steps: 4, a: 3.4445, b: -4.775, c: 2.0315 }
/** Newton-Schulz steps that bring 0.7 to 1. Where they do not do, a value was far below DELTA: it is lifted again. */
const POLISHING_STEPS = 6
const MOST_ROUNDS = 4
/** Up to so many columns the host is asked where the device does not settle; beyond, nothing is turned for once. */
const HOST_RESCUE = 256
/** Largest entry of R'R - I. 32-bit products of hundreds of columns do not get much below. */
const ORTHONORMAL = 3e-6
const GOOD_ENOUGH = 1e-5

/** R for M and the rotation before, all p x s, row-major. */
export async function rotationFor(
  device: Device,
  m: Float64Array,
  before: Float64Array,
  p: number,
  s: number,
): Promise<Float64Array> {
  const norm = spectralNorm(m, p, s)
  if (norm === 0) return before
  const delta = (s <= HOST_COLUMNS ? HOST_DELTA : DELTA) * norm
  const target = m.map((value, i) => value + delta * before[i])
  if (s <= HOST_COLUMNS) return polarFactor(target, p, s)
  const found = await polarOnDevice(device, target, norm * 1.03 + delta, p, s)
  if (found) return found
  return s <= HOST_RESCUE ? polarFactor(target, p, s) : before
}

/** Undefined if the steps do not settle, as with singular values that are zero after all. */
async function polarOnDevice(
  device: Device,
  m: Float64Array,
  norm: number,
  p: number,
  s: number,
): Promise<Float64Array | undefined> {
  const scope = new BufferScope(device)
  try {
    let y = allocateRows(scope, p, s, 'f32', 'rotation')
    let next = allocateRows(scope, p, s, 'f32', 'next rotation')
    const square = allocateRows(scope, paddedCols(s), s, 'f32', 'product of the rotation')
    const fourth = allocateRows(scope, s, s, 'f32', 'its square')
    const factor = allocateRows(scope, s, s, 'f32', 'step')
    writeRows(
      device,
      y,
      Float32Array.from(m, (value) => value / norm),
    )
    let last = Number.POSITIVE_INFINITY
    const perRound = LIFTING.steps + POLISHING_STEPS
    for (let step = 0; step < MOST_ROUNDS * perRound; step++) {
      const lifting = step % perRound < LIFTING.steps
      if (lifting) last = Number.POSITIVE_INFINITY
      await gram(device, { a: y, b: y, out: square.buffer, upper: true })
      const g = await readRows(device, square)
      const gg = lifting ? await squared(device, g, { ...square, rows: s }, fourth) : undefined
      if (!lifting) {
        const error = distanceFromIdentity(g, s, square.stride)
        // As near as wanted, or no nearer than before: as near as 32 bits carry.
        if (error < ORTHONORMAL || (error >= last && error < GOOD_ENOUGH)) {
          return unpadded(await readRows(device, y), p, s, y.stride)
        }
        last = error
      }
      writeRows(device, factor, stepMatrix(g, gg, s, square.stride))
      await matmul(device, { a: y, b: factor, out: next })
      const spare = y
      y = next
      next = spare
    }
    return undefined
  } finally {
    scope.free()
  }
}

/** G G for a symmetric G, whose lower half is filled in first: on and above the diagonal. */
async function squared(device: Device, g: Float32Array, at: DeviceRows, out: DeviceRows): Promise<Float32Array> {
  mirror(g, at.rows, at.stride)
  device.write(at.buffer, g)
  // Symmetric: the product with its own transpose is the square.
  await matmul(device, { a: at, b: at, out, upper: true })
  return readRows(device, out)
}

/** a I + b G + c G G while lifting, then (3 I - G) / 2. Symmetric, made so against rounding. */
function stepMatrix(g: Float32Array, gg: Float32Array | undefined, s: number, stride: number): Float32Array {
  const { a, b, c } = gg ? LIFTING : { a: 1.5, b: -0.5, c: 0 }
  const out = new Float32Array(s * s)
  for (let i = 0; i < s; i++) {
    for (let j = i; j < s; j++) {
      const fourth = gg ? c * gg[i * stride + j] : 0
      out[i * s + j] = (i === j ? a : 0) + b * g[i * stride + j] + fourth
    }
  }
  mirror(out, s, s)
  return out
}

/** Fills in what lies below the diagonal, in tiles: going down a column of a large matrix misses the cache every time. */
function mirror(data: Float32Array, size: number, stride: number): void {
  const tile = 32
  for (let top = 0; top < size; top += tile) {
    for (let left = 0; left <= top; left += tile) {
      for (let i = top; i < Math.min(top + tile, size); i++) {
        for (let j = left; j < Math.min(left + tile, i); j++) data[i * stride + j] = data[j * stride + i]
      }
    }
  }
}

function distanceFromIdentity(g: Float32Array, s: number, stride: number): number {
  let most = 0
  for (let i = 0; i < s; i++) {
    for (let j = i; j < s; j++) {
      const error = Math.abs(g[i * stride + j] - (i === j ? 1 : 0))
      if (!(error <= most)) most = error
    }
  }
  return most
}

async function readRows(device: Device, rows: DeviceRows): Promise<Float32Array> {
  return new Float32Array(await device.read(rows.buffer))
}

function unpadded(data: Float32Array, rows: number, cols: number, stride: number): Float64Array {
  const out = new Float64Array(rows * cols)
  for (let i = 0; i < rows; i++) for (let j = 0; j < cols; j++) out[i * cols + j] = data[i * stride + j]
  return out
}

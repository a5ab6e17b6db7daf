/**
 * The rotation step: the matrix R with orthonormal columns that makes tr(R' M) largest, M being p x s.
 * That is the polar factor of M.
 *
 * Small ones come from a singular value decomposition on the host. From 48 columns on that would take
 * longer than the rest of a round, and products on the device take over: with Y = M / |M|, five steps
 * Y <- Y (a I + b Y'Y + c (Y'Y)^2) bring all singular values to 1, each with the a, b, c that leave the
 * worst of them nearest to 1; where rounding asks for it, Newton-Schulz steps Y <- Y (3 I - Y'Y) / 2 polish.
 * Five are a third less work than steps that are all alike. Directions that M hardly has
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
/** By how much the largest singular value may be above what a few power steps say. Beyond it the first step would overshoot. */
const MARGIN = 1.12
/** R'R - I has no entry like this after any step unless one overshot: the first leaves values below 1.94. */
const OVERSHOT = 4
/** Then M is taken for this much larger, and all begins anew: power steps see nothing of a direction they do not begin with. */
const LARGER = 1.5
const MOST_BEGINNINGS = 4
/** Lower bound of the singular values before the first step: less than DELTA / (MARGIN + DELTA). */
export const SMALLEST = 0.0085
/**
 * a, b, c of each step: the odd polynomial of degree 5 with the smallest largest error |p(x) - 1| on the interval that the
 * step before leaves; the first interval is [SMALLEST, 1]. Computed by scripts/polar-coefficients.mjs. The last step leaves
 * all singular values within 1e-5 of 1.
 */
export const LIFTING = [
  [8.153931, -23.859283, 17.636059],
  [3.714479, -2.778059, 0.542932],
  [2.781801, -2.074807, 0.463487],
  [1.993094, -1.375761, 0.387782],
  [1.875484, -1.250538, 0.375054],
] as const
/** Newton-Schulz steps. Where they do not do, a value was far below DELTA: it is lifted again. */
const POLISHING_STEPS = 6
const POLISHING = [1.5, -0.5, 0] as const
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
  let largest = norm * MARGIN
  for (let beginning = 0; beginning < MOST_BEGINNINGS; beginning++) {
    const found = await polarOnDevice(device, target, largest + delta, p, s)
    if (found instanceof Float64Array) return found
    if (found !== 'overshot') break
    largest *= LARGER
  }
  return s <= HOST_RESCUE ? polarFactor(target, p, s) : before
}

/** Undefined if the steps do not settle, as with singular values that are zero after all; overshot if `norm` is too small. */
async function polarOnDevice(
  device: Device,
  m: Float64Array,
  norm: number,
  p: number,
  s: number,
): Promise<Float64Array | 'overshot' | undefined> {
  const scope = new BufferScope(device)
  try {
    let y = allocateRows(scope, p, s, 'f32', 'rotation')
    let next = allocateRows(scope, p, s, 'f32', 'next rotation')
    const square = allocateRows(scope, paddedCols(s), s, 'f32', 'product of the rotation')
    const fourth = allocateRows(scope, s, s, 'f32', 'its square')
    const factor = allocateRows(scope, s, s, 'f32', 'step')
    writeRows(device, y, scaled(m, 1 / norm))
    let last = Number.POSITIVE_INFINITY
    const perRound = LIFTING.length + POLISHING_STEPS
    for (let step = 0; step < MOST_ROUNDS * perRound; step++) {
      const lifting = LIFTING[step % perRound]
      if (lifting) last = Number.POSITIVE_INFINITY
      await gram(device, { a: y, b: y, out: square.buffer, upper: true })
      const g = await readRows(device, square)
      const error = distanceFromIdentity(g, s, square.stride)
      if (!(error < OVERSHOT)) return 'overshot'
      const gg = lifting ? await squared(device, g, { ...square, rows: s }, fourth) : undefined
      if (!lifting) {
        // As near as wanted, or no nearer than before: as near as 32 bits carry.
        if (error < ORTHONORMAL || (error >= last && error < GOOD_ENOUGH)) {
          return unpadded(await readRows(device, y), p, s, y.stride)
        }
        last = error
      }
      writeRows(device, factor, stepMatrix(g, gg, lifting ?? POLISHING, s, square.stride))
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

function scaled(values: Float64Array, by: number): Float32Array {
  // Not by Float32Array.from, which takes a hundred times as long.
  const out = new Float32Array(values.length)
  for (let i = 0; i < out.length; i++) out[i] = values[i] * by
  return out
}

/** G G for a symmetric G, whose lower half is filled in first: on and above the diagonal. */
async function squared(device: Device, g: Float32Array, at: DeviceRows, out: DeviceRows): Promise<Float32Array> {
  mirror(g, at.rows, at.stride)
  device.write(at.buffer, g)
  // Symmetric: the product with its own transpose is the square.
  await matmul(device, { a: at, b: at, out, upper: true })
  return readRows(device, out)
}

/** a I + b G + c G G. Symmetric, made so against rounding. */
function stepMatrix(
  g: Float32Array,
  gg: Float32Array | undefined,
  [a, b, c]: readonly [number, number, number],
  s: number,
  stride: number,
): Float32Array {
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

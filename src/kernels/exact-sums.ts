/**
 * exact-sums: sums of 32-bit floats without rounding, so that parts can be added in any order and grouping with the same
 * bits, on one device or on several.
 *
 * A number is a 96-bit two's complement integer in units of 2^exponent. Numbers lie as three planes of 32-bit words,
 * lowest words first: u32 [3][exactPlane(rows * width)]. Planes begin where a binding may, so a few words at the end of
 * each stand for nothing. Bits of a float below the unit are dropped, toward zero; everything else is exact. Sums go
 * modulo 2^96, so what stands between may exceed the bound as long as the result does not.
 * Cost: about 30 operations a number.
 */
import { addExactBody, exactToFloatsBody } from '../../shaders/exact-sums.ts'
import { THREADS } from '../../shaders/snippets.ts'
import { type BufferPart, type Device, type DeviceBuffer, type GpuTarget, slice } from '../device/contract.ts'
import { elements, mayRead, reads, writes } from '../device/fields.ts'
import { cutRows, rowsWithinOperations } from '../device/plan.ts'
import { declareKernel } from './declared-kernel.ts'

const OPERATIONS = 30

/** Both steps take these; `unit`: exponent bits of a float whose lowest bit is the unit. */
const SHARED = { counts: mayRead('u32'), width: 'u32' } as const
/** The first number of a pass and how many there are; a pass has parts of the three planes. */
const PASS = { first: 'u32', count: 'u32' } as const
/** All rows, and the three planes with the words of each. */
const ALL = { rows: 'u32', plane: 'u32' } as const
const grain = ({ width }: { readonly width: number }): number => Math.max(1, Math.round(2e4 / width))
const operations = ({ count }: { readonly count: number }): number => count * OPERATIONS

export const addExactKernel = declareKernel('add-exact', {
  args: { ...SHARED, unit: 'i32', values: reads('u32') },
  gpu: {
    args: { ...PASS, low: writes('u32'), mid: writes('u32'), high: writes('u32') },
    body: addExactBody,
    grid: ({ count }) => count,
    operations,
  },
  cpu: { entry: 'addExact', args: { ...ALL, words: writes('u32') }, items: ({ rows }) => rows, grain },
})

export const exactToFloatsKernel = declareKernel('exact-to-floats', {
  args: { ...SHARED, unit: 'u32', out: writes('u32') },
  gpu: {
    args: { ...PASS, low: reads('u32'), mid: reads('u32'), high: reads('u32') },
    body: exactToFloatsBody,
    grid: ({ count }) => count,
    operations,
  },
  cpu: { entry: 'exactToFloats', args: { ...ALL, words: reads('u32') }, items: ({ rows }) => rows, grain },
})

/** What all calls have in common. */
interface ExactShape {
  readonly rows: number
  readonly width: number
  readonly exponent: number
  /** u32 [rows]: rows whose count is 0 are skipped: neither read nor written. Default: no row is. */
  readonly counts?: DeviceBuffer | undefined
}

export interface AddExactArgs extends ExactShape {
  /** f32 [rows][width], finite; none may be larger than the bound that the exponent was made for. */
  readonly values: DeviceBuffer
  /** `exactBytes`, zero at first. */
  readonly into: DeviceBuffer
}

export interface ExactToFloatsArgs extends ExactShape {
  /** `exactBytes`. */
  readonly from: DeviceBuffer
  /** f32 [rows][width]. */
  readonly out: DeviceBuffer
}

/** Words of one binding boundary. */
const ALIGNED_WORDS = 64
/** The lowest bit of any 32-bit float is 2^-149. */
const LEAST_EXPONENT = -149
/** 2^53 floats below 2^128 add up to less than 2^181. */
const MOST_EXPONENT = 181 - 94

/** Numbers of a plane come in blocks of this size. */
export const EXACT_BLOCK = ALIGNED_WORDS

/** Words of each of the three planes. */
export function exactPlaneOf(words: Uint32Array): number {
  return words.length / 3
}

/** Words of a plane of so many numbers. */
export function exactPlane(numbers: number): number {
  return Math.ceil(numbers / ALIGNED_WORDS) * ALIGNED_WORDS
}

export function exactBytes(rows: number, width: number): number {
  return 3 * exactPlane(rows * width) * 4
}

/** The unit in which sums of up to `bound` in absolute value fit, with a bit to spare: ceil(log2(bound)) - 94 within the range of floats. */
export function exactExponent(bound: number): number {
  if (!(bound >= 0)) throw new RangeError(`Sums cannot be bounded by ${bound}`)
  // From the bits: a logarithm is not exact, and could differ from engine to engine.
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, Math.abs(bound))
  const power = (bits.getUint32(0) >>> 20) - 1023
  const isPower = (bits.getUint32(0) & 0xfffff) === 0 && bits.getUint32(4) === 0
  return Math.min(MOST_EXPONENT, Math.max(LEAST_EXPONENT, power + (isPower ? 0 : 1) - 94))
}

/** Adds floats to exact sums. */
export function addExact(device: Device, { values, into, ...shape }: AddExactArgs): Promise<void> {
  return device.run({
    name: 'add-exact',
    *webgpu(gpu) {
      for (const { args, partOf } of exactParts(gpu, shape, into)) {
        yield addExactKernel.pass(gpu, { ...args, values: partOf(values) })
      }
    },
    *cpu(memory) {
      yield addExactKernel.job(memory, {
        ...exactWhole(shape, into),
        values: elements(values, shape.rows * shape.width),
      })
    },
  })
}

/**
 * The nearest floats to exact sums, ties to even, rounded once from all bits: the same bits on every device and on the
 * host. Sums below the smallest normal float come out subnormal, those beyond the largest float infinite, zero as +0.
 */
export function exactToFloats(device: Device, { from, out, ...shape }: ExactToFloatsArgs): Promise<void> {
  return device.run({
    name: 'exact-to-floats',
    *webgpu(gpu) {
      for (const { args, partOf } of exactParts(gpu, shape, from)) {
        yield exactToFloatsKernel.pass(gpu, { ...args, out: partOf(out) })
      }
    },
    *cpu(memory) {
      yield exactToFloatsKernel.job(memory, {
        ...exactWhole(shape, from),
        out: elements(out, shape.rows * shape.width),
      })
    },
  })
}

/** The numbers cut into passes, with what both shaders are given for each. */
function* exactParts(gpu: GpuTarget, { rows, width, exponent, counts }: ExactShape, words: DeviceBuffer) {
  const { bindingBytes, workgroups } = gpu.limits
  const plane = exactPlane(rows * width)
  const most = Math.min(
    bindingBytes / 4,
    workgroups * workgroups * THREADS,
    rowsWithinOperations(gpu.operationsPerPass, OPERATIONS, THREADS),
  )
  for (const { start, end } of cutRows(rows * width, most, ALIGNED_WORDS)) {
    const count = end - start
    const partOf = (of: DeviceBuffer, first = 0): BufferPart => slice(of, (first + start) * 4, count * 4)
    const planes = { low: partOf(words), mid: partOf(words, plane), high: partOf(words, 2 * plane) }
    yield {
      args: { first: start, count, width, unit: placeOfUnit(exponent), ...planes, counts: elements(counts, rows) },
      partOf,
    }
  }
}

/** All numbers, for one job. */
function exactWhole({ rows, width, exponent, counts }: ExactShape, words: DeviceBuffer) {
  return {
    counts: elements(counts, rows),
    width,
    unit: placeOfUnit(exponent),
    rows,
    words: elements(words, exactBytes(rows, width) / 4),
    plane: exactPlane(rows * width),
  }
}

/**
 * The exponent that a float has in its bits when its lowest bit is the unit. A float of exponent e is its 24 bits, moved
 * up by e less this.
 */
function placeOfUnit(exponent: number): number {
  if (Number.isInteger(exponent) && exponent >= LEAST_EXPONENT && exponent <= MOST_EXPONENT) return exponent + 150
  throw new RangeError(`Exact sums have an exponent from ${LEAST_EXPONENT} to ${MOST_EXPONENT}, not ${exponent}`)
}

/** Exact sums of one float each, as `addExact` makes them. */
export function exactFromFloats(values: Float32Array, exponent: number): Uint32Array {
  const unit = placeOfUnit(exponent)
  const plane = exactPlane(values.length)
  const words = new Uint32Array(3 * plane)
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length)
  for (let i = 0; i < bits.length; i++) {
    const power = (bits[i] >>> 23) & 255
    const shift = Math.max(power, 1) - unit
    const mantissa = (bits[i] & 0x7fffff) | (power > 0 ? 0x800000 : 0)
    const whole = shift < 0 ? mantissa >>> Math.min(-shift, 31) : mantissa
    const left = Math.max(shift, 0)
    const at = (left >>> 5) * plane + i
    words[at] = whole << (left & 31)
    if ((left & 31) > 0 && left < 64) words[at + plane] = whole >>> (32 - (left & 31))
    if (bits[i] >>> 31 === 1) negate(words, i, plane)
  }
  return words
}

function negate(words: Uint32Array, i: number, plane: number): void {
  let carry = 1
  for (let at = i; at < 3 * plane; at += plane) {
    words[at] = ~words[at] + carry
    if (words[at] !== 0) carry = 0
  }
}

/** Sums of two sets of exact sums with the same unit. */
export function mergeExact(a: Uint32Array, b: Uint32Array): Uint32Array {
  const sums = a.slice()
  mergeExactInto(sums, b)
  return sums
}

/** The same, into the first of them. */
export function mergeExactInto(into: Uint32Array, from: Uint32Array): void {
  if (into.length !== from.length) throw new RangeError(`${from.length} words cannot be added to ${into.length}`)
  const plane = into.length / 3
  for (let i = 0; i < plane; i++) {
    const lower = addWords(into, from, i, 0)
    const middle = addWords(into, from, i + plane, lower)
    addWords(into, from, i + 2 * plane, middle)
  }
}

/** Adds `count` numbers, given as three planes from `from` on, to those that begin at `at`. */
export function addExactWords(
  into: Uint32Array,
  plane: number,
  at: number,
  [low, mid, high]: readonly Uint32Array[],
  from: number,
  count: number,
): void {
  for (let i = 0; i < count; i++) {
    const lower = addWord(into, at + i, low[from + i], 0)
    const middle = addWord(into, at + i + plane, mid[from + i], lower)
    addWord(into, at + i + 2 * plane, high[from + i], middle)
  }
}

/** What has to be added to `b` to get `a`. */
export function differenceExact(a: Uint32Array, b: Uint32Array): Uint32Array {
  const difference = b.slice()
  const plane = b.length / 3
  for (let i = 0; i < plane; i++) negate(difference, i, plane)
  mergeExactInto(difference, a)
  return difference
}

function addWords(into: Uint32Array, from: Uint32Array, at: number, carry: number): number {
  return addWord(into, at, from[at], carry)
}

/** Adds one word and a carry; the result is the carry to the next. Without branches: carries are as good as random. */
function addWord(into: Uint32Array, at: number, word: number, carry: number): number {
  const a = into[at] | 0
  const b = word | 0
  const sum = (a + b + carry) | 0
  into[at] = sum
  return ((a & b) | ((a | b) & ~sum)) >>> 31
}

/** What `exactToFloats` gives: the first `count` numbers, all by default. */
export function floatsFromExact(words: Uint32Array, exponent: number, count = words.length / 3): Float32Array {
  const unit = placeOfUnit(exponent)
  const plane = words.length / 3
  const bits = new Uint32Array(count)
  for (let i = 0; i < count; i++) {
    const sign = words[2 * plane + i] >> 31
    const low = ((words[i] ^ sign) - sign) | 0
    const carry = sign & isZero(low)
    const mid = ((words[plane + i] ^ sign) + carry) | 0
    const high = ((words[2 * plane + i] ^ sign) + (carry & isZero(mid))) | 0
    bits[i] = (sign << 31) | roundedBits(low, mid, high, unit)
  }
  return new Float32Array(bits.buffer)
}

/** The bits of the float nearest to a positive number of units. Branches on low bits would be guessed wrong half the time. */
function roundedBits(low: number, mid: number, high: number, unit: number): number {
  if (high === 0 && mid === 0 && low >>> 24 === 0) {
    // It fits the 24 bits of a float; below the smallest normal float it is not moved up all the way.
    if (low === 0) return 0
    const up = Math.min(Math.clz32(low) - 8, unit - 1)
    return ((unit - 1 - up) << 23) + (low << up)
  }
  const top = high !== 0 ? high : mid !== 0 ? mid : low
  const next = high !== 0 ? mid : mid !== 0 ? low : 0
  const zeros = Math.clz32(top)
  // A shift by 32 does nothing in JavaScript, so it is done in two.
  const first = (top << zeros) | ((next >>> 1) >>> (31 - zeros))
  const beyond = 1 - isZero((next << zeros) | (high !== 0 ? low : 0))
  const mantissa = first >>> 8
  const below = ((first & 255) << 1) | beyond
  const up = (256 - below - (mantissa & 1)) >>> 31
  const moved = (high !== 0 ? 72 : mid !== 0 ? 40 : 8) - zeros
  return Math.min((Math.min(unit - 1 + moved, 254) << 23) + mantissa + up, 0x7f800000)
}

function isZero(word: number): number {
  return Math.clz32(word) >>> 5
}

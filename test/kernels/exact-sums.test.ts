import { describe, expect, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import {
  addExact,
  exactBytes,
  exactExponent,
  exactFromFloats,
  exactPlane,
  exactToFloats,
  floatsFromExact,
  mergeExact,
  mergeExactInto,
} from '../../src/kernels/exact-sums.ts'
import { fc } from '../properties.ts'
import { expectSame, expectSameBits } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice } from './devices.ts'
import { floatOf, mergedInGroups, shuffled, spreadFloats, unitsIn, wordsOf } from './exact-numbers.ts'
import { anySeed, checkProperty, size } from './vectors.ts'

interface Shape {
  readonly rows: number
  readonly width: number
  readonly exponent: number
}

interface Result {
  readonly words: Uint32Array
  readonly floats: Float32Array
}

/** Adds the parts one after the other. `before` is what the floats hold where rows are skipped. */
async function run(
  opened: OpenedDevice,
  { rows, width, exponent }: Shape,
  parts: readonly Float32Array[],
  counts?: Uint32Array,
  before?: Float32Array,
): Promise<Result> {
  return opened.use(async (buffers) => {
    const words = buffers.output(exactBytes(rows, width), new Uint8Array(exactBytes(rows, width)))
    const floats = buffers.output(rows * width * 4, before)
    const shape = { rows, width, exponent, counts: counts && buffers.upload(counts) }
    for (const part of parts) {
      await addExact(buffers.device, { ...shape, values: buffers.upload(part), into: words.buffer })
    }
    await exactToFloats(buffers.device, { ...shape, from: words.buffer, out: floats.buffer })
    return { words: await words.words(), floats: await floats.floats() }
  })
}

/** On the device and on the host: words and floats as whole numbers without limit give them. */
async function check(opened: OpenedDevice, shape: Shape, parts: readonly Float32Array[]): Promise<Result> {
  const { exponent } = shape
  const count = shape.rows * shape.width
  const sums = Array.from({ length: count }, (_, i) =>
    parts.reduce((sum, part) => sum + unitsIn(part[i], exponent), 0n),
  )
  const expected = { words: wordsOf(sums), floats: Float32Array.from(sums, (sum) => floatOf(sum, exponent)) }
  const found = await run(opened, shape, parts)
  const merged = parts.map((part) => exactFromFloats(part, exponent)).reduce(mergeExact)
  expectSame(found.words, expected.words)
  expectSame(merged, expected.words)
  expectSameBits(found.floats, expected.floats)
  expectSameBits(floatsFromExact(merged, exponent, count), expected.floats)
  return found
}

/** Sums of one column of single numbers of units, rounded on the device. */
async function roundUnits(opened: OpenedDevice, numbers: readonly bigint[], exponent: number): Promise<Float32Array> {
  return opened.use(async (buffers) => {
    const out = buffers.output(numbers.length * 4)
    const from = buffers.upload(wordsOf(numbers))
    await exactToFloats(buffers.device, { rows: numbers.length, width: 1, exponent, from, out: out.buffer })
    return out.floats()
  })
}

const bits = (...words: number[]): Float32Array => new Float32Array(Uint32Array.from(words).buffer)

onEveryDevice((opened) => {
  describe('exact-sums', () => {
    test.each([
      [1, 1, 6],
      [7, 5, 6],
      [1031, 132, 2],
    ])('adds %i rows of %i numbers of any size and sign', async (rows, width, times) => {
      const parts = Array.from({ length: times }, (_, part) => spreadFloats(rows * width, 60, 11 * part + rows))
      await check(opened, { rows, width, exponent: exactExponent(6 * 2 ** 60) }, parts)
    })

    test('gives the same words in any order and in any grouping', async () => {
      const [rows, width, exponent] = [7, 5, exactExponent(2 ** 40)]
      const parts = Array.from({ length: 9 }, (_, part) => spreadFloats(rows * width, 36, part + 100))
      const found = await check(opened, { rows, width, exponent }, parts)
      for (const seed of [1, 2, 3]) {
        const other = await run(opened, { rows, width, exponent }, shuffled(parts, seed))
        expect(other).toEqual(found)
        const groups = [parts.slice(0, seed), parts.slice(seed, 2 * seed), parts.slice(2 * seed)]
        const sums = await Promise.all(groups.map((group) => run(opened, { rows, width, exponent }, group)))
        expectSame(
          mergedInGroups(
            sums.map(({ words }) => words),
            seed,
          ),
          found.words,
        )
      }
    })

    test('cancels to nothing', async () => {
      const shape = { rows: 7, width: 5, exponent: exactExponent(2 ** 61) }
      const parts = Array.from({ length: 4 }, (_, part) => spreadFloats(35, 60, part + 200))
      const opposite = parts.map((part) => part.map((value) => -value))
      const { words, floats } = await check(opened, shape, [...parts, ...shuffled(opposite, 4)])
      expectSame(words, new Uint32Array(words.length))
      expectSameBits(floats, new Float32Array(35))
    })

    test('gives a single float back, subnormal ones too', async () => {
      const ones = [0, 1, 2, 0x7fffff, 0x800000, 0x800001, 0x00ffffff, 0x11223344, 0x23800001, 0x23ffffff]
      const values = bits(...ones, ...ones.slice(1).map((word) => (word | 0x80000000) >>> 0))
      const { floats } = await check(opened, { rows: 19, width: 1, exponent: -149 }, [values])
      expectSameBits(floats, values)
      // The lowest bit of these is the unit or above it.
      const large = Float32Array.from([2 ** 127, -(2 ** 127), bits(0x7f7fffff)[0], bits(0xff7fffff)[0]])
      for (const exponent of [33, 34, 87]) {
        const found = await check(opened, { rows: 1, width: 4, exponent }, [large])
        expectSameBits(found.floats, large)
      }
    })

    test('drops what is below the unit, toward zero', async () => {
      const values = Float32Array.from([0.75, -0.75, 1.5, -1.5, 1e-30, -1e-30, 7.999, -7.999])
      const { floats } = await check(opened, { rows: 8, width: 1, exponent: 0 }, [values, values])
      expectSameBits(floats, Float32Array.from([0, 0, 2, -2, 0, 0, 14, -14]))
    })

    test('rounds once, ties to even', async () => {
      const random = createRandom(5)
      const numbers: bigint[] = []
      for (let top = 24n; top <= 94n; top++) {
        for (const mantissa of [0x800000n, 0x800001n, 0xffffffn, 0x800000n + BigInt(random.below(0x800000))]) {
          const half = 1n << (top - 24n)
          const tie = mantissa * 2n * half + half
          numbers.push(tie, tie - 1n, tie + 1n, tie + (half >> 1n), tie - half, -tie, -tie - 1n, 1n - tie)
        }
      }
      numbers.push(-(1n << 95n), (1n << 95n) - 1n, -1n, 1n, 0n)
      for (const exponent of [-149, -120, -94, 0, 33, 60, 87]) {
        const expected = Float32Array.from(numbers, (number) => floatOf(number, exponent))
        for (const from of [0, 1100]) {
          const some = numbers.slice(from, from + 1100)
          expectSameBits(await roundUnits(opened, some, exponent), expected.subarray(from, from + 1100))
        }
        expectSameBits(floatsFromExact(wordsOf(numbers), exponent, numbers.length), expected)
      }
    })

    test('skips rows whose count is 0', async () => {
      const [rows, width, exponent] = [131, 6, -40]
      const counts = Uint32Array.from({ length: rows }, (_, i) => (i % 3 === 0 ? 0 : i))
      const values = spreadFloats(rows * width, 20, 300)
      const before = new Float32Array(rows * width).fill(5)
      const found = await run(opened, { rows, width, exponent }, [values, values], counts, before)
      const counted = values.map((value, at) => (counts[Math.floor(at / width)] === 0 ? 0 : value))
      const once = exactFromFloats(counted, exponent)
      expectSame(found.words, mergeExact(once, once))
      const sums = floatsFromExact(found.words, exponent, rows * width)
      expectSameBits(
        found.floats,
        sums.map((sum, at) => (counts[Math.floor(at / width)] === 0 ? 5 : sum)),
      )
    })

    test('agrees with whole numbers without limit on any shape', async () => {
      const shape = fc.record({
        rows: size(140),
        width: size(20),
        parts: fc.integer({ min: 1, max: 5 }),
        exponent: fc.integer({ min: -149, max: 87 }),
        orders: fc.integer({ min: 1, max: 90 }),
        seed: anySeed,
      })
      await checkProperty(opened.runs, shape, async ({ rows, width, parts, exponent, orders, seed }) => {
        // The largest is below 2^(exponent + 90), and 5 of them below 2^93.
        const scale = 2 ** Math.min(exponent + 90 - orders, 127 - orders)
        const values = Array.from({ length: parts }, (_, part) =>
          spreadFloats(rows * width, orders, seed + part).map((value) => value * scale),
        )
        await check(opened, { rows, width, exponent }, values)
      })
    })

    test.each([-150, 88, 0.5, Number.NaN])('refuses the exponent %d', async (exponent) => {
      await expect(run(opened, { rows: 1, width: 1, exponent }, [bits(1)])).rejects.toThrow(RangeError)
    })
  })
})

describe('exact sums on the host', () => {
  test('an exponent leaves the bound a bit to spare', () => {
    expect(exactExponent(1)).toBe(-94)
    expect(exactExponent(1.0000001)).toBe(-93)
    expect(exactExponent(2 ** 20)).toBe(-74)
    expect(exactExponent(2 ** 20 - 1)).toBe(-74)
    expect(exactExponent(2 ** 20 + 2 ** -30)).toBe(-73)
    expect(exactExponent(0)).toBe(-149)
    expect(exactExponent(-0)).toBe(-149)
    expect(exactExponent(5e-324)).toBe(-149)
    expect(exactExponent(2 ** -55)).toBe(-149)
    expect(exactExponent(2 ** -54)).toBe(-148)
    expect(exactExponent(Number.MAX_VALUE)).toBe(87)
    expect(exactExponent(Number.POSITIVE_INFINITY)).toBe(87)
    expect(() => exactExponent(-1)).toThrow(RangeError)
    expect(() => exactExponent(Number.NaN)).toThrow(RangeError)
  })

  test('merging carries through all words', () => {
    const random = createRandom(9)
    const edges = [0n, 1n, -1n, 0xffffffffn, 1n << 32n, -(1n << 32n), (1n << 64n) - 1n, 1n << 64n, -(1n << 64n)]
    const any = Array.from({ length: 300 }, () => BigInt.asIntN(94, BigInt(random.below(2 ** 31)) ** 3n))
    const [a, b]: bigint[][] = [[], []]
    for (const left of [...edges, ...any]) {
      for (const right of edges) {
        a.push(left)
        b.push(right)
      }
    }
    const [left, right] = [wordsOf(a), wordsOf(b)]
    const expected = wordsOf(a.map((number, i) => number + b[i]))
    expectSame(mergeExact(left, right), expected)
    expectSame(left, wordsOf(a))
    mergeExactInto(left, right)
    expectSame(left, expected)
    expect(() => mergeExact(left, right.subarray(3))).toThrow(RangeError)
  })

  test('planes begin where a binding may', () => {
    for (const [rows, width] of [
      [1, 1],
      [7, 5],
      [64, 4],
      [1031, 132],
    ]) {
      expect((exactPlane(rows * width) * 4) % 256).toBe(0)
      expect(exactBytes(rows, width)).toBe(exactPlane(rows * width) * 12)
    }
  })
})

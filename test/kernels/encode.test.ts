import { describe, expect, test } from 'vitest'
import { bookStride, codeBytes, codeStride, encode, errorBytes } from '../../src/kernels/encode.ts'
import { fc } from '../properties.ts'
import { distanceBound, expectChoices, expectClose, expectSame, scoreBound } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice } from './devices.ts'
import { columns, countOf, lengthOf, longest, type Rows, ranking, squaredDistance } from './oracles.ts'
import {
  anySeed,
  centers,
  checkProperty,
  EXACT,
  exactFlavour,
  type Flavour,
  points,
  ROUGH,
  roughFlavour,
} from './vectors.ts'

interface Case {
  readonly x: Rows
  readonly ranges: readonly number[]
  readonly h: number
  /** A codebook for each subspace, unpadded. */
  readonly books: readonly Rows[]
}

function makeCase(flavour: Flavour, n: number, ranges: readonly number[], h: number, seed: number): Case {
  const d = ranges[ranges.length - 1]
  const books = ranges.slice(1).map((end, s) => {
    const cols = end - ranges[s]
    return { data: centers(flavour, h, cols, seed + 2 + s), cols }
  })
  return { x: { data: points(flavour, n, d, seed), cols: d }, ranges, h, books }
}

/** Codes of every point, [n][m], as 32-bit numbers whatever their width on the device. */
async function run(opened: OpenedDevice, { x, ranges, h, books }: Case): Promise<Uint32Array> {
  return opened.use(async (buffers) => {
    const n = countOf(x)
    const m = books.length
    const stride = bookStride(ranges)
    const packed = new Float32Array(m * h * stride)
    books.forEach((book, s) => {
      for (let j = 0; j < h; j++) {
        packed.set(book.data.subarray(j * book.cols, (j + 1) * book.cols), (s * h + j) * stride)
      }
    })
    const codes = buffers.output(codeBytes(n, m, h))
    const errors = buffers.output(errorBytes(n, m))
    await encode(buffers.device, {
      points: buffers.rows(x.data, x.cols),
      ranges,
      books: buffers.upload(packed),
      codewords: h,
      codes: codes.buffer,
      errors: errors.buffer,
    })
    const all = h <= 256 ? await codes.bytes() : await codes.words()
    const found = Uint32Array.from({ length: n * m }, (_, i) => all[Math.floor(i / m) * codeStride(m) + (i % m)])
    const expected = errorsOf({ x, ranges, h, books }, found)
    expectClose(await errors.floats(), expected, (i) => distanceBound(x.cols + 4, expected[i]))
    return found
  })
}

/** Squared distances to the codewords taken, four subspaces to a number. */
function errorsOf({ x, ranges, books }: Case, codes: Uint32Array): Float64Array {
  const m = books.length
  const perRow = codeStride(m) / 4
  const errors = new Float64Array(countOf(x) * perRow)
  books.forEach((book, s) => {
    const part = columns(x, ranges[s], ranges[s + 1])
    for (let i = 0; i < countOf(x); i++) {
      errors[i * perRow + Math.floor(s / 4)] += squaredDistance(part, i, book, codes[i * m + s])
    }
  })
  return errors
}

async function checkExact(opened: OpenedDevice, given: Case): Promise<void> {
  const found = await run(opened, given)
  const m = given.books.length
  const expected = new Uint32Array(found.length)
  given.books.forEach((book, s) => {
    const part = columns(given.x, given.ranges[s], given.ranges[s + 1])
    for (let i = 0; i < countOf(part); i++) expected[i * m + s] = ranking(part, i, book)[0].label
  })
  expectSame(found, expected)
}

async function checkRough(opened: OpenedDevice, given: Case): Promise<void> {
  const found = await run(opened, given)
  const m = given.books.length
  given.books.forEach((book, s) => {
    const part = columns(given.x, given.ranges[s], given.ranges[s + 1])
    const reach = longest(book)
    expectChoices(
      Array.from({ length: countOf(part) }, (_, i) => {
        const label = found[i * m + s]
        return {
          label,
          chosen: label < given.h ? squaredDistance(part, i, book, label) : undefined,
          best: ranking(part, i, book)[0].distance,
          slack: scoreBound(book.cols, lengthOf(part, i), reach),
        }
      }),
    )
  })
}

const RANGES: Record<string, readonly number[]> = {
  'one subspace of one column': [0, 1],
  'one subspace': [0, 13],
  'one column each': [0, 1, 2, 3, 4, 5],
  'four of four': [0, 4, 8, 12, 16],
  'three of 17': [0, 6, 12, 17],
  'uneven ones': [0, 1, 9, 11, 24, 25, 29],
  'two to nine quads': [0, 33, 40, 66],
  'wide ones': [0, 64, 70, 135],
  'very wide ones': [0, 97, 230],
  'ten of 129': [0, 13, 26, 39, 52, 65, 78, 91, 104, 117, 129],
}

onEveryDevice((opened) => {
  describe('encode', () => {
    test.each(Object.keys(RANGES))('is exact on whole numbers, %s', async (name) => {
      for (const flavour of EXACT) {
        for (const h of [1, 5, 17]) await checkExact(opened, makeCase(flavour, 19, RANGES[name], h, 1))
      }
    })

    test.each([255, 256, 257, 300])('is exact on whole numbers, %i codewords', async (h) => {
      for (const flavour of EXACT) await checkExact(opened, makeCase(flavour, 70, [0, 3, 7, 9], h, 2))
    })

    test('reaches the last codeword', async () => {
      for (const h of [256, 300]) {
        const x = { data: Float32Array.from({ length: h }, (_, i) => i), cols: 1 }
        const found = await run(opened, { x, ranges: [0, 1], h, books: [x] })
        expectSame(
          found,
          Array.from({ length: h }, (_, i) => i),
        )
      }
    })

    test.each([1, 2, 3, 17, 127, 129, 511, 513])('encodes %i points', async (n) => {
      await checkExact(opened, makeCase('whole', n, [0, 2, 5], 9, 3))
    })

    test.each(ROUGH)('is as near as rounding lets it be, %s values', async (flavour) => {
      await checkRough(opened, makeCase(flavour, 40, [0, 5, 11, 19], 21, 4))
    })

    test('agrees with the oracle on any ranges', async () => {
      const cases = (flavours: fc.Arbitrary<Flavour>): fc.Arbitrary<Case> =>
        fc
          .record({
            widths: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 7 }),
            n: fc.integer({ min: 1, max: 40 }),
            h: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(256, 257)),
            flavour: flavours,
            seed: anySeed,
          })
          .map(({ widths, n, h, flavour, seed }) => {
            const ranges = [0]
            for (const width of widths) ranges.push(ranges[ranges.length - 1] + width)
            return makeCase(flavour, n, ranges, h, seed)
          })
      await checkProperty(opened.runs, cases(exactFlavour), (given) => checkExact(opened, given))
      await checkProperty(opened.runs, cases(roughFlavour), (given) => checkRough(opened, given))
    })

    test('keeps no memory', async () => {
      const given = makeCase('whole', 9, [0, 2, 5], 4, 5)
      await run(opened, given)
      const before = opened.device.allocatedBytes
      await run(opened, given)
      expect(opened.device.allocatedBytes).toBe(before)
    })
  })
})

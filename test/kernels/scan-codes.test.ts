import { describe, expect, test } from 'vitest'
import { bookStride, codeStride } from '../../src/kernels/encode.ts'
import { codeLayout, mergeRanked, NO_QUERY, type ScanTask, scanCodes } from '../../src/kernels/scan-codes.ts'
import { fc } from '../properties.ts'
import { distanceBound, expectClose, expectSame } from '../tolerance.ts'
import { DEVICES, type OpenedDevice, onDevices } from './devices.ts'
import { anySeed, centers, checkProperty, type Flavour, wholeNumbers } from './vectors.ts'

interface Case {
  readonly queries: Float32Array
  readonly ranges: readonly number[]
  readonly h: number
  /** [m][h][width], unpadded */
  readonly books: readonly Float32Array[]
  /** [n][m] */
  readonly codes: Uint32Array
  readonly nearest: number
  readonly parts: number
}

interface Shape {
  readonly q: number
  readonly n: number
  readonly widths: readonly number[]
  readonly h: number
  readonly nearest: number
  readonly parts: number
}

function makeCase(flavour: Flavour, { q, n, widths, h, nearest, parts }: Shape, seed: number): Case {
  const ranges = [0]
  for (const width of widths) ranges.push(ranges[ranges.length - 1] + width)
  const books = widths.map((width, s) => centers(flavour, h, width, seed + 3 + s))
  const queries = centers(flavour, q, ranges[widths.length], seed)
  return { queries, ranges, h, books, codes: wholeNumbers(n * widths.length, h, seed + 1), nearest, parts }
}

/** Codes as scanCodes reads them: packed into cells, cells padded to a multiple of four. */
function packed({ codes, ranges, h }: Case): Uint8Array | Uint32Array {
  const m = ranges.length - 1
  const { bits, perCell, cells } = codeLayout(m, h)
  const stride = codeStride(cells)
  const n = codes.length / m
  const laid = bits === 32 ? new Uint32Array(n * stride) : new Uint8Array(n * stride)
  codes.forEach((code, at) => {
    const s = at % m
    laid[Math.floor(at / m) * stride + Math.floor(s / perCell)] |= code << (bits === 32 ? 0 : (s % perCell) * bits)
  })
  return laid
}

function tasksOf(q: number, n: number, parts: number): ScanTask[] {
  const tasks: ScanTask[] = []
  const size = Math.ceil(n / parts)
  for (let first = 0; first < q; first += 4) {
    const queries = Array.from({ length: Math.min(4, q - first) }, (_, lane) => first + lane)
    for (let part = 0; part < parts; part++) {
      tasks.push({ queries, first: Math.min(n, part * size), last: Math.min(n, (part + 1) * size), part })
    }
  }
  return tasks
}

async function run(opened: OpenedDevice, given: Case): Promise<{ ids: Uint32Array; distances: Float32Array }> {
  const { queries, ranges, h, books, codes, nearest, parts } = given
  const m = ranges.length - 1
  const s = ranges[m]
  const q = queries.length / s
  const n = codes.length / m
  const stride = bookStride(ranges)
  const laid = new Float32Array(m * h * stride)
  books.forEach((book, space) => {
    const width = ranges[space + 1] - ranges[space]
    for (let j = 0; j < h; j++) laid.set(book.subarray(j * width, (j + 1) * width), (space * h + j) * stride)
  })
  return opened.use(async (buffers) => {
    const partIds = buffers.output(q * parts * nearest * 4)
    const partDistances = buffers.output(q * parts * nearest * 4)
    await scanCodes(buffers.device, {
      queries: buffers.rows(queries, s),
      ranges,
      books: buffers.upload(laid),
      codewords: h,
      codes: buffers.upload(packed(given)),
      tasks: tasksOf(q, n, parts),
      parts,
      nearest,
      ids: partIds.buffer,
      distances: partDistances.buffer,
    })
    await partIds.bytes()
    const ids = buffers.output(q * nearest * 4)
    const distances = buffers.output(q * nearest * 4)
    await mergeRanked(buffers.device, {
      queries: q,
      lists: parts,
      nearest,
      ids: partIds.buffer,
      distances: partDistances.buffer,
      outIds: ids.buffer,
      outDistances: distances.buffer,
    })
    return { ids: await ids.words(), distances: await distances.floats() }
  })
}

function distanceTo({ queries, ranges, books, codes }: Case, query: number, id: number): number {
  const m = ranges.length - 1
  let sum = 0
  for (let s = 0; s < m; s++) {
    const width = ranges[s + 1] - ranges[s]
    for (let t = 0; t < width; t++) {
      sum += (queries[query * ranges[m] + ranges[s] + t] - books[s][codes[id * m + s] * width + t]) ** 2
    }
  }
  return sum
}

async function check(opened: OpenedDevice, given: Case, exact: boolean): Promise<void> {
  const { ranges, codes, nearest } = given
  const m = ranges.length - 1
  const n = codes.length / m
  const q = given.queries.length / ranges[m]
  const { ids, distances } = await run(opened, given)
  for (let query = 0; query < q; query++) {
    const all = Array.from({ length: n }, (_, id) => ({ id, distance: distanceTo(given, query, id) })).sort(
      (a, b) => a.distance - b.distance || a.id - b.id,
    )
    const found = Array.from(ids.subarray(query * nearest, (query + 1) * nearest))
    const there = Math.min(n, nearest)
    expect(found.slice(there).every((id) => id === NO_QUERY)).toBe(true)
    const mine = found.slice(0, there)
    expect(new Set(mine).size).toBe(there)
    const own = mine.map((id) => distanceTo(given, query, id))
    const bound = (i: number): number => 2 * distanceBound(ranges[m] + m, all[i].distance)
    if (exact)
      expectSame(
        mine,
        all.slice(0, there).map(({ id }) => id),
      )
    else
      expectClose(
        own,
        all.slice(0, there).map(({ distance }) => distance),
        bound,
      )
    expectClose(distances.subarray(query * nearest, query * nearest + there), own, bound)
  }
}

/** The tables of a case take up to 1,024 threads a query: more than the smallest grids hold. */
onDevices(
  DEVICES.filter(({ name }) => !name.startsWith('webgpu with small limits')),
  (opened) => {
    describe('scan-codes', () => {
      test.each([1, 2, 3, 4, 5, 16, 17, 256, 257])('%i codewords', async (h) => {
        for (const m of [1, 3, 8, 9]) {
          const shape = { q: 3, n: 41, widths: Array<number>(m).fill(2), h, nearest: 7, parts: 2 }
          await check(opened, makeCase('whole', shape, h + m), true)
        }
      })

      test.each([1, 3, 4, 5, 9])('%i queries', async (q) => {
        await check(opened, makeCase('unit', { q, n: 60, widths: [3, 1, 4], h: 30, nearest: 5, parts: 1 }, q), false)
      })

      test.each([1, 2, 7, 40])('%i parts, some of them empty', async (parts) => {
        await check(opened, makeCase('whole', { q: 5, n: 33, widths: [2, 3], h: 6, nearest: 9, parts }, parts), true)
      })

      test.each([1, 17, 255, 256, 257])('the %i nearest of many codes, with many ties', async (nearest) => {
        for (const [m, h] of [
          [3, 4],
          [8, 17],
          [17, 17],
          [9, 300],
        ]) {
          const shape = { q: 2, n: 2600, widths: Array<number>(m).fill(1), h, nearest, parts: 1 }
          await check(opened, makeCase('whole', shape, m), true)
        }
      })

      test.each([2049, 4097])('tables of %i entries a cell', async (h) => {
        await check(opened, makeCase('whole', { q: 2, n: 513, widths: [1, 2], h, nearest: 9, parts: 1 }, h), true)
      })

      test('more asked for than there are, ties to the lower id', async () => {
        await check(opened, makeCase('whole', { q: 2, n: 12, widths: [1], h: 2, nearest: 20, parts: 3 }, 5), true)
      })

      test('agrees with the oracle whatever the shape', async () => {
        const shapes = fc.record({
          shape: fc.record({
            q: fc.integer({ min: 1, max: 6 }),
            n: fc.integer({ min: 1, max: 150 }),
            widths: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 13 }),
            h: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(200, 300)),
            nearest: fc.integer({ min: 1, max: 30 }),
            parts: fc.integer({ min: 1, max: 4 }),
          }),
          flavour: fc.constantFrom<Flavour>('whole', 'unit', 'offset', 'tiny', 'repeated'),
          seed: anySeed,
        })
        await checkProperty(opened.runs, shapes, ({ shape, flavour, seed }) =>
          check(opened, makeCase(flavour, shape, seed), flavour === 'whole'),
        )
      })

      test('keeps no memory', async () => {
        const given = makeCase('unit', { q: 4, n: 30, widths: [2, 2], h: 4, nearest: 3, parts: 2 }, 1)
        await run(opened, given)
        const before = opened.device.allocatedBytes
        await run(opened, given)
        expect(opened.device.allocatedBytes).toBe(before)
      })
    })
  },
)

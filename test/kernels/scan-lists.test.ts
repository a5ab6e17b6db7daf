import { describe, expect, test } from 'vitest'
import { elements } from '../../src/device/fields.ts'
import { bookStride, codeStride } from '../../src/kernels/encode.ts'
import { scanListsPasses } from '../../src/kernels/list-steps.ts'
import { codeLayout, NO_QUERY } from '../../src/kernels/scan-codes.ts'
import { isBlocked, SCAN_BLOCK, scanListsKernel } from '../../src/kernels/scan-lists.ts'
import { fc } from '../properties.ts'
import { distanceBound, expectClose, expectSame } from '../tolerance.ts'
import { DEVICES_WITH_CUT_TILES, type OpenedDevice, onDevices } from './devices.ts'
import { anySeed, centers, checkProperty, type Flavour, wholeNumbers } from './vectors.ts'

interface Shape {
  readonly queries: number
  /** Vectors of each list. */
  readonly sizes: readonly number[]
  readonly widths: readonly number[]
  readonly h: number
  readonly most: number
  readonly inner: boolean
  /** Every so many slots may not be found; 0: all may. */
  readonly hidden: number
  readonly within: number
}

interface Case extends Shape {
  readonly ranges: readonly number[]
  readonly points: Float32Array
  readonly places: Float32Array
  readonly books: readonly Float32Array[]
  /** [slots][m]; slots behind the end of a list hold rubbish. */
  readonly codes: Uint32Array
  readonly ids: Uint32Array
  readonly firsts: readonly number[]
  readonly slots: number
}

function makeCase(flavour: Flavour, shape: Shape, seed: number): Case {
  const { queries, sizes, widths, h } = shape
  const ranges = [0]
  for (const width of widths) ranges.push(ranges[ranges.length - 1] + width)
  const width = ranges[widths.length]
  const firsts: number[] = []
  let slots = 0
  for (const size of sizes) {
    firsts.push(slots)
    slots += Math.ceil(size / SCAN_BLOCK) * SCAN_BLOCK
  }
  return {
    ...shape,
    ...{ ranges, firsts, slots },
    points: centers(flavour, queries, width, seed),
    places: centers(flavour, sizes.length, width, seed + 1),
    books: widths.map((each, s) => centers(flavour, h, each, seed + 2 + s)),
    codes: wholeNumbers(slots * widths.length, h, seed + 3),
    // Ids fall, so that the order of slots is not theirs.
    ids: Uint32Array.from({ length: slots }, (_, slot) => 5 * (slots - slot)),
  }
}

/** What the code in a slot stands for, less the query; or the product with it. */
function farFrom({ ranges, points, places, books, codes, inner }: Case, query: number, list: number, slot: number) {
  const m = ranges.length - 1
  const width = ranges[m]
  let sum = 0
  for (let s = 0; s < m; s++) {
    for (let t = ranges[s]; t < ranges[s + 1]; t++) {
      const word = books[s][codes[slot * m + s] * (ranges[s + 1] - ranges[s]) + t - ranges[s]]
      const value = places[list * width + t] + word
      const asked = points[query * width + t]
      sum += inner ? -asked * value : (asked - value) ** 2
    }
  }
  return sum
}

function isHidden({ hidden }: Case, slot: number): boolean {
  return hidden > 0 && slot % hidden === 0
}

/** Terms as the index stores them. */
function termsOf(given: Case): Float32Array {
  const { ranges, places, books, codes, firsts, sizes, slots, inner } = given
  const m = ranges.length - 1
  const terms = new Float32Array(slots)
  sizes.forEach((size, list) => {
    for (let slot = firsts[list]; slot < firsts[list] + size && !inner; slot++) {
      for (let s = 0; s < m; s++) {
        for (let t = ranges[s]; t < ranges[s + 1]; t++) {
          const word = books[s][codes[slot * m + s] * (ranges[s + 1] - ranges[s]) + t - ranges[s]]
          terms[slot] += word * word + 2 * places[list * ranges[m] + t] * word
        }
      }
    }
  })
  return terms
}

function packed({ codes, ranges, h, slots }: Case, blocked: boolean): Uint8Array | Uint32Array {
  const m = ranges.length - 1
  const { bits, perCell, cells } = codeLayout(m, h)
  const stride = codeStride(cells)
  if (blocked) {
    const out = new Uint8Array(slots * cells)
    codes.forEach((code, at) => {
      const slot = Math.floor(at / m)
      const cell = Math.floor((at % m) / 2)
      const lane = slot % SCAN_BLOCK
      out[(slot - lane) * cells + cell * SCAN_BLOCK + lane] |= code << (4 * ((at % m) % 2))
    })
    return out
  }
  const out = bits === 32 ? new Uint32Array(slots * stride) : new Uint8Array(slots * stride)
  codes.forEach((code, at) => {
    const s = at % m
    out[Math.floor(at / m) * stride + Math.floor(s / perCell)] |= code << (bits === 32 ? 0 : (s % perCell) * bits)
  })
  return out
}

async function run(opened: OpenedDevice, given: Case): Promise<{ ids: Uint32Array; distances: Float32Array }> {
  const { queries, sizes, ranges, h, most, inner, points, places, books, firsts, ids, slots, hidden, within } = given
  const m = ranges.length - 1
  const width = ranges[m]
  const stride = bookStride(ranges)
  const laid = new Float32Array(m * h * stride)
  books.forEach((book, s) => {
    const own = ranges[s + 1] - ranges[s]
    for (let j = 0; j < h; j++) laid.set(book.subarray(j * own, (j + 1) * own), (s * h + j) * stride)
  })
  const k = sizes.length
  const lists = Uint32Array.from({ length: queries * k }, (_, i) => (Math.floor(i / k) + i) % k)
  const bases = Float32Array.from(lists, (list, i) => {
    const query = Math.floor(i / k)
    let sum = 0
    for (let t = 0; t < width; t++) {
      const [asked, center] = [points[query * width + t], places[list * width + t]]
      sum += inner ? -asked * center : (asked - center) ** 2
    }
    return sum
  })
  const onCpu = opened.device.info.kind === 'cpu'
  const mask = new Uint8Array(Math.ceil(slots / 32) * 4)
  for (let slot = 0; slot < slots; slot++) if (!isHidden(given, slot)) mask[slot >> 3] |= 1 << (slot & 7)
  const blocked = onCpu && isBlocked(m, h)
  const codes = packed(given, blocked)
  const { bits, cells } = codeLayout(m, h)
  return opened.use(async (buffers) => {
    const outIds = buffers.output(queries * most * 4)
    const outDistances = buffers.output(queries * most * 4)
    const room = {
      projected: buffers.upload(points),
      lists: buffers.upload(lists),
      bases: buffers.upload(bases),
      extents: buffers.upload(Uint32Array.from(sizes.flatMap((size, list) => [firsts[list], size]))),
      ranges: buffers.upload(Uint32Array.from(ranges)),
      books: buffers.upload(laid),
      codes: buffers.upload(codes),
      terms: buffers.upload(termsOf(given)),
      ids: buffers.upload(ids),
      centers: buffers.upload(places),
      allowed: hidden > 0 ? buffers.upload(mask) : undefined,
    }
    const plain = {
      width,
      probe: k,
      m,
      bookStride: stride,
      codeStride: blocked ? cells : codeStride(cells),
      within,
      inner,
      most,
    }
    await buffers.device.run({
      name: 'scan-lists',
      webgpu: (gpu) =>
        scanListsPasses(gpu, buffers.scope, {
          ...{ ...room, ...plain, rows: queries, k, codewords: h, slots, whole: true },
          ...{ queries: room.projected, queryStride: width, stride: width, projectedCenters: room.centers },
          ...{ outIds: outIds.buffer, outDistances: outDistances.buffer },
        }),
      *cpu(memory) {
        yield scanListsKernel.job(memory, {
          ...{ ...plain, h, bits, blocked, whole: true },
          projected: elements(room.projected),
          lists: elements(room.lists),
          bases: elements(room.bases),
          extents: elements(room.extents),
          ranges: elements(room.ranges),
          books: elements(room.books),
          codes: elements(room.codes, codes.byteLength),
          terms: elements(room.terms),
          ids: elements(room.ids),
          centers: elements(room.centers),
          allowed: elements(room.allowed, mask.length),
          outIds: elements(outIds.buffer, queries * most),
          outDistances: elements(outDistances.buffer, queries * most),
        })
      },
    })
    return { ids: await outIds.words(), distances: await outDistances.floats() }
  })
}

async function check(opened: OpenedDevice, given: Case, exact: boolean): Promise<void> {
  const { queries, sizes, firsts, most, ranges, ids: named, inner, within } = given
  const { ids, distances } = await run(opened, given)
  const width = ranges[ranges.length - 1]
  for (let query = 0; query < queries; query++) {
    const all = sizes.flatMap((size, list) =>
      Array.from({ length: size }, (_, i) => firsts[list] + i)
        .filter((slot) => !isHidden(given, slot))
        .map((slot) => ({ id: named[slot], far: farFrom(given, query, list, slot) })),
    )
    all.sort((a, b) => a.far - b.far || a.id - b.id)
    const scale = all.reduce((sum, { far }) => Math.max(sum, Math.abs(far)), 1)
    const bound = (): number => 8 * distanceBound(width + 40, inner ? 40 * scale : 8 * scale)
    const near = all.filter(({ far }) => far <= within)
    const found = Array.from(ids.subarray(query * most, (query + 1) * most)).filter((id) => id !== NO_QUERY)
    const farOf = new Map(all.map(({ id, far }) => [id, far]))
    expect(new Set(found).size).toBe(found.length)
    const own = found.map((id) => farOf.get(id) as number)
    expectClose(distances.subarray(query * most, query * most + found.length), own, bound)
    if (exact) {
      expectSame(
        found,
        near.slice(0, most).map(({ id }) => id),
      )
      continue
    }
    if (within === Number.POSITIVE_INFINITY) expect(found.length).toBe(Math.min(most, all.length))
    expectClose(
      own,
      all.slice(0, found.length).map(({ far }) => far),
      bound,
    )
  }
}

const PLAIN = { inner: false, hidden: 0, within: Number.POSITIVE_INFINITY }

/** The tables of a case take up to 1,024 threads a query: more than the smallest grids hold. */
onDevices(
  DEVICES_WITH_CUT_TILES.filter(({ name }) => !name.startsWith('webgpu with small limits')),
  (opened) => {
    describe('scan-lists', () => {
      test.each([1, 2, 3, 4, 5, 16, 17, 256, 257])('%i codewords', async (h) => {
        for (const m of [1, 3, 8, 9]) {
          const shape = { ...PLAIN, queries: 3, sizes: [20, 0, 33, 1], widths: Array<number>(m).fill(2), h, most: 7 }
          await check(opened, makeCase('whole', shape, h + m), true)
        }
      })

      test.each([1, 15, 16, 17, 300])('the %i nearest, with many ties', async (most) => {
        for (const h of [4, 16, 40]) {
          const shape = { ...PLAIN, queries: 2, sizes: [100, 16, 15], widths: [1, 1, 1], h, most }
          await check(opened, makeCase('whole', shape, h), true)
        }
      })

      test('many codes: several parts of a query on a GPU, or several tiles of a part', async () => {
        for (const [queries, most] of [
          [2, 300],
          [16, 256],
        ]) {
          const shape = { ...PLAIN, queries, sizes: [2100, 0, 1500, 300], widths: [1, 1], h: 16, most }
          await check(opened, makeCase('whole', shape, most), true)
        }
      })

      test.each([9, 16, 100])('filters, inner products and limits, %i codewords', async (h) => {
        const shape = { queries: 4, sizes: [40, 31], widths: [2, 3, 1], h, most: 20 }
        await check(opened, makeCase('whole', { ...shape, inner: true, hidden: 0, within: 2 }, 1), true)
        await check(opened, makeCase('whole', { ...shape, inner: false, hidden: 3, within: 30 }, 2), true)
        await check(opened, makeCase('whole', { ...shape, ...PLAIN, hidden: 1 }, 3), true)
      })

      test('agrees with the oracle whatever the shape', async () => {
        const shapes = fc.record({
          shape: fc.record({
            queries: fc.integer({ min: 1, max: 5 }),
            sizes: fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 6 }),
            widths: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 13 }),
            h: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(16, 200, 300)),
            most: fc.integer({ min: 1, max: 40 }),
            inner: fc.boolean(),
            hidden: fc.constantFrom(0, 0, 2, 5),
            within: fc.constantFrom(Number.POSITIVE_INFINITY),
          }),
          flavour: fc.constantFrom<Flavour>('whole', 'unit', 'repeated'),
          seed: anySeed,
        })
        await checkProperty(opened.runs, shapes, ({ shape, flavour, seed }) =>
          check(opened, makeCase(flavour, shape, seed), flavour === 'whole'),
        )
      })
    })
  },
)

import { describe, expect, test } from 'vitest'
import { accumulate, createAccumulateWorkspace } from '../../src/kernels/accumulate.ts'
import { allocateRows, firstRows, type RowRange, writeRows } from '../../src/kernels/rows.ts'
import { fc } from '../properties.ts'
import { clusterTerms, expectClose, expectSame, expectSameBits, sumBound } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice, unpadded } from './devices.ts'
import { countOf, NONE, type Rows, type Sums, sumsByLabel } from './oracles.ts'
import { sparsePoints, sparsified, uploadSparse } from './sparse-rows.ts'
import {
  anyFlavour,
  anySeed,
  checkProperty,
  EXACT,
  type Flavour,
  points,
  ROUGH,
  size,
  weights,
  wholeNumbers,
} from './vectors.ts'

/** Sparse rows are given without their zeros; sums are those over the rows in full. */
type Kind = 'dense' | 'sparse'
const KINDS = ['dense', 'sparse'] as const

interface Part {
  readonly x: Rows
  readonly kind: Kind
  readonly labels: Uint32Array
  readonly weights?: Float32Array | undefined
  readonly range?: RowRange
}

interface Result {
  readonly sums: Float32Array
  readonly totals: Float32Array
  readonly counts: Uint32Array
  readonly order: Uint32Array
  readonly offsets: Uint32Array
}

/**
 * The parts one after the other through the same memory, each but the first on top of what is there. `kept` are padded sums
 * from before, which stay where there are no points.
 */
async function run(opened: OpenedDevice, parts: readonly Part[], k: number, kept?: Float32Array): Promise<Result> {
  return opened.use(async (buffers) => {
    const { x, kind } = parts[0]
    const { cols } = x
    const most = Math.max(...parts.map(({ x }) => countOf(x)))
    const type = x.data instanceof Uint8Array ? 'u8' : 'f32'
    const all = allocateRows(buffers.scope, most, cols, type, 'points')
    const workspace = createAccumulateWorkspace(buffers.device, buffers.scope, most, all.stride, k, kind === 'sparse')
    const sums = buffers.output(k * all.stride * 4, kept)
    const totals = buffers.output(k * 4)
    const counts = buffers.output(k * 4)
    for (const part of parts) {
      const n = countOf(part.x)
      if (kind === 'dense') writeRows(buffers.device, all, part.x.data)
      await accumulate(buffers.device, {
        points:
          kind === 'dense'
            ? firstRows(all, n)
            : uploadSparse(buffers, sparsified(Float32Array.from(part.x.data), n, cols)),
        labels: buffers.upload(part.labels),
        weights: part.weights && buffers.upload(part.weights),
        k,
        sums: sums.buffer,
        totals: totals.buffer,
        counts: counts.buffer,
        workspace,
        add: part !== parts[0],
        range: part.range,
        keepEmpty: kept !== undefined,
      })
    }
    const device = buffers.device
    return {
      sums: unpadded(await sums.floats(), k, cols),
      totals: await totals.floats(),
      counts: await counts.words(),
      order: new Uint32Array(await device.read(workspace.order)),
      offsets: new Uint32Array(await device.read({ buffer: workspace.tables, offset: 0, bytes: (k + 1) * 4 })),
    }
  })
}

function expectSums(found: Result, expected: Sums, { x: { cols }, kind }: Part, parts = 1): void {
  const { counts } = expected
  // Sparse rows are not summed in pieces.
  const terms = (j: number): number => (kind === 'sparse' ? counts[j] + 2 : clusterTerms(counts[j], parts))
  expectSame(found.counts, counts)
  expectClose(found.sums, expected.sums, (at) => sumBound(terms(Math.floor(at / cols)), expected.magnitudes[at]))
  // Weights are never negative, so their sum is their magnitude.
  expectClose(found.totals, expected.totals, (j) => sumBound(terms(j), expected.totals[j]))
}

function expectExact(found: Result, expected: Sums): void {
  expectSame(found.counts, expected.counts)
  expectSame(found.sums, expected.sums)
  expectSame(found.totals, expected.totals)
}

/** Points by cluster in rising order, as others read them from the workspace. */
function expectOrder(found: Result, expected: Sums): void {
  expectSame(found.offsets, expected.offsets)
  expectSame(found.order.subarray(0, expected.order.length), expected.order)
}

function makePart(
  flavour: Flavour,
  n: number,
  cols: number,
  labels: Uint32Array,
  weighted: boolean,
  seed: number,
  kind: Kind = 'dense',
): Part {
  const share = Math.min(0.6, 8 / cols)
  const x =
    kind === 'sparse'
      ? sparsePoints(flavour, n, cols, share, seed).dense
      : { data: points(flavour, n, cols, seed), cols }
  return { x, kind, labels, weights: weighted ? weights(n, seed + 1) : undefined }
}

/** Labels of 0 to bound - 1; where the bound is above k, some points have no cluster. */
async function check(
  opened: OpenedDevice,
  flavour: Flavour,
  [n, k, cols]: readonly number[],
  labels: Uint32Array,
  weighted: boolean,
  kind: Kind = 'dense',
): Promise<void> {
  const part = makePart(flavour, n, cols, labels, weighted, 7, kind)
  const expected = sumsByLabel(part.x, labels, k, part.weights)
  const found = await run(opened, [part], k)
  expectSums(found, expected, part)
  expectOrder(found, expected)
  if (!weighted && (EXACT as readonly string[]).includes(flavour)) expectExact(found, expected)
}

/** The same rows in a part of their own. */
function rowsOf({ x, kind, labels, weights }: Part, from: number, count: number): Part {
  const data = x.data.slice(from * x.cols, (from + count) * x.cols)
  const end = from + count
  return { x: { data, cols: x.cols }, kind, labels: labels.slice(from, end), weights: weights?.slice(from, end) }
}

const RANGES = [
  [0, 900],
  [0, 1],
  [1, 2],
  [3, 257],
  [250, 513],
  [899, 1],
  [17, 0],
  [900, 0],
]

const SHAPES = [
  [1, 1, 1],
  [1, 5, 3],
  [2, 3, 5],
  [5, 2, 4],
  [17, 129, 2],
  [127, 17, 17],
  [129, 511, 3],
  [511, 4, 1],
  [513, 255, 5],
  [513, 256, 4],
  [511, 257, 2],
  [129, 3, 127],
  [5, 3, 513],
]

const SPARSE_SHAPES = [
  [1, 1, 1],
  [2, 3, 5],
  [5, 2, 4],
  [17, 129, 2],
  [129, 3, 127],
  [600, 1, 129],
  [300, 40, 17],
  [5, 3, 513],
]

onEveryDevice((opened) => {
  describe('accumulate', () => {
    test.each(SHAPES)('sums %i points in %i clusters, %i columns', async (n, k, d) => {
      for (const flavour of EXACT) {
        await check(opened, flavour, [n, k, d], wholeNumbers(n, k, 1), false)
        await check(opened, flavour, [n, k, d], wholeNumbers(n, k + 2, 2), true)
      }
    })

    test.each(SPARSE_SHAPES)('sums %i sparse rows in %i clusters, %i columns', async (n, k, d) => {
      await check(opened, 'whole', [n, k, d], wholeNumbers(n, k, 1), false, 'sparse')
      await check(opened, 'whole', [n, k, d], wholeNumbers(n, k + 2, 2), true, 'sparse')
    })

    test.each(ROUGH)('is exact to rounding on %s values', async (flavour) => {
      const shape = [700, 5, 6]
      await check(opened, flavour, shape, wholeNumbers(700, 7, 3), false)
      await check(opened, flavour, shape, wholeNumbers(700, 7, 4), true)
    })

    test.each([255, 256, 257, 512, 513, 1100])('sums a cluster of %i points', async (n) => {
      await check(opened, 'whole', [n, 3, 5], new Uint32Array(n).fill(1), false)
      await check(opened, 'unit', [n, 3, 5], new Uint32Array(n).fill(2), true)
      await check(opened, 'bytes', [n, 3, 5], new Uint32Array(n).fill(1), false)
    })

    test('sums large clusters beside small ones', async () => {
      const labels = Uint32Array.from({ length: 2000 }, (_, i) => (i % 3 === 0 ? 4 : i % 2 === 0 ? 1 : i % 40))
      await check(opened, 'whole', [2000, 40, 3], labels, false)
      await check(opened, 'unit', [2000, 40, 3], labels, true)
    })

    test('leaves out points whose label is k or more', async () => {
      const labels = Uint32Array.from({ length: 600 }, (_, i) => [0, NONE, 1, 2, 3, 0x80000000][i % 6])
      await check(opened, 'whole', [600, 2, 3], labels, false)
      await check(opened, 'whole', [600, 2, 3], labels, true)
      await check(opened, 'whole', [600, 4, 3], new Uint32Array(600).fill(NONE), true)
      await check(opened, 'whole', [600, 2, 9], labels, true, 'sparse')
    })

    test.each(KINDS)('adds a second, shorter part on top: %s rows', async (kind) => {
      for (const weighted of [false, true]) {
        const cols = kind === 'dense' ? 5 : 21
        const parts = [
          makePart('whole', 600, cols, wholeNumbers(600, 4, 5), weighted, 8, kind),
          makePart('whole', 301, cols, wholeNumbers(301, 3, 6), weighted, 9, kind),
        ]
        const joined = (pick: (part: Part) => ArrayLike<number>): number[] => parts.flatMap((p) => Array.from(pick(p)))
        const expected = sumsByLabel(
          { data: Float32Array.from(joined((part) => part.x.data)), cols },
          Uint32Array.from(joined((part) => part.labels)),
          4,
          weighted ? Float32Array.from(joined((part) => part.weights ?? [])) : undefined,
        )
        const found = await run(opened, parts, 4)
        expectSums(found, expected, parts[0], 2)
        if (!weighted) expectExact(found, expected)
      }
    })

    test('sums so many points that counts are scanned on three levels', async () => {
      const n = 70_000
      await check(opened, 'whole', [n, 300, 1], wholeNumbers(n, 301, 10), false)
    })

    test('agrees with the oracle on any shape', async () => {
      const shape = fc.record({
        n: size(600),
        k: size(300),
        d: size(20),
        flavour: anyFlavour,
        spread: size(300),
        weighted: fc.boolean(),
        seed: anySeed,
      })
      await checkProperty(opened.runs, shape, async ({ n, k, d, flavour, spread, weighted, seed }) => {
        await check(opened, flavour, [n, k, d], wholeNumbers(n, spread, seed), weighted)
        // Wider rows in fewer clusters, so that columns are divided.
        await check(opened, flavour, [n, Math.ceil(k / 5), 6 * d], wholeNumbers(n, spread, seed), weighted, 'sparse')
      })
    })

    test.each(RANGES)('sums %i + %i rows as if they were alone', async (from, count) => {
      for (const [flavour, kind] of [
        ['unit', 'dense'],
        ['bytes', 'dense'],
        ['unit', 'sparse'],
      ] as const) {
        for (const weighted of [false, true]) {
          const part = makePart(flavour, 900, 6, wholeNumbers(900, 4, 21), weighted, 22, kind)
          const found = await run(opened, [{ ...part, range: { from, count } }], 3)
          const alone = count > 0 ? await run(opened, [rowsOf(part, from, count)], 3) : undefined
          expectSameBits(found.sums, alone?.sums ?? new Float32Array(18))
          expectSameBits(found.totals, alone?.totals ?? new Float32Array(3))
          expectSame(found.counts, alone?.counts ?? [0, 0, 0])
          expectSame(found.offsets, alone?.offsets ?? [0, 0, 0, 0])
          const summed = found.offsets[3]
          expectSame(found.order.subarray(0, summed), alone?.order.subarray(0, summed).map((i) => from + i) ?? [])
        }
      }
    })

    test('adds ranges up to all rows', async () => {
      const part = makePart('whole', 700, 5, wholeNumbers(700, 9, 23), false, 24)
      const ranges = [
        { from: 0, count: 257 },
        { from: 257, count: 3 },
        { from: 260, count: 440 },
      ]
      const found = await run(
        opened,
        ranges.map((range) => ({ ...part, range })),
        8,
      )
      expectExact(found, sumsByLabel(part.x, part.labels, 8))
    })

    test.each(KINDS)('leaves the sums of empty clusters alone where they are to be kept: %s rows', async (kind) => {
      const k = 40
      const part = makePart('whole', 300, 6, wholeNumbers(300, k, 25), true, 26, kind)
      const before = new Float32Array(k * 8)
      for (let j = 0; j < k; j++) before.fill(j + 1, j * 8, j * 8 + 6)
      const range = { from: 100, count: 20 }
      const found = await run(opened, [{ ...part, range }], k, before)
      const expected = await run(opened, [{ ...part, range }], k)
      expectSame(found.totals, expected.totals)
      expectSame(found.counts, expected.counts)
      expect(expected.counts).toContain(0)
      expectSameBits(
        found.sums,
        expected.sums.map((sum, at) => {
          const cluster = Math.floor(at / 6)
          return expected.counts[cluster] === 0 ? cluster + 1 : sum
        }),
      )
    })

    test.each([
      [-1, 2],
      [5, 6],
      [0.5, 1],
      [0, 11],
    ])('refuses %d + %d of 10 rows', async (from, count) => {
      const part = makePart('whole', 10, 2, wholeNumbers(10, 2, 27), false, 28)
      await expect(run(opened, [{ ...part, range: { from, count } }], 2)).rejects.toThrow(RangeError)
    })

    test.each(KINDS)('repeats bit for bit: %s rows', async (kind) => {
      const part = makePart('unit', 900, 7, wholeNumbers(900, 4, 11), true, 12, kind)
      const first = await run(opened, [part, part], 3)
      const second = await run(opened, [part, part], 3)
      expect(second).toEqual(first)
    })
  })
})

/** accumulate given sparse rows: the same sums as over the rows in full. */

import { describe, expect, test } from 'vitest'
import { accumulate, createAccumulateWorkspace } from '../../src/kernels/accumulate.ts'
import type { RowRange } from '../../src/kernels/rows.ts'
import { fc } from '../properties.ts'
import { expectClose, expectSame, expectSameBits, sumBound } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice, unpadded } from './devices.ts'
import { NONE, sumsByLabel } from './oracles.ts'
import { type SparseRows, sparsePoints, sparsified, uploadSparse } from './sparse-rows.ts'
import { anyFlavour, anySeed, checkProperty, type Flavour, size, weights, wholeNumbers } from './vectors.ts'

interface Part {
  readonly x: SparseRows
  readonly labels: Uint32Array
  readonly weights?: Float32Array | undefined
  readonly range?: RowRange
}

interface Result {
  readonly sums: Float32Array
  readonly totals: Float32Array
  readonly counts: Uint32Array
}

/** `kept` are padded sums from before, which stay where there are no rows. */
async function run(opened: OpenedDevice, parts: readonly Part[], k: number, kept?: Float32Array): Promise<Result> {
  return opened.use(async (buffers) => {
    const { cols } = parts[0].x.dense
    const stride = Math.ceil(cols / 4) * 4
    const most = Math.max(...parts.map(({ x }) => x.sparse.rows))
    const workspace = createAccumulateWorkspace(buffers.device, buffers.scope, most, stride, k, true)
    const sums = buffers.output(k * stride * 4, kept)
    const totals = buffers.output(k * 4)
    const counts = buffers.output(k * 4)
    for (const part of parts) {
      await accumulate(buffers.device, {
        points: uploadSparse(buffers, part.x.sparse),
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
    return {
      sums: unpadded(await sums.floats(), k, cols),
      totals: await totals.floats(),
      counts: await counts.words(),
    }
  })
}

function makePart(flavour: Flavour, n: number, cols: number, labels: Uint32Array, weighted: boolean, seed = 7): Part {
  const x = sparsePoints(flavour, n, cols, Math.min(0.6, 8 / cols), seed)
  return weighted ? { x, labels, weights: weights(n, seed + 1) } : { x, labels }
}

async function check(opened: OpenedDevice, part: Part, k: number): Promise<void> {
  const { x, labels } = part
  const expected = sumsByLabel(x.dense, labels, k, part.weights)
  const found = await run(opened, [part], k)
  const terms = (j: number): number => expected.counts[j] + 2
  expectSame(found.counts, expected.counts)
  expectClose(found.sums, expected.sums, (at) =>
    sumBound(terms(Math.floor(at / x.dense.cols)), expected.magnitudes[at]),
  )
  expectClose(found.totals, expected.totals, (j) => sumBound(terms(j), expected.totals[j]))
}

/** The same rows in a part of their own. */
function rowsOf({ x, labels, weights }: Part, from: number, count: number): Part {
  const { cols } = x.dense
  const data = Float32Array.from(x.dense.data.subarray(from * cols, (from + count) * cols))
  const end = from + count
  return {
    x: { dense: { data, cols }, sparse: sparsified(data, count, cols) },
    labels: labels.slice(from, end),
    weights: weights?.slice(from, end),
  }
}

const SHAPES = [
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
  describe('accumulate of sparse rows', () => {
    test.each(SHAPES)('sums %i rows in %i clusters, %i columns', async (n, k, d) => {
      for (const weighted of [false, true]) {
        await check(opened, makePart('whole', n, d, wholeNumbers(n, k + (weighted ? 2 : 0), 1), weighted), k)
      }
    })

    test('leaves out rows whose label is k or more', async () => {
      const labels = Uint32Array.from({ length: 300 }, (_, i) => [0, NONE, 1, 2, 0x80000000][i % 5])
      await check(opened, makePart('whole', 300, 9, labels, true), 2)
    })

    test('adds a second, shorter part on top', async () => {
      const parts = [
        makePart('whole', 200, 21, wholeNumbers(200, 4, 5), false, 8),
        makePart('whole', 91, 21, wholeNumbers(91, 3, 6), false, 9),
      ]
      const joined = (pick: (part: Part) => ArrayLike<number>): number[] => parts.flatMap((p) => Array.from(pick(p)))
      const data = Float32Array.from(joined((part) => part.x.dense.data))
      const expected = sumsByLabel({ data, cols: 21 }, Uint32Array.from(joined(({ labels }) => labels)), 4)
      const found = await run(opened, parts, 4)
      expectSame(found.sums, expected.sums)
      expectSame(found.totals, expected.totals)
      expectSame(found.counts, expected.counts)
    })

    test('agrees with the oracle on any shape', async () => {
      const shape = fc.record({
        n: size(300),
        k: size(60),
        d: size(129),
        flavour: anyFlavour,
        weighted: fc.boolean(),
        seed: anySeed,
      })
      await checkProperty(opened.runs, shape, async ({ n, k, d, flavour, weighted, seed }) => {
        await check(opened, makePart(flavour, n, d, wholeNumbers(n, k + 1, seed), weighted, seed % 1000), k)
      })
    })

    test.each([
      [0, 600],
      [0, 1],
      [3, 257],
      [200, 399],
      [599, 1],
      [17, 0],
      [600, 0],
    ])('sums %i + %i rows as if they were alone', async (from, count) => {
      for (const weighted of [false, true]) {
        const part = makePart('unit', 600, 19, wholeNumbers(600, 4, 21), weighted, 22)
        const found = await run(opened, [{ ...part, range: { from, count } }], 3)
        const alone = count > 0 ? await run(opened, [rowsOf(part, from, count)], 3) : undefined
        expectSameBits(found.sums, alone?.sums ?? new Float32Array(3 * 19))
        expectSameBits(found.totals, alone?.totals ?? new Float32Array(3))
        expectSame(found.counts, alone?.counts ?? [0, 0, 0])
      }
    })

    test('leaves the sums of empty clusters alone where they are to be kept', async () => {
      const [k, cols, stride] = [40, 18, 20]
      const part = makePart('whole', 300, cols, wholeNumbers(300, k, 25), true, 26)
      const before = new Float32Array(k * stride)
      for (let j = 0; j < k; j++) before.fill(j + 1, j * stride, j * stride + cols)
      const range = { from: 100, count: 20 }
      const found = await run(opened, [{ ...part, range }], k, before)
      const expected = await run(opened, [{ ...part, range }], k)
      expectSame(found.totals, expected.totals)
      expectSame(found.counts, expected.counts)
      expect(expected.counts).toContain(0)
      expectSameBits(
        found.sums,
        expected.sums.map((sum, at) => {
          const cluster = Math.floor(at / cols)
          return expected.counts[cluster] === 0 ? cluster + 1 : sum
        }),
      )
    })

    test('repeats bit for bit', async () => {
      const part = makePart('unit', 400, 37, wholeNumbers(400, 4, 11), true)
      expect(await run(opened, [part, part], 3)).toEqual(await run(opened, [part, part], 3))
    })
  })
})

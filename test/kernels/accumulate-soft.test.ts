import { describe, expect, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { accumulateSoft, createSoftWorkspace, softSumsBytes } from '../../src/kernels/accumulate-soft.ts'
import { paddedCols, type RowRange } from '../../src/kernels/rows.ts'
import { fc } from '../properties.ts'
import { clusterTerms, expectClose, expectSame, sumBound } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice } from './devices.ts'
import { countOf, NONE, type Rows, squaredDistance } from './oracles.ts'
import { anySeed, centers, checkProperty, EXACT, exactFlavour, type Flavour, points, ROUGH, size } from './vectors.ts'

interface Case {
  readonly x: Rows
  readonly c: Rows
  readonly m: number
  readonly pairs: Uint32Array
  readonly shares: Float32Array
  readonly labels: Uint32Array
  readonly range?: RowRange
}

/** Shares are small multiples of a quarter: with whole numbers every sum is exact. Some are 0, some places empty. */
function makeCase(flavour: Flavour, n: number, k: number, d: number, m: number, seed: number): Case {
  const random = createRandom(seed)
  const pairs = Uint32Array.from({ length: n * m }, () => (random.below(6) === 0 ? NONE : random.below(k)))
  return {
    x: { data: points(flavour, n, d, seed + 1), cols: d },
    c: { data: centers(flavour, k, d, seed + 2), cols: d },
    m,
    pairs,
    shares: Float32Array.from(pairs, () => random.below(4) / 4),
    labels: Uint32Array.from({ length: n }, (_, i) => pairs[i * m]),
  }
}

/** Sums [k][d] with their magnitudes; squares and totals [k][2], inner and outer. */
function expected({ x, c, m, pairs, shares, labels }: Case) {
  const d = x.cols
  const k = countOf(c)
  const sums = new Float64Array(k * d)
  const sizes = new Float64Array(k * d)
  const squares = new Float64Array(k * 2)
  const totals = new Float64Array(k * 2)
  const counts = new Uint32Array(k)
  pairs.forEach((component, at) => {
    if (component === NONE) return
    const i = Math.floor(at / m)
    const outer = labels[i] === component ? 0 : 1
    counts[component]++
    for (let t = 0; t < d; t++) {
      const part = shares[at] * (x.data[i * d + t] - c.data[component * d + t])
      sums[component * d + t] += part
      sizes[component * d + t] += Math.abs(part)
    }
    squares[component * 2 + outer] += shares[at] * squaredDistance(x, i, c, component)
    totals[component * 2 + outer] += shares[at]
  })
  return { sums, sizes, squares, totals, counts }
}

async function run(opened: OpenedDevice, given: readonly Case[]) {
  return opened.use(async (buffers) => {
    const { c, x, m } = given[0]
    const [k, d, stride] = [countOf(c), x.cols, paddedCols(x.cols)]
    const most = Math.max(...given.map((part) => part.pairs.length))
    const means = buffers.rows(c.data, d)
    const sums = buffers.output(softSumsBytes(means))
    const workspace = createSoftWorkspace(buffers.device, buffers.scope, most, stride, k)
    for (const [at, part] of given.entries()) {
      await accumulateSoft(buffers.device, {
        points: buffers.rows(part.x.data, d),
        centers: means,
        m,
        pairs: buffers.upload(part.pairs),
        shares: buffers.upload(part.shares),
        labels: buffers.upload(part.labels),
        sums: sums.buffer,
        add: at > 0,
        range: part.range,
        workspace,
      })
    }
    const all = await sums.floats()
    const found = {
      sums: new Float64Array(k * d),
      squares: new Float64Array(k * 2),
      totals: new Float64Array(k * 2),
    }
    for (let component = 0; component < k; component++) {
      const block = all.subarray(component * (stride + 4), (component + 1) * (stride + 4))
      found.sums.set(block.subarray(0, d), component * d)
      found.squares.set(block.subarray(stride, stride + 2), component * 2)
      found.totals.set(block.subarray(stride + 2), component * 2)
    }
    return found
  })
}

/** The same points in a case of their own. */
function pointsOf({ x, c, m, pairs, shares, labels }: Case, from: number, count: number): Case {
  const end = from + count
  return {
    x: { data: x.data.slice(from * x.cols, end * x.cols), cols: x.cols },
    c,
    m,
    pairs: pairs.slice(from * m, end * m),
    shares: shares.slice(from * m, end * m),
    labels: labels.slice(from, end),
  }
}

async function checkExact(opened: OpenedDevice, given: Case): Promise<void> {
  const found = await run(opened, [given])
  const right = expected(given)
  expectSame(found.sums, right.sums)
  expectSame(found.squares, right.squares)
  expectSame(found.totals, right.totals)
}

onEveryDevice((opened) => {
  describe('accumulate-soft', () => {
    test.each([
      [1, 1, 1, 1],
      [17, 5, 4, 3],
      [127, 17, 3, 5],
      [257, 1, 5, 1],
      [513, 2, 2, 3],
      [60, 67, 127, 4],
      [9, 300, 128, 2],
      [5, 3, 129, 2],
      [3, 2, 784, 2],
    ])('is exact on whole numbers, %i points, %i components, %i columns, %i a point', async (n, k, d, m) => {
      for (const flavour of EXACT) await checkExact(opened, makeCase(flavour, n, k, d, m, 1))
    })

    test.each(ROUGH)('is as near as rounding lets it be, %s values', async (flavour) => {
      const given = makeCase(flavour, 90, 7, 19, 4, 3)
      const found = await run(opened, [given])
      const right = expected(given)
      const terms = (at: number): number => clusterTerms(right.counts[at]) + 3
      expectClose(found.sums, right.sums, (at) => sumBound(terms(Math.floor(at / 19)), right.sizes[at]))
      expectClose(found.squares, right.squares, (at) => sumBound(terms(at >> 1) + 19 + 4, right.squares[at]))
      expectClose(found.totals, right.totals, (at) => sumBound(terms(at >> 1), right.totals[at]))
    })

    test('adds up over parts', async () => {
      const first = makeCase('whole', 70, 5, 6, 3, 5)
      const second = { ...makeCase('whole', 33, 5, 6, 3, 8), c: first.c }
      const found = await run(opened, [first, second])
      const [a, b] = [expected(first), expected(second)]
      expectSame(
        found.sums,
        a.sums.map((sum, at) => sum + b.sums[at]),
      )
      expectSame(
        found.totals,
        a.totals.map((total, at) => total + b.totals[at]),
      )
      expectSame(
        found.squares,
        a.squares.map((sum, at) => sum + b.squares[at]),
      )
    })

    test.each([
      [0, 400],
      [0, 1],
      [3, 131],
      [130, 269],
      [399, 1],
      [7, 0],
      [400, 0],
    ])('sums %i + %i points as if they were alone', async (from, count) => {
      for (const flavour of ['unit', 'bytes'] as const) {
        const given = makeCase(flavour, 400, 3, 6, 3, 9)
        const found = await run(opened, [{ ...given, range: { from, count } }])
        if (count > 0) expect(found).toEqual(await run(opened, [pointsOf(given, from, count)]))
        else for (const sums of [found.sums, found.squares, found.totals]) expect(sums).toEqual(sums.map(() => 0))
      }
    })

    test('agrees with the oracle on any pairs', async () => {
      const shape = fc.record({ n: size(130), k: size(30), d: size(12), m: size(4), seed: anySeed })
      await checkProperty(opened.runs, fc.tuple(shape, exactFlavour), ([{ n, k, d, m, seed }, flavour]) =>
        checkExact(opened, makeCase(flavour, n, k, d, m, seed)),
      )
    })
  })
})

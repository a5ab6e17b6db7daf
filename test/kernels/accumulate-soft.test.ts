import fc from 'fast-check'
import { describe, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { accumulateSoft, createSoftWorkspace, softSumsBytes } from '../../src/kernels/accumulate-soft.ts'
import { paddedCols } from '../../src/kernels/rows.ts'
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

/** inner sums, outer sums [k][d]; squares and totals [k][2]; magnitudes of all, in the same order. */
function expected({ x, c, m, pairs, shares, labels }: Case) {
  const d = x.cols
  const k = countOf(c)
  const sums = [new Float64Array(k * d), new Float64Array(k * d)]
  const sizes = [new Float64Array(k * d), new Float64Array(k * d)]
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
      sums[outer][component * d + t] += part
      sizes[outer][component * d + t] += Math.abs(part)
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
        workspace,
      })
    }
    const all = await sums.floats()
    const found = {
      sums: [new Float64Array(k * d), new Float64Array(k * d)],
      squares: new Float64Array(k * 2),
      totals: new Float64Array(k * 2),
    }
    for (let component = 0; component < k; component++) {
      for (let column = 0; column < stride; column++) {
        const block = component * stride * 3 + Math.floor(column / 4) * 12
        if (column < d) {
          found.sums[0][component * d + column] = all[block + (column % 4)]
          found.sums[1][component * d + column] = all[block + 4 + (column % 4)]
        }
        if (column % 4 > 0) continue
        for (const outer of [0, 1]) {
          found.squares[component * 2 + outer] += all[block + 8 + outer]
          found.totals[component * 2 + outer] += all[block + 10 + outer]
        }
      }
    }
    return found
  })
}

async function checkExact(opened: OpenedDevice, given: Case): Promise<void> {
  const found = await run(opened, [given])
  const right = expected(given)
  expectSame(found.sums[0], right.sums[0])
  expectSame(found.sums[1], right.sums[1])
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
      for (const outer of [0, 1]) {
        expectClose(found.sums[outer], right.sums[outer], (at) =>
          sumBound(terms(Math.floor(at / 19)), right.sizes[outer][at]),
        )
      }
      expectClose(found.squares, right.squares, (at) => sumBound(terms(at >> 1) + 19 + 4, right.squares[at]))
      expectClose(found.totals, right.totals, (at) => sumBound(terms(at >> 1), right.totals[at]))
    })

    test('adds up over parts', async () => {
      const first = makeCase('whole', 70, 5, 6, 3, 5)
      const second = { ...makeCase('whole', 33, 5, 6, 3, 8), c: first.c }
      const found = await run(opened, [first, second])
      const [a, b] = [expected(first), expected(second)]
      expectSame(
        found.sums[1],
        a.sums[1].map((sum, at) => sum + b.sums[1][at]),
      )
      expectSame(
        found.totals,
        a.totals.map((total, at) => total + b.totals[at]),
      )
    })

    test('agrees with the oracle on any pairs', async () => {
      const shape = fc.record({ n: size(130), k: size(30), d: size(12), m: size(4), seed: anySeed })
      await checkProperty(opened.runs, fc.tuple(shape, exactFlavour), ([{ n, k, d, m, seed }, flavour]) =>
        checkExact(opened, makeCase(flavour, n, k, d, m, seed)),
      )
    })
  })
})

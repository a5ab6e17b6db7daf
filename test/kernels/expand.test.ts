import { describe, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { expand } from '../../src/kernels/expand.ts'
import { paddedCols } from '../../src/kernels/rows.ts'
import { fc } from '../properties.ts'
import { expectClose, expectSame } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice, unpadded } from './devices.ts'
import { countOf, type Rows, squaredDistance } from './oracles.ts'
import { anySeed, centers, checkProperty, size } from './vectors.ts'

interface Case {
  readonly x: Rows
  readonly c: Rows
  /** [n][k], not necessarily of sum 1. */
  readonly shares: Float32Array
  /** [n][k]: 1 where the pair is an inner one. */
  readonly inner: Uint8Array
  readonly lambda: number | undefined
  readonly floor: number
  readonly unit: boolean
}

/** The first component has nothing, the next inner pairs alone, the one after outer pairs alone. */
function makeCase(n: number, k: number, d: number, seed: number, unit = false, expanded = false): Case {
  const random = createRandom(seed)
  return {
    x: { data: centers('unit', n, d, seed + 1), cols: d },
    c: { data: centers('unit', k, d, seed + 2), cols: d },
    shares: Float32Array.from({ length: n * k }, (_, at) => (at % k === 0 && k > 3 ? 0 : random.uniform() + 0.01)),
    inner: Uint8Array.from({ length: n * k }, (_, at) => (at % k === 1 ? 1 : at % k === 2 ? 0 : random.below(2))),
    lambda: expanded ? random.below(3) / 4 : undefined,
    floor: 1e-3,
    unit,
  }
}

/** From the definition: the fresh mean first, then squares about it, or about the old one if there is a lambda. */
function expected({ x, c, shares, inner, lambda, floor, unit }: Case) {
  const d = x.cols
  const k = countOf(c)
  const means = Float64Array.from(c.data)
  const found = new Float64Array(k * 3)
  for (let j = 0; j < k; j++) {
    const totals = [0, 0]
    const sum = new Float64Array(d)
    for (let i = 0; i < countOf(x); i++) {
      const share = shares[i * k + j]
      totals[1 - inner[i * k + j]] += share
      for (let t = 0; t < d; t++) sum[t] += share * x.data[i * d + t]
    }
    const total = totals[0] + totals[1]
    found[3 * j] = total
    found[3 * j + 1] = totals[0]
    found[3 * j + 2] = floor
    if (total === 0) continue
    const length = unit ? 1 / (Math.hypot(...sum) / total) : 1
    for (let t = 0; t < d; t++) means[j * d + t] = (sum[t] / total) * length
    const squares = [0, 0]
    const around = lambda !== undefined ? c : { data: means as unknown as Float32Array, cols: d }
    for (let i = 0; i < countOf(x); i++) {
      squares[1 - inner[i * k + j]] += shares[i * k + j] * squaredDistance(x, i, around, j)
    }
    const w = totals[1] === 0 ? 1 : (totals[0] / total) * (1 - (lambda ?? 0))
    const parts = (totals[0] > 0 ? (w * squares[0]) / totals[0] : 0) + (w < 1 ? ((1 - w) * squares[1]) / totals[1] : 0)
    found[3 * j + 2] = Math.max(floor, parts / d)
  }
  return { means, found }
}

function sumsOf({ x, c, shares, inner }: Case): Float32Array {
  const [d, k, stride] = [x.cols, countOf(c), paddedCols(x.cols)]
  const sums = new Float64Array(k * (stride + 4))
  for (let i = 0; i < countOf(x); i++) {
    for (let j = 0; j < k; j++) {
      const share = shares[i * k + j]
      const outer = 1 - inner[i * k + j]
      const block = j * (stride + 4)
      for (let t = 0; t < d; t++) {
        const gap = x.data[i * d + t] - c.data[j * d + t]
        sums[block + t] += share * gap
        sums[block + stride + outer] += share * gap * gap
      }
      sums[block + stride + 2 + outer] += share
    }
  }
  return Float32Array.from(sums)
}

async function check(opened: OpenedDevice, given: Case): Promise<void> {
  const { c, lambda, floor, unit } = given
  const [k, d] = [countOf(c), c.cols]
  const right = expected(given)
  await opened.use(async (buffers) => {
    const { rows, output } = buffers.outputRows(k, d)
    const start = buffers.rows(c.data, d)
    buffers.device.copy(
      { buffer: start.buffer, offset: 0, bytes: k * rows.stride * 4 },
      { buffer: rows.buffer, offset: 0, bytes: k * rows.stride * 4 },
    )
    const found = buffers.output(k * 12)
    await expand(buffers.device, {
      sums: buffers.upload(sumsOf(given)),
      centers: rows,
      lambda,
      floor,
      unit,
      found: found.buffer,
    })
    const means = unpadded(await output.floats(), k, d)
    expectClose(means, right.means, (at) => 2e-5 * (1 + Math.abs(right.means[at])))
    expectClose(await found.floats(), right.found, (at) => 1e-4 * (1 + Math.abs(right.found[at])))
    if (k > 3) expectSame(means.subarray(0, d), c.data.subarray(0, d))
  })
}

onEveryDevice((opened) => {
  describe('expand', () => {
    test.each([
      [1, 1, 1],
      [5, 4, 3],
      [40, 9, 127],
      [7, 65, 128],
      [3, 129, 5],
      [2, 4, 784],
    ])('%i points, %i components, %i columns', async (n, k, d) => {
      await check(opened, makeCase(n, k, d, 1))
      await check(opened, makeCase(n, k, d, 2, true))
      await check(opened, makeCase(n, k, d, 3, false, true))
    })

    test('agrees with the oracle on any sums', async () => {
      const shape = fc.record({ n: size(20), k: size(20), d: size(20), seed: anySeed, expanded: fc.boolean() })
      await checkProperty(opened.runs, shape, ({ n, k, d, seed, expanded }) =>
        check(opened, makeCase(n, k, d, seed, false, expanded)),
      )
    })
  })
})

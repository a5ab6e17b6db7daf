import { describe, expect, test } from 'vitest'
import type { VectorData } from '../../src/core/matrix.ts'
import { codeSums } from '../../src/kernels/code-sums.ts'
import { codeStride } from '../../src/kernels/encode.ts'
import { paddedCols } from '../../src/kernels/rows.ts'
import { fc } from '../properties.ts'
import { expectClose, expectSame, expectSameBits, sumBound } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice, unpadded } from './devices.ts'
import { anyFlavour, anySeed, checkProperty, type Flavour, points, size, wholeNumbers } from './vectors.ts'

interface Case {
  readonly x: VectorData
  readonly d: number
  readonly m: number
  readonly h: number
  /** [n][m] */
  readonly codes: Uint32Array
}

function makeCase(flavour: Flavour, n: number, d: number, m: number, h: number, seed: number): Case {
  return { x: points(flavour, n, d, seed), d, m, h, codes: wholeNumbers(n * m, h, seed + 1) }
}

/** The sums of the points in one part, or in two that are added up. */
async function run(opened: OpenedDevice, given: Case, parts = 1): Promise<{ sums: Float32Array; counts: Uint32Array }> {
  const { x, d, m, h, codes } = given
  return opened.use(async (buffers) => {
    const n = x.length / d
    const sums = buffers.output(m * h * paddedCols(d) * 4, new Float32Array(m * h * paddedCols(d)))
    const counts = buffers.output(m * h * 4, new Uint32Array(m * h))
    const cut = parts === 1 ? n : Math.ceil(n / 3)
    for (const [from, to] of parts === 1
      ? [[0, n]]
      : [
          [0, cut],
          [cut, n],
        ]) {
      if (to === from) continue
      const laid = h <= 256 ? new Uint8Array((to - from) * codeStride(m)) : new Uint32Array((to - from) * codeStride(m))
      for (let i = from; i < to; i++) {
        laid.set(codes.subarray(i * m, (i + 1) * m), (i - from) * codeStride(m))
      }
      await codeSums(buffers.device, {
        points: buffers.rows(x.subarray(from * d, to * d) as VectorData, d),
        codes: buffers.upload(laid),
        m,
        codewords: h,
        sums: sums.buffer,
        counts: counts.buffer,
      })
    }
    return { sums: unpadded(await sums.floats(), m * h, d), counts: await counts.words() }
  })
}

async function check(opened: OpenedDevice, given: Case, parts = 1): Promise<void> {
  const { x, d, m, h, codes } = given
  const expected = new Float64Array(m * h * d)
  const magnitudes = new Float64Array(m * h * d)
  const counts = new Uint32Array(m * h)
  for (let i = 0; i < x.length / d; i++) {
    for (let s = 0; s < m; s++) {
      const row = s * h + codes[i * m + s]
      counts[row]++
      for (let t = 0; t < d; t++) {
        expected[row * d + t] += x[i * d + t]
        magnitudes[row * d + t] += Math.abs(x[i * d + t])
      }
    }
  }
  const found = await run(opened, given, parts)
  expectSame(found.counts, counts)
  expectClose(found.sums, expected, (i) => sumBound(counts[Math.floor(i / d)], magnitudes[i]))
}

onEveryDevice((opened) => {
  describe('code-sums', () => {
    test.each([1, 3, 4, 31, 32, 33, 127, 129])('adds up rows of %i columns', async (d) => {
      for (const flavour of ['whole', 'wholeBytes', 'unit'] as const) {
        await check(opened, makeCase(flavour, 37, d, 3, 2, d))
      }
    })

    test.each([1, 2, 255, 256, 257])('%i codewords', async (h) => {
      await check(opened, makeCase('unit', 70, 5, 2, h, h))
    })

    test('many points with one codeword, in slabs', async () => {
      await check(opened, makeCase('wholeBytes', 3000, 4, 1, 1, 3))
      await check(opened, makeCase('unit', 2500, 3, 5, 2, 4), 2)
    })

    test('agrees with the oracle whatever the shape', async () => {
      const shapes = fc.record({
        flavour: anyFlavour,
        n: size(300),
        d: size(17),
        m: fc.integer({ min: 1, max: 6 }),
        h: fc.integer({ min: 1, max: 20 }),
        seed: anySeed,
        parts: fc.constantFrom(1, 2),
      })
      await checkProperty(opened.runs, shapes, ({ flavour, n, d, m, h, seed, parts }) =>
        check(opened, makeCase(flavour, n, d, m, h, seed), parts),
      )
    })

    test('repeats bit for bit and keeps no memory', async () => {
      const given = makeCase('unit', 500, 9, 4, 3, 8)
      const first = await run(opened, given)
      const before = opened.device.allocatedBytes
      expectSameBits((await run(opened, given)).sums, first.sums)
      expect(opened.device.allocatedBytes).toBe(before)
    })
  })
})

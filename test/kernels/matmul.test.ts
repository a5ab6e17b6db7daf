import { describe, expect, test } from 'vitest'
import { gram, matmul } from '../../src/kernels/matmul.ts'
import { paddedCols } from '../../src/kernels/rows.ts'
import { fc } from '../properties.ts'
import { expectClose, expectSame, expectSameBits, sumBound } from '../tolerance.ts'
import { type OpenedDevice, onDevices, SOFTWARE_DEVICES, unpadded, withForms } from './devices.ts'
import { columnProducts, countOf, type Rows, rowProducts } from './oracles.ts'
import { anyFlavour, anySeed, centers, checkProperty, EXACT, points, ROUGH, size } from './vectors.ts'

async function runMatmul(opened: OpenedDevice, a: Rows, b: Rows): Promise<Float32Array> {
  return opened.use(async (buffers) => {
    const { rows, output } = buffers.outputRows(countOf(a), countOf(b))
    await matmul(buffers.device, { a: buffers.rows(a.data, a.cols), b: buffers.rows(b.data, b.cols), out: rows })
    return unpadded(await output.floats(), rows.rows, rows.cols)
  })
}

async function runGram(opened: OpenedDevice, a: Rows, b: Rows): Promise<Float32Array> {
  return opened.use(async (buffers) => {
    const p = paddedCols(a.cols)
    const q = paddedCols(b.cols)
    const out = buffers.output(p * q * 4)
    await gram(buffers.device, { a: buffers.rows(a.data, a.cols), b: buffers.rows(b.data, b.cols), out: out.buffer })
    const all = await out.floats()
    expectSame(all.subarray(a.cols * q), new Float32Array((p - a.cols) * q))
    return unpadded(all.subarray(0, a.cols * q), a.cols, b.cols)
  })
}

onDevices([...SOFTWARE_DEVICES, withForms({ matmul: 'tiles', gram: 'tiles' })], (opened) => {
  describe('matmul', () => {
    test.each([
      [1, 1, 1],
      [2, 3, 5],
      [3, 2, 4],
      [5, 7, 3],
      [4, 8, 2],
      [17, 9, 17],
      [129, 17, 4],
      [127, 5, 129],
      [511, 4, 1],
      [513, 3, 5],
      [5, 513, 3],
      [2, 511, 127],
      [3, 4, 513],
    ])('is exact on whole numbers, %i rows, %i rows, %i columns', async (n, q, d) => {
      for (const flavour of EXACT) {
        const a = { data: points(flavour, n, d, 1), cols: d }
        const b = { data: centers('whole', q, d, 2), cols: d }
        expectSame(await runMatmul(opened, a, b), rowProducts(a, b).values)
      }
    })

    test.each(ROUGH)('is exact to rounding on %s values', async (flavour) => {
      const a = { data: points(flavour, 37, 19, 3), cols: 19 }
      const b = { data: centers('unit', 19, 19, 4), cols: 19 }
      const { values, magnitudes } = rowProducts(a, b)
      const found = await runMatmul(opened, a, b)
      expectClose(found, values, (i) => sumBound(19, magnitudes[i]))
      expectSameBits(await runMatmul(opened, a, b), found)
    })

    test('agrees with the oracle on any shape', async () => {
      const shape = fc.record({ n: size(60), q: size(40), d: size(40), flavour: anyFlavour, seed: anySeed })
      await checkProperty(opened.runs, shape, async ({ n, q, d, flavour, seed }) => {
        const a = { data: points(flavour, n, d, seed), cols: d }
        const b = { data: centers('unit', q, d, seed + 1), cols: d }
        const { values, magnitudes } = rowProducts(a, b)
        expectClose(await runMatmul(opened, a, b), values, (i) => sumBound(d, magnitudes[i]))
      })
    })
  })

  describe('gram', () => {
    test.each([
      [1, 1, 1],
      [2, 3, 5],
      [5, 4, 2],
      [17, 5, 9],
      [63, 8, 12],
      [65, 13, 7],
      [127, 17, 17],
      [129, 65, 3],
      [513, 2, 127],
      [511, 3, 4],
      [1025, 4, 6],
      [20_000, 2, 5],
    ])('is exact on whole numbers, %i rows of %i and of %i columns', async (n, p, q) => {
      const a = { data: points('whole', n, p, 1), cols: p }
      const b = { data: points('whole', n, q, 2), cols: q }
      expectSame(await runGram(opened, a, b), columnProducts(a, b).values)
      const bytes = { data: points('wholeBytes', n, p, 3), cols: p }
      expectSame(await runGram(opened, bytes, b), columnProducts(bytes, b).values)
      expectSame(await runGram(opened, b, bytes), columnProducts(b, bytes).values)
      expectSame(await runGram(opened, bytes, bytes), columnProducts(bytes, bytes).values)
    })

    test.each(ROUGH)('is exact to rounding on %s values', async (flavour) => {
      const a = { data: points(flavour, 1500, 6, 4), cols: 6 }
      const b = { data: points(flavour, 1500, 10, 5), cols: 10 }
      const { values, magnitudes } = columnProducts(a, b)
      const found = await runGram(opened, a, b)
      expectClose(found, values, (i) => sumBound(1500, magnitudes[i]))
      expectSameBits(await runGram(opened, a, b), found)
    })

    test('agrees with the oracle on any shape', async () => {
      const shape = fc.record({ n: size(200), p: size(20), q: size(20), flavour: anyFlavour, seed: anySeed })
      await checkProperty(opened.runs, shape, async ({ n, p, q, flavour, seed }) => {
        const a = { data: points(flavour, n, p, seed), cols: p }
        const b = { data: points('unit', n, q, seed + 1), cols: q }
        const { values, magnitudes } = columnProducts(a, b)
        expectClose(await runGram(opened, a, b), values, (i) => sumBound(n, magnitudes[i]))
      })
    })
  })

  test.each([1, 5, 8, 9, 31, 33, 70])('of symmetric products the upper half is enough, %i columns', async (d) => {
    const a = { data: centers('whole', d, d, 7), cols: d }
    await opened.use(async (buffers) => {
      const rows = buffers.rows(a.data, d)
      const { rows: out, output } = buffers.outputRows(d, d)
      await matmul(buffers.device, { a: rows, b: rows, out, upper: true })
      const stride = paddedCols(d)
      const columns = buffers.output(stride * stride * 4)
      await gram(buffers.device, { a: rows, b: rows, out: columns.buffer, upper: true })
      const upper = (all: ArrayLike<number>, step: number): number[] =>
        Array.from({ length: d * d }, (_, i) =>
          i % d < Math.floor(i / d) ? 0 : all[Math.floor(i / d) * step + (i % d)],
        )
      expectSame(upper(await output.floats(), stride), upper(rowProducts(a, a).values, d))
      expectSame(upper(await columns.floats(), stride), upper(columnProducts(a, a).values, d))
    })
  })

  test('matmul and gram keep no memory', async () => {
    const a = { data: points('whole', 33, 9, 6), cols: 9 }
    const both = async (): Promise<number> => {
      await runMatmul(opened, a, a)
      await runGram(opened, a, a)
      return opened.device.allocatedBytes
    }
    // The first calls may grow the scratch that threads keep.
    expect(await both()).toBe(await both())
  })
})

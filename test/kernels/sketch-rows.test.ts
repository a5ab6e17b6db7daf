import { describe, expect, test } from 'vitest'
import { paddedCols } from '../../src/kernels/rows.ts'
import { sketchRows } from '../../src/kernels/sketch-rows.ts'
import { fc } from '../properties.ts'
import { expectSame, sumBound } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice } from './devices.ts'
import { countOf, type Rows, rowProducts } from './oracles.ts'
import { anyFlavour, anySeed, centers, checkProperty, EXACT, points, ROUGH, size } from './vectors.ts'

/** Bytes without padding, which must be zero. */
async function run(opened: OpenedDevice, x: Rows, directions: Rows, shifts: Float32Array): Promise<Uint8Array> {
  const [n, q] = [countOf(x), countOf(directions)]
  const stride = paddedCols(q)
  return opened.use(async (buffers) => {
    const output = buffers.output(n * stride)
    await sketchRows(buffers.device, {
      points: buffers.rows(x.data, x.cols),
      directions: buffers.rows(directions.data, directions.cols),
      shifts: buffers.upload(shifts),
      out: { buffer: output.buffer, rows: n, cols: q, stride, type: 'u8' },
    })
    const padded = await output.bytes()
    const bytes = new Uint8Array(n * q)
    for (let i = 0; i < n; i++) {
      bytes.set(padded.subarray(i * stride, i * stride + q), i * q)
      expect(padded.subarray(i * stride + q, (i + 1) * stride).every((byte) => byte === 0)).toBe(true)
    }
    return bytes
  })
}

/** What is stored is rounded, halves to the even number, and cut off. */
function toBytes(values: Float64Array): Uint8Array {
  return new Uint8Array(new Uint8ClampedArray(values).buffer)
}

function along(x: Rows, directions: Rows, shifts: Float32Array): { values: Float64Array; magnitudes: Float64Array } {
  const q = countOf(directions)
  const { values, magnitudes } = rowProducts(x, directions)
  return {
    values: Float64Array.from(values, (value, at) => value + shifts[at % q]),
    magnitudes: Float64Array.from(magnitudes, (value, at) => value + Math.abs(shifts[at % q])),
  }
}

/** No byte is farther from the exact number than rounding lets it be. */
function expectNearest(found: Uint8Array, x: Rows, directions: Rows, shifts: Float32Array): void {
  const { values, magnitudes } = along(x, directions, shifts)
  values.forEach((value, at) => {
    const inside = Math.min(255, Math.max(0, value))
    expect(Math.abs(found[at] - inside)).toBeLessThanOrEqual(0.5 + sumBound(x.cols + 1, magnitudes[at]))
  })
}

onEveryDevice((opened) => {
  describe('sketch-rows', () => {
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
      [70, 32, 65],
      [33, 48, 130],
      [3, 4, 513],
    ])('is exact on whole numbers and halves, %i rows, %i directions, %i columns', async (n, q, d) => {
      for (const flavour of EXACT) {
        const x = { data: points(flavour, n, d, 1), cols: d }
        const directions = { data: centers('whole', q, d, 2), cols: d }
        // Halves show which way they are rounded; far ones are cut off.
        const shifts = Float32Array.from({ length: q }, (_, j) => [128, 100.5, 101.5, 0, 254.5, -300, 600][j % 7])
        expectSame(await run(opened, x, directions, shifts), toBytes(along(x, directions, shifts).values))
      }
    })

    test.each(ROUGH)('is the nearest byte to rounding on %s values', async (flavour) => {
      const x = { data: points(flavour, 37, 19, 3), cols: 19 }
      const directions = { data: centers('unit', 19, 19, 4), cols: 19 }
      const shifts = Float32Array.from({ length: 19 }, (_, j) => 128 + j / 3)
      const found = await run(opened, x, directions, shifts)
      expectNearest(found, x, directions, shifts)
      expectSame(await run(opened, x, directions, shifts), found)
    })

    test('agrees with the oracle on any shape', async () => {
      const shape = fc.record({ n: size(60), q: size(50), d: size(40), flavour: anyFlavour, seed: anySeed })
      await checkProperty(opened.runs, shape, async ({ n, q, d, flavour, seed }) => {
        const x = { data: points(flavour, n, d, seed), cols: d }
        const directions = { data: centers('unit', q, d, seed + 1), cols: d }
        const shifts = centers('unit', q, 1, seed + 2).map((value) => 128 + 50 * value)
        expectNearest(await run(opened, x, directions, shifts), x, directions, shifts)
      })
    })

    test('a row has the same bytes whatever rows are beside it', async () => {
      const [n, d] = [59, 67]
      const data = points('unit', n, d, 5)
      const directions = { data: centers('unit', 13, d, 6).map((value) => value * 9), cols: d }
      const shifts = new Float32Array(13).fill(127.7)
      const all = await run(opened, { data, cols: d }, directions, shifts)
      for (const [from, to] of [
        [0, 1],
        [1, 6],
        [6, 29],
        [29, n],
      ]) {
        const piece = await run(opened, { data: data.slice(from * d, to * d), cols: d }, directions, shifts)
        expectSame(piece, all.subarray(from * 13, to * 13))
      }
    })
  })
})

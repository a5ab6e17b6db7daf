import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bestStep, polarSteps } from '../../scripts/polar-coefficients.mjs'
import { createRandom } from '../../src/core/random.ts'
import type { Device } from '../../src/index.ts'
import { openDevice } from '../../src/index.ts'
import { inner, polarFactor, product, randomRotation, transposed } from '../../src/math/orthogonal.ts'
import { LIFTING, rotationFor, SMALLEST } from '../../src/quantize/procrustes.ts'
import { CLUSTERING_DEVICES } from '../clustering/devices.ts'

/** U diag(values) V', rows x cols, with rotations drawn at random. */
function withSingularValues(rows: number, cols: number, values: (i: number) => number, seed: number): Float64Array {
  const u = randomRotation(createRandom(seed), rows)
  const v = randomRotation(createRandom(seed + 1), cols)
  const left = new Float64Array(rows * cols)
  for (let i = 0; i < rows; i++) for (let j = 0; j < cols; j++) left[i * cols + j] = u[i * rows + j] * values(j)
  return product(left, v, rows, cols, cols)
}

function identity(rows: number, cols: number): Float64Array {
  return new Float64Array(rows * cols).map((_, i) => (i % cols === Math.floor(i / cols) ? 1 : 0))
}

function notOrthonormal(a: Float64Array, rows: number, cols: number): number {
  const square = product(transposed(a, rows, cols), a, cols, rows, cols)
  return Math.max(...square.map((value, i) => Math.abs(value - (i % (cols + 1) === 0 ? 1 : 0))))
}

const SPECTRA: Record<string, (i: number) => number> = {
  even: () => 3,
  falling: (i) => 1e6 / (1 + i) ** 2,
  'with zeros': (i) => (i % 3 === 0 ? 0 : 1 + i),
  'of one direction': (i) => (i === 0 ? 7 : 0),
}

describe('the coefficients of the steps', () => {
  const { steps, low, high } = polarSteps(SMALLEST, LIFTING.length)

  test('are those of the script', () => {
    expect(LIFTING).toEqual(steps.map((step) => step.map((value) => Number(value.toFixed(6)))))
    expect(Math.max(1 - low, high - 1)).toBeLessThan(1e-5)
  })

  test.each([SMALLEST, 0.1, 0.5])('leave no larger error than any polynomial near them, from %s', (smallest) => {
    const { coefficients, error } = bestStep(smallest, 1)
    const largest = (by: readonly number[]): number => {
      let most = 0
      for (let i = 0; i <= 4000; i++) {
        const x = smallest + ((1 - smallest) * i) / 4000
        const [a, b, c] = coefficients.map((value, j) => value + by[j])
        most = Math.max(most, Math.abs(a * x + b * x ** 3 + c * x ** 5 - 1))
      }
      return most
    }
    expect(largest([0, 0, 0])).toBeCloseTo(error, 6)
    for (let i = 0; i < 27; i++) {
      const by = [(i % 3) - 1, (Math.floor(i / 3) % 3) - 1, Math.floor(i / 9) - 1].map((sign) => sign * 1e-3)
      if (i !== 13) expect(largest(by)).toBeGreaterThan(error)
    }
  })
})

for (const { name, options } of CLUSTERING_DEVICES) {
  describe(name, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(options)
    })
    afterAll(() => device.close())

    // Around the size where the device takes over from the host.
    test.each([
      [5, 5],
      [40, 31],
      [50, 48],
      [70, 70],
      [81, 65],
    ])('%i x %i: orthonormal, and as good as it gets', async (p, s) => {
      for (const [spectrum, values] of Object.entries(SPECTRA)) {
        const m = withSingularValues(p, s, values, p + s)
        const before = identity(p, s)
        const found = await rotationFor(device, m, before, p, s)
        expect(notOrthonormal(found, p, s), spectrum).toBeLessThan(1e-5)
        const best = inner(polarFactor(m, p, s), m)
        // On the device a little of the rotation before holds back directions that carry next to nothing.
        expect(inner(found, m), spectrum).toBeGreaterThan(best * (s < 48 ? 1 - 1e-6 : 0.9))
        expect(inner(found, m), spectrum).toBeGreaterThanOrEqual(inner(before, m) - 1e-5 * best)
        // From there on it comes nearer still, and never falls back.
        const again = await rotationFor(device, m, found, p, s)
        expect(inner(again, m), spectrum).toBeGreaterThanOrEqual(inner(found, m) - 1e-5 * best)
      }
    })

    test('a leading direction that power steps do not see', async () => {
      // Columns are equally long, and what is largest is at right angles to that; too large for the host to help.
      const s = 264
      const m = identity(s, s).map((value, at) => value + (((at + Math.floor(at / s)) % 2 === 0 ? 1 : -1) * 0.9) / s)
      const before = identity(s, s)
      const [cosine, sine] = [Math.cos(1), Math.sin(1)]
      before.set([cosine, -sine], 0)
      before.set([sine, cosine], s)
      const found = await rotationFor(device, m, before, s, s)
      expect(notOrthonormal(found, s, s)).toBeLessThan(1e-5)
      expect(inner(found, m)).toBeGreaterThan(inner(identity(s, s), m) - 1e-2)
    })

    test('nothing to go by: nothing is turned', async () => {
      const before = identity(50, 50)
      expect(await rotationFor(device, new Float64Array(2500), before, 50, 50)).toBe(before)
    })
  })
}

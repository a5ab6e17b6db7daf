/** Data of extreme kinds through every quantizer: codes decode to finite vectors, as far away as reported. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { openDevice } from '../../src/device/open.ts'
import { QUANTIZER_TYPES } from '../../src/quantize/options.ts'
import { trainQuantizer } from '../../src/quantize/train.ts'
import { KINDS } from '../clustering/extreme-kinds.ts'

const seed = inject('testSeed')

describe(`extreme data, CENTROIDAL_TEST_SEED=${seed}`, () => {
  let device: Awaited<ReturnType<typeof openDevice>>
  beforeAll(async () => {
    device = await openDevice({ kind: 'cpu', threads: 1 })
  })
  afterAll(() => device.close())

  describe.each(Object.keys(KINDS).filter((kind) => kind !== 'wide'))('%s', (kind) => {
    test.each(QUANTIZER_TYPES)('%s', async (type) => {
      const vectors = KINDS[kind](createRandom(seed).fork(Object.keys(KINDS).indexOf(kind)))
      const { rows, cols, data } = vectors
      const bits = type === 'ok' || type === 'itq'
      const words = bits ? {} : { codewords: Math.min(4, rows) }
      if (bits && rows < 2) return
      const quantizer = await trainQuantizer(vectors, {
        type,
        m: Math.min(2, cols),
        ...words,
        device,
        iterations: 10,
        seed,
      })
      const codes = await quantizer.encode(vectors, { device })
      const decoded = (await quantizer.decode(codes, { device })).data
      expect(decoded.every(Number.isFinite)).toBe(true)
      const largest = Math.max(...Array.from(data, Math.abs))
      let sum = 0
      for (let i = 0; i < data.length; i++) sum += (data[i] - decoded[i]) ** 2
      const root = Math.sqrt(sum / rows)
      const reported = Math.sqrt(quantizer.distortion)
      const again = Math.sqrt(await quantizer.distortionOf(vectors, { device }))
      // Rotations are 32-bit, and decoded vectors are rounded to floats. What no direction has is the difference of
      // two squares: half of the digits.
      const digits = quantizer.facts.rank < cols ? 2 ** -11 : 2 ** -20
      const allowed = 1e-3 * root + Math.sqrt(cols) * Math.max(2 ** -149, largest * digits)
      const what = JSON.stringify({ root, reported, again, allowed })
      // Codewords may lie beyond the largest float, vectors may not.
      const cut = decoded.some((value) => Math.abs(value) > 3.4e38)
      if (!cut) expect(Math.abs(root - again), what).toBeLessThanOrEqual(allowed)
      expect(again, what).toBeLessThanOrEqual(reported * 1.001 + allowed)
    })
  })
})

/** Times by the clock of the GPU. */
import { describe, expect, test } from 'vitest'
import { passSeconds } from '../../src/device/webgpu/pass-timer.ts'
import { blobs, nearest, openDevice } from '../../src/index.ts'

describe('the time of passes', () => {
  const stamps = (...values: number[]) => BigInt64Array.from(values, BigInt)

  test('is the sum of their differences, in seconds', () => {
    expect(passSeconds(stamps(1000, 3000, 10_000, 11_000))).toBeCloseTo(3e-6, 12)
  })

  test.each([
    ['the clock ran backwards', [3000, 1000]],
    ['a timestamp is missing', [1000, 0]],
    ['one of several is missing', [1000, 2000, 0, 0]],
    ['the clock stood still', [1000, 1000]],
  ])('is unknown if %s', (_, values) => expect(passSeconds(stamps(...values))).toBeUndefined())
})

test('a device tells the time of its work, and goes on as before', async () => {
  const device = await openDevice({ kind: 'webgpu', tune: false })
  const { vectors } = blobs({ rows: 200, cols: 8, clusters: 4, seed: 1 })
  const plain = await nearest(vectors, vectors, { device })
  let timed: typeof plain | undefined
  const began = performance.now()
  const seconds = await device.gpuSeconds?.(async () => {
    timed = await nearest(vectors, vectors, { device })
  })
  const wall = (performance.now() - began) / 1000
  // Without timestamp queries nothing is run, and nothing is told.
  if (seconds === undefined) expect(timed).toBeUndefined()
  else {
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThan(wall * 1.1)
    expect(timed).toEqual(plain)
  }
  expect(await nearest(vectors, vectors, { device })).toEqual(plain)
  await device.close()
})

/** Classes of speed: coarse, steady, and assumed where nothing was measured. */
import { describe, expect, test } from 'vitest'
import {
  assumedSpeed,
  compareSpeeds,
  givenSpeed,
  type Speed,
  speedClass,
  speedWords,
  withMeasured,
} from '../../src/device/speed.ts'

const measured = (gflops: number): Speed => ({ gflops, source: 'measured' })

describe('the class of a measurement', () => {
  test.each([
    [1, 1],
    [60, 64],
    [46, 64],
    [45, 32],
    [9000, 8192],
    [0.3, 0.25],
  ])('%f GFLOP/s are %f', (gflops, expected) => expect(speedClass(gflops)).toBe(expected))

  test('stays where another measurement hardly differs, on both sides of a border', () => {
    for (const noisy of [40, 44, 46, 64, 90, 100]) expect(speedClass(noisy, 64)).toBe(64)
    for (const noisy of [40, 44, 46, 50]) expect(speedClass(noisy, 32)).toBe(32)
    expect(speedClass(30, 64)).toBe(32)
    expect(speedClass(130, 64)).toBe(128)
  })
})

describe('what is assumed', () => {
  test('goes by threads on the CPU device and on software adapters', () => {
    expect(assumedSpeed('cpu', 1).exact).toEqual({ gflops: 64, source: 'assumed' })
    expect(assumedSpeed('cpu', 12).exact.gflops).toBe(1024)
    expect(assumedSpeed('software', 8).exact.gflops).toBe(8)
    expect(assumedSpeed('hardware', 8).exact.gflops).toBe(assumedSpeed('hardware', 1).exact.gflops)
  })

  test('gives way to measurements, and those to what a caller states', () => {
    const assumed = assumedSpeed('hardware', 1)
    const found = withMeasured(assumed, { exact: 16384 })
    expect(found.exact).toEqual(measured(16384))
    // Not measured itself: as far from exact assignment as it usually is.
    expect(found.closures).toEqual({ gflops: 2048, source: 'assumed' })
    expect(withMeasured(assumed, { exact: 16384, closures: 64 }).closures).toEqual(measured(64))
    const given = givenSpeed(100, 'cpu')
    expect(withMeasured(given, { exact: 16384, closures: 64 })).toEqual(given)
    expect(withMeasured(assumed, {})).toEqual(assumed)
  })
})

describe('auto', () => {
  const cpu = assumedSpeed('cpu', 16).exact
  test.each<[Speed, boolean, RegExp]>([
    [assumedSpeed('hardware', 1).exact, true, /^auto selects a hardware GPU where there is one$/],
    [
      measured(8192),
      true,
      /^auto selects the hardware GPU: about 8 TFLOP\/s measured, against about 1 TFLOP\/s assumed on the CPU device$/,
    ],
    [measured(1024), true, /hardware GPU/],
    [
      measured(256),
      false,
      /^auto selects the CPU device: about 1 TFLOP\/s assumed, against about 256 GFLOP\/s measured on the GPU, slow GPU$/,
    ],
  ])('compares %j with the CPU device', (gpu, taken, reason) => {
    const found = compareSpeeds(gpu, cpu, 'slow GPU')
    expect(found.gpu).toBe(taken)
    expect(found.reason).toMatch(reason)
  })
})

test.each([
  [measured(128), 'about 128 GFLOP/s measured'],
  [measured(0.5), 'about 0.5 GFLOP/s measured'],
  [measured(1024), 'about 1 TFLOP/s measured'],
  [{ gflops: 16384, source: 'given' } as const, 'about 16 TFLOP/s given'],
])('%j in words', (speed, words) => expect(speedWords(speed)).toBe(words))

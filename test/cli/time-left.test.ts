import { describe, expect, test } from 'vitest'
import { TimeLeft } from '../../src/cli/progress/time-left.ts'

const LIMITS = { iterations: 100, tolerance: 1e-4, seconds: Number.POSITIVE_INFINITY, restarts: 1 }

/** Rounds of two seconds each, with the given distortions. */
function after(distortions: readonly number[], limits = LIMITS): string {
  const left = new TimeLeft(limits)
  distortions.forEach((distortion, i) => {
    left.take({ iteration: i + 1, distortion, moved: 1, candidates: 1, seconds: 2 * (i + 1), restart: 0 })
  })
  return left.words()
}

describe('time left', () => {
  test('nothing is known before a second round', () => {
    expect(after([100])).toBe('')
  })

  test('at most all the rounds there may be', () => {
    expect(after([100, 50])).toBe('at most 3 min 16 s left')
    expect(after([100, 50], { ...LIMITS, restarts: 2 })).toBe('at most 6 min 36 s left')
  })

  test('at most until the time is up, and the round that is then running', () => {
    expect(after([100, 50], { ...LIMITS, seconds: 14 })).toBe('at most 12 s left')
  })

  test('falls like 1/round² reach a tolerance of 0.0001 in about round 100 · 0.2', () => {
    let distortion = 1
    const falling = Array.from({ length: 10 }, (_, i) => (distortion *= 1 - 0.04 / (i + 1) ** 2))
    // 0.04 / 20² is the tolerance, so ten rounds are left after ten.
    expect(after(falling)).toBe('~20 s left, at most 3 min 0 s')
  })

  test('no guess where the distortion does not flatten out, or no tolerance is set', () => {
    expect(after([100, 99, 97, 94, 90])).toBe('at most 3 min 10 s left')
    expect(after([100, 50, 40, 38, 37], { ...LIMITS, tolerance: 0 })).toBe('at most 3 min 10 s left')
  })

  test('nothing after the last round', () => {
    expect(after([100, 50], { ...LIMITS, iterations: 2 })).toBe('')
  })
})

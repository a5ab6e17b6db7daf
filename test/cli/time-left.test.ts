import { describe, expect, test } from 'vitest'
import { TimeLeft } from '../../src/cli/progress/time-left.ts'

const LIMITS = { iterations: 100, tolerance: 1e-4, seconds: Number.POSITIVE_INFINITY, restarts: 1 }

/** Rounds of two seconds each, with the given distortions. */
function wordsAfter(distortions: readonly number[], limits = LIMITS): string {
  const left = new TimeLeft(limits)
  distortions.forEach((distortion, i) => {
    left.take({ iteration: i + 1, distortion, moved: 1, candidates: 1, seconds: 2 * (i + 1), restart: 0 })
  })
  return left.words()
}

describe('time left', () => {
  test('nothing is known before a second round', () => {
    expect(wordsAfter([100])).toBe('')
  })

  test('at most all the rounds there may be', () => {
    expect(wordsAfter([100, 50])).toBe('at most 3 min 16 s left')
    expect(wordsAfter([100, 50], { ...LIMITS, restarts: 2 })).toBe('at most 6 min 36 s left')
  })

  test('at most until the time is up, and the round that is then running', () => {
    expect(wordsAfter([100, 50], { ...LIMITS, seconds: 14 })).toBe('at most 12 s left')
  })

  test('falls that shrink like a power of the round are followed to the tolerance', () => {
    let distortion = 1
    const falling = Array.from({ length: 10 }, (_, i) => (distortion *= 1 - 0.0359 / (i + 1) ** 2))
    // 0.0359 / 18.95² is the tolerance, so nine rounds are left after ten; a part of one counts as one.
    expect(wordsAfter(falling)).toBe('~18 s left, at most 3 min 0 s')
  })

  test('no guess where the distortion does not flatten out, or no tolerance is set', () => {
    expect(wordsAfter([100, 99, 97, 94, 90])).toBe('at most 3 min 10 s left')
    expect(wordsAfter([100, 50, 40, 38, 37], { ...LIMITS, tolerance: 0 })).toBe('at most 3 min 10 s left')
  })

  test('nothing after the last round', () => {
    expect(wordsAfter([100, 50], { ...LIMITS, iterations: 2 })).toBe('')
  })
})

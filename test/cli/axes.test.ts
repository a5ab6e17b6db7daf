import { describe, expect, test } from 'vitest'
import { roundAxis, spanAxis } from '../../src/cli/report/charts/axes.ts'

describe('ticks of rounds', () => {
  test.each([
    [1, 1, [1]],
    [1, 2, [1, 2]],
    [1, 11, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
    [1, 20, [1, 4, 6, 8, 10, 12, 14, 16, 18, 20]],
    [1, 40, [1, 5, 10, 15, 20, 25, 30, 35, 40]],
    [1, 100, [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]],
  ])('from %i to %i', (first, last, ticks) => {
    expect(roundAxis(first, last).ticks).toEqual(ticks)
  })

  test('never many', () => {
    for (let last = 1; last < 3000; last += 7)
      expect(roundAxis(1, last).ticks).toSatisfy((t: number[]) => t.length <= 12)
  })
})

describe('axis of values', () => {
  const labels = (values: number[]): string[] => {
    const { domain, tickFormat } = spanAxis(values)
    const [low, high] = domain as [number, number]
    const format = tickFormat as unknown as (value: number) => string
    return [0, 1, 2, 3, 4].map((i) => format(low + ((high - low) * i) / 4))
  }

  test.each([[[509.075, 509.0764]], [[100, 200]], [[1e9, 1.0001e9]], [[0.1, 0.10003]], [[-4.3, -3.9]]])(
    'ticks of %j differ',
    (values) => {
      expect(new Set(labels(values)).size).toBe(5)
    },
  )

  test('what differs by rounding alone is flat, and has room', () => {
    for (const values of [
      [509.076, 509.076 + 1e-7],
      [3, 3],
      [0, 0],
    ]) {
      const [low, high] = spanAxis(values).domain as [number, number]
      expect(high - low).toBeGreaterThan(0.09 * Math.max(1, values[0]))
    }
  })
})

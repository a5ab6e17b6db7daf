/** Axes of charts: labels that differ, whole rounds, and level curves that look level. */
import { describe, expect, test } from 'vitest'
import { xAxis, yAxis } from '../../demos/shell/chart-axes.ts'
import { createRandom } from '../../src/index.ts'

const random = createRandom(4)
const curves = Array.from({ length: 300 }, () => {
  const scale = 10 ** (12 * random.uniform() - 6)
  const fall = 10 ** (-8 * random.uniform())
  const rounds = 1 + random.below(200)
  return Array.from({ length: rounds }, (_, i) => [i + 1, scale * (1 + fall / (i + 1))] as const)
})

describe.each(['linear', 'log'] as const)('%s', (scale) => {
  test('labels of ticks differ, and ticks lie on the axis', () => {
    for (const curve of curves) {
      for (const axis of [yAxis(curve, scale), xAxis(curve, scale, false)]) {
        expect(new Set(axis.labels).size, axis.labels.join()).toBe(axis.ticks.length)
        expect(axis.ticks.every((tick) => tick >= axis.domain[0] && tick <= axis.domain[1])).toBe(true)
      }
      expect(yAxis(curve, scale).ticks.length).toBeGreaterThan(0)
    }
  })

  test('what changes by rounding alone is drawn level', () => {
    const noise = Array.from({ length: 20 }, (_, i) => [i + 1, 3 * (1 + 1e-6 * random.normal())] as const)
    const [low, high] = yAxis(noise, scale).domain
    const values = noise.map(([, y]) => y)
    expect((Math.max(...values) - Math.min(...values)) / (high - low)).toBeLessThan(0.01)
  })
})

test('rounds are whole numbers, one and two too', () => {
  for (const curve of curves) expect(xAxis(curve, 'linear', true).ticks.every(Number.isInteger)).toBe(true)
  expect(xAxis([[1, 5]], 'linear', true).labels).toEqual(['1', '2'])
})

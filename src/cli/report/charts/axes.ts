/** Scales and lines that several pictures share. */
import type { Markish, ScaleOptions } from '@observablehq/plot'
import { ACCENT, type Drawing } from './drawing.ts'

/** Up to here every round gets a dot, and every cluster a bar of its own. */
export const FEW = 60

export type Point = readonly [number, number]

const compactFormat = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 4 })

export function compact(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(1) : compactFormat.format(value)
}

/** From the one below the least value to the one above the largest. */
export function powersOfTen(values: readonly number[]): number[] {
  if (values.length === 0) return [1, 10]
  const low = Math.floor(Math.log10(Math.min(...values)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))
  return Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
}

/** Differences below this share of the values are rounding, and drawn as none. */
const FLAT = 1e-6

export function spanAxis(values: readonly number[], top = Math.max(...values)): ScaleOptions {
  const low = Math.min(...values)
  const size = Math.max(Math.abs(low), Math.abs(top))
  // A flat line needs some height to lie in.
  const margin = top - low > FLAT * size ? (top - low) * 0.05 : size * 0.05 || 1
  const domain = [low - margin, top + margin]
  return { label: null, domain, ticks: 5, tickFormat: ticksFor(domain[1] - domain[0], size), grid: true }
}

/** As many digits as tell neighbouring ticks apart. */
function ticksFor(range: number, size: number): (value: number) => string {
  const digits = Math.min(12, Math.max(4, Math.ceil(Math.log10((size || 1) / range)) + 2))
  const format = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: digits })
  return (value) => (value !== 0 && Math.abs(value) < 1e-3 ? compact(value) : format.format(value))
}

export function fromZeroAxis(values: readonly number[]): ScaleOptions {
  const top = Math.max(...values)
  return { label: null, domain: [0, top > 0 ? top : 1], nice: true, ticks: 5, tickFormat: compact, grid: true }
}

export function powersAxis(values: readonly number[]): ScaleOptions {
  const powers = powersOfTen(values)
  return {
    label: null,
    type: 'log',
    domain: [powers[0], powers[powers.length - 1]],
    ticks: powers,
    tickFormat: compact,
    grid: true,
  }
}

/** Rounds are whole: the first, and multiples of 1, 2, 5, 10 and so on. */
export function roundAxis(first: number, last: number): ScaleOptions {
  let step = 1
  for (let i = 0; (last - first) / step > 10; i++) step *= i % 3 === 1 ? 2.5 : 2
  const ticks = [first]
  for (let tick = step * Math.ceil((first + 1) / step); tick <= last; tick += step) ticks.push(tick)
  // A first tick too near to the second would stand in its way.
  if (ticks.length > 1 && ticks[1] - first < 0.6 * step) ticks.splice(1, 1)
  return { label: 'round', domain: [first, Math.max(last, first + 1)], ticks, tickFormat: compact }
}

export function curve({ Plot }: Drawing, points: readonly Point[]): Markish[] {
  const place = { x: (point: Point) => point[0], y: (point: Point) => point[1] }
  return [
    Plot.line(points, { ...place, stroke: ACCENT, strokeWidth: 2 }),
    points.length <= FEW ? Plot.dot(points, { ...place, fill: ACCENT, r: points.length === 1 ? 4 : 2.5 }) : undefined,
  ]
}

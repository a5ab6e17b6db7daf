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

export function spanAxis(values: readonly number[]): ScaleOptions {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  // A flat line needs some height to lie in.
  const margin = high > low ? (high - low) * 0.05 : Math.abs(high) * 0.05 || 1
  return { label: null, domain: [low - margin, high + margin], ticks: 5, tickFormat: compact, grid: true }
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

export function roundAxis(first: number, last: number): ScaleOptions {
  const ticks = Math.min(8, last - first + 1)
  return {
    label: 'round',
    domain: [first, Math.max(last, first + 1)],
    ticks,
    tickFormat: (value: number) => (Number.isInteger(value) ? `${value}` : ''),
  }
}

export function curve({ Plot }: Drawing, points: readonly Point[]): Markish[] {
  const place = { x: (point: Point) => point[0], y: (point: Point) => point[1] }
  return [
    Plot.line(points, { ...place, stroke: ACCENT, strokeWidth: 2 }),
    points.length <= FEW ? Plot.dot(points, { ...place, fill: ACCENT, r: points.length === 1 ? 4 : 2.5 }) : undefined,
  ]
}

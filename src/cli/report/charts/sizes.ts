/** How many points each cluster has. */
import type { Markup } from '../markup.ts'
import { compact, FEW, fromZeroAxis } from './axes.ts'
import { ACCENT, type Drawing, WIDTH } from './drawing.ts'

export function sizeChart({ Plot, draw }: Drawing, sorted: readonly number[]): Markup {
  const k = sorted.length
  const axes = {
    x: { label: 'clusters, largest first', domain: [0, k], ticks: Math.min(6, k), tickFormat: compact },
    y: fromZeroAxis(sorted.slice(0, 1)),
  }
  const inset = Math.min(1, (0.15 * (WIDTH - 70)) / k)
  const bars = { x1: (_: number, i: number) => i, x2: (_: number, i: number) => i + 1, y: (size: number) => size }
  // More steps than pixels are thinned out.
  const step = Math.ceil(k / 1000)
  const places = Array.from({ length: Math.ceil(k / step) }, (_, i) => i * step)
  const marks =
    k <= FEW * 2
      ? [Plot.rectY(sorted, { ...bars, fill: ACCENT, insetLeft: inset, insetRight: inset })]
      : [Plot.areaY(places, { x: (i: number) => i, y: (i: number) => sorted[i], curve: 'step', fill: ACCENT })]
  return draw('Bars: points of each cluster, largest first', { ...axes, marks })
}

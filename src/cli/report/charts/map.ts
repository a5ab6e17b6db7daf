/** Centres in the plane, each as large as its cluster. */
import type { Markup } from '../markup.ts'
import { compact } from './axes.ts'
import { ACCENT, type Drawing, WIDTH } from './drawing.ts'

export interface MapDot {
  readonly x: number
  readonly y: number
  readonly size: number
  readonly title: string
}

export interface MapFrame {
  readonly x: readonly [number, number]
  readonly y: readonly [number, number]
}

/** Circles cover about this share of the picture, were they side by side. */
const COVER = 0.12
/** With more circles, single ones cannot be selected. */
const MOST_TITLES = 400

export interface MapOptions {
  readonly frame: MapFrame
  /** Of the axes. */
  readonly names: readonly [string, string]
  readonly color?: string
  /** False where up and across are not measured alike. */
  readonly square: boolean
}

export function mapChart({ Plot, draw }: Drawing, dots: readonly MapDot[], options: MapOptions): Markup {
  const { frame, names, color = ACCENT, square } = options
  const spread = (frame.y[1] - frame.y[0]) / (frame.x[1] - frame.x[0])
  const height = square ? Math.round((WIDTH - 74) * spread) + 58 : 256
  const total = dots.reduce((sum, { size }) => sum + size, 0) || 1
  const most = Math.max(1, ...dots.map(({ size }) => size))
  // The area of all circles is that share of the picture; one alone stays below a seventh of its height.
  const largest = Math.min(Math.sqrt((COVER * WIDTH * height * most) / (total * Math.PI)), height / 7)
  return draw(`Map: ${dots.length} centres as circles, area by number of points`, {
    height,
    marginRight: 16,
    x: { label: names[0], domain: frame.x, ticks: 5, tickFormat: compact },
    y: { label: names[1], domain: frame.y, ticks: square ? 4 : 5, tickFormat: compact, grid: true },
    r: { type: 'sqrt', domain: [0, most], range: [0, Math.max(1.5, largest)] },
    marks: [
      Plot.dot(dots, {
        x: 'x',
        y: 'y',
        r: ({ size }: MapDot) => Math.max(size, most * 0.002),
        fill: color,
        fillOpacity: 0.35,
        stroke: color,
        strokeWidth: dots.length > MOST_TITLES ? 0.5 : 1,
        ...(dots.length <= MOST_TITLES ? { title: 'title' } : {}),
      }),
    ],
  })
}

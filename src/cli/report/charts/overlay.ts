/** Several runs in one picture, each in its colour. */
import type { Markish, ScaleOptions } from '@observablehq/plot'
import { html, type Markup } from '../markup.ts'
import { compact, FEW, fromZeroAxis, type Point, roundAxis, spanAxis } from './axes.ts'
import type { Drawing } from './drawing.ts'

export interface Series {
  readonly name: string
  readonly points: readonly Point[]
}

/** Colours of the page; where there are more series, lines are dashed from there on. */
const COLORS = 8
const DASHES = ['none', '6 4', '2 4', '10 3 2 3']

export function seriesColor(index: number): string {
  return `var(--series-${(index % COLORS) + 1})`
}

function seriesDash(index: number): string {
  return DASHES[Math.floor(index / COLORS) % DASHES.length]
}

export function legend(names: readonly string[]): Markup {
  const items = names.map(
    (name, i) =>
      html`<li><svg viewBox="0 0 24 8" aria-hidden="true"><path d="M1 4h22" stroke="${seriesColor(i)}" stroke-width="3" stroke-dasharray="${seriesDash(i)}"/></svg>${name}</li>`,
  )
  return html`<ul class="legend">${items}</ul>`
}

export interface OverlayPicture {
  readonly picture: Markup
  /** Remarks on unusual axes, in sentences; usually empty. */
  readonly remarks: string
}

/** Distortion over rounds, or over seconds. */
export function distortionOverlay(
  drawing: Drawing,
  series: readonly Series[],
  over: 'round' | 'seconds',
): OverlayPicture {
  const all = series.flatMap(({ points }) => points)
  const [top, cut] = ceiling(series)
  const logarithmic = over === 'seconds' && spansDecades(series)
  const last = Math.max(...all.map(([x]) => x))
  const timeAxis: ScaleOptions = logarithmic
    ? { label: 'seconds', type: 'log', domain: timeSpan(all), ticks: timeTicks(all), tickFormat: compact }
    : { label: 'seconds', domain: [0, last || 1], nice: true, ticks: 6 }
  const picture = drawing.draw(`Lines: distortion over ${over === 'round' ? 'rounds' : 'time'}, one for each run`, {
    x: over === 'round' ? roundAxis(1, last) : timeAxis,
    y: spanAxis(
      all.map(([, y]) => y),
      top,
    ),
    marks: lines(drawing, series, cut),
  })
  const remarks = [
    logarithmic ? 'Time is on a logarithmic scale.' : '',
    cut ? 'The highest values of the first rounds lie above the picture.' : '',
  ]
  return { picture, remarks: remarks.filter(Boolean).join(' ') }
}

/** Cluster sizes, largest first: against the share of the clusters, as multiples of the mean, so that any k compares. */
export function sizeOverlay(drawing: Drawing, sizes: readonly { name: string; sorted: readonly number[] }[]): Markup {
  const series = sizes.map(({ name, sorted }) => {
    const mean = sorted.reduce((sum, size) => sum + size, 0) / sorted.length || 1
    const step = Math.max(1, Math.floor(sorted.length / 400))
    const places = sorted.map((size, i) => [(i + 0.5) / sorted.length, size / mean] as const)
    return { name, points: places.filter((_, i) => i % step === 0 || i === sorted.length - 1) }
  })
  return drawing.draw('Lines: sizes of the clusters, largest first, one for each run', {
    x: {
      label: 'clusters, largest first',
      domain: [0, 1],
      ticks: 5,
      tickFormat: (share: number) => `${Math.round(share * 100)}%`,
    },
    y: fromZeroAxis(series.flatMap(({ points }) => points.map(([, y]) => y))),
    marks: lines(drawing, series, false),
  })
}

/** Clipped only where something lies outside: dots at the edge would lose a half. */
function lines({ Plot }: Drawing, series: readonly Series[], clip: boolean): Markish[] {
  const place = { x: (point: Point) => point[0], y: (point: Point) => point[1], clip }
  return series.flatMap(({ points }, i) => [
    Plot.line(points, { ...place, stroke: seriesColor(i), strokeWidth: 2, strokeDasharray: seriesDash(i) }),
    points.length <= FEW
      ? Plot.dot(points, { ...place, fill: seriesColor(i), r: points.length === 1 ? 4 : 2.2 })
      : undefined,
  ])
}

/** First rounds from a bad start are so high that all the rest would be one flat line: the highest tenth may be cut. */
function ceiling(series: readonly Series[]): [top: number, cut: boolean] {
  const highest = Math.max(...series.flatMap(({ points }) => points.map(([, y]) => y)))
  const lowest = Math.min(...series.flatMap(({ points }) => points.map(([, y]) => y)))
  const needed = Math.max(
    ...series.map(({ points }) => {
      const falling = points.map(([, y]) => y).sort((a, b) => b - a)
      return falling[Math.min(falling.length - 1, Math.ceil(falling.length / 10))]
    }),
  )
  // Cutting has to be worth its sentence.
  return needed - lowest < 0.6 * (highest - lowest) ? [needed, true] : [highest, false]
}

function spansDecades(series: readonly Series[]): boolean {
  const ends = series.map(({ points }) => points[points.length - 1][0])
  const starts = series.map(({ points }) => points[0][0]).filter((x) => x > 0)
  return Math.max(...ends) > 20 * Math.min(...starts, ...ends)
}

function timeSpan(points: readonly Point[]): [number, number] {
  const times = points.map(([x]) => x).filter((x) => x > 0)
  const [low, high] = [Math.min(...times), Math.max(...times)]
  return [low * 0.9, high > low ? high : low * 2]
}

/** 0.1, 0.2, 0.5, 1 and so on: as many as fit. */
function timeTicks(points: readonly Point[]): number[] {
  const [low, high] = timeSpan(points)
  const decades = Math.log10(high / low)
  const steps = decades > 3 ? [1] : [1, 2, 5]
  const powers = Array.from({ length: Math.ceil(decades) + 2 }, (_, i) => Math.floor(Math.log10(low)) + i)
  return powers
    .flatMap((power) => steps.map((step) => Number(`${step}e${power}`)))
    .filter((tick) => tick >= low && tick <= high)
}

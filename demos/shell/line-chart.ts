/** A small line chart in SVG: several curves over shared axes, growing as points arrive. */
import { placeLabels } from './chart-labels.ts'
import { showNumber, svg } from './dom.ts'

export interface ChartSeries {
  readonly name: string
  /** A CSS colour. */
  readonly colour: string
  readonly points: readonly (readonly [x: number, y: number])[]
  /** Drawn broader, in front. */
  readonly strong?: boolean
}

export interface ChartOptions {
  readonly xLabel: string
  readonly yLabel: string
  readonly xScale?: 'linear' | 'log'
  readonly yScale?: 'linear' | 'log'
  /** Said to screen readers, with the curves' last values. */
  readonly title: string
  /** In pixels; 240 unless told. The host should keep that room: class chart-room does for 240. */
  readonly height?: number
  /** The values of x are counts: no ticks between whole numbers. */
  readonly wholeX?: boolean
  /** Write each curve's name at its end, where there is room. */
  readonly labels?: boolean
}

export interface LineChart {
  draw(series: readonly ChartSeries[]): void
}

const LEAST_WIDTH = 240
/** In narrower charts only so few names leave the curves in view. */
const ROOM_FOR_NAMES = 560
const FEW_NAMES = 4
/** Of the widest letters of a number, and of what stands beside them. */
const LETTER = 7
const BESIDE = 30
const MOST_DIGITS = 12
const RIGHT = 12
const TOP = 12
const BOTTOM = 40

export function lineChart(host: HTMLElement, options: ChartOptions): LineChart {
  const { xLabel, yLabel, xScale = 'linear', yScale = 'linear', title, height = 240, labels = false } = options
  const wholeX = options.wholeX ?? xLabel === 'round'
  // A title element would be shown as a tooltip; the label is for screen readers alone.
  const root = svg('svg', { class: 'chart', role: 'img', height, 'aria-label': title })
  const grid = svg('g', { class: 'chart-grid' })
  const lines = svg('g', { class: 'chart-lines' })
  const middle = (TOP + height - BOTTOM) / 2
  const below = svg('text', { y: height - 6, 'text-anchor': 'middle' }, xLabel)
  const aside = { x: 11, y: middle, 'text-anchor': 'middle', transform: `rotate(-90 11 ${middle})` }
  root.append(grid, lines, below, svg('text', aside, yLabel))
  host.replaceChildren(root)
  let shown: readonly ChartSeries[] = []

  const draw = (series: readonly ChartSeries[]): void => {
    shown = series
    // In pixels of the page, so that letters have the same size in charts of any width.
    const width = Math.max(LEAST_WIDTH, host.clientWidth)
    root.setAttribute('viewBox', `0 0 ${width} ${height}`)
    const all = series.flatMap(({ points }) => points)
    const y = axis(range(all, 1, yScale), [height - BOTTOM, TOP], yScale)
    const left = BESIDE + LETTER * Math.max(4, ...y.labels.map((label) => label.length))
    const x = axis(range(all, 0, xScale), [left, width - RIGHT], xScale, wholeX)
    below.setAttribute('x', String((left + width - RIGHT) / 2))
    const empty = all.length === 0
    grid.replaceChildren(
      // Numbers on axes without curves would say something that is not so.
      ...(empty ? [] : x.ticks).flatMap((tick, i) => [
        svg('line', { x1: x.place(tick), x2: x.place(tick), y1: TOP, y2: height - BOTTOM }),
        svg('text', { x: x.place(tick), y: height - BOTTOM + 16, 'text-anchor': 'middle' }, x.labels[i]),
      ]),
      ...(empty ? [] : y.ticks).flatMap((tick, i) => [
        svg('line', { x1: left, x2: width - RIGHT, y1: y.place(tick), y2: y.place(tick) }),
        svg('text', { x: left - 6, y: y.place(tick) + 4, 'text-anchor': 'end' }, y.labels[i]),
      ]),
    )
    const drawn = [...series].sort((a, b) => Number(a.strong ?? false) - Number(b.strong ?? false))
    lines.replaceChildren(...drawn.flatMap((one) => curve(one, x.place, y.place)))
    const named = series.filter(({ points }) => points.length > 0).length
    if (labels && (width >= ROOM_FOR_NAMES || named <= FEW_NAMES))
      lines.append(...namesOf(series, x.place, y.place, { right: width - RIGHT, bottom: height - BOTTOM }))
    const ends = series
      .filter(({ points }) => points.length > 0)
      .map(({ name, points }) => `${name} ${showNumber(points[points.length - 1][1])}`)
    root.setAttribute('aria-label', ends.length > 0 ? `${title}. Last values: ${ends.join(', ')}.` : title)
  }
  new ResizeObserver(() => draw(shown)).observe(host)
  return { draw }
}

function curve(
  { points, colour, strong }: ChartSeries,
  placeX: (value: number) => number,
  placeY: (value: number) => number,
): SVGElement[] {
  if (points.length === 0) return []
  const places = points.map(([x, y]) => `${placeX(x).toFixed(1)} ${placeY(y).toFixed(1)}`)
  const [x, y] = places[places.length - 1].split(' ')
  return [
    svg('path', { d: `M${places.join('L')}`, stroke: colour, 'stroke-width': strong ? 3 : 1.75, fill: 'none' }),
    svg('circle', { cx: x, cy: y, r: strong ? 4 : 3, fill: colour }),
  ]
}

function namesOf(
  series: readonly ChartSeries[],
  placeX: (value: number) => number,
  placeY: (value: number) => number,
  room: { readonly right: number; readonly bottom: number },
): SVGElement[] {
  const ended = series.filter(({ points }) => points.length > 0)
  const ends = ended.map(({ name, points }) => {
    const [x, y] = points[points.length - 1]
    return { x: placeX(x), y: placeY(y), width: LETTER * name.length }
  })
  return placeLabels(ends, { ...room, top: TOP }).map(({ x, y }, i) => {
    const label = svg('text', { x, y, class: 'chart-name' }, ended[i].name)
    // Not a style attribute: the content security policy of the page blocks those.
    label.style.fill = ended[i].colour
    return label
  })
}

type Range = readonly [low: number, high: number]

function range(points: readonly (readonly [number, number])[], which: 0 | 1, scale: 'linear' | 'log'): Range {
  let low = Number.POSITIVE_INFINITY
  let high = Number.NEGATIVE_INFINITY
  for (const point of points) {
    const value = point[which]
    if (!Number.isFinite(value) || (scale === 'log' && value <= 0)) continue
    low = Math.min(low, value)
    high = Math.max(high, value)
  }
  if (low > high) return scale === 'log' ? [0.1, 1] : [0, 1]
  if (which === 0 && scale === 'linear') return [Math.min(low, 0), Math.max(high, 1e-9)]
  if (scale === 'log') return low === high ? [low / 1.2, high * 1.2] : [low / 1.05, high * 1.05]
  const margin = (high - low || Math.abs(high) || 1) * 0.06
  return [low - margin, high + margin]
}

interface Axis {
  readonly ticks: readonly number[]
  /** Of the ticks, all different. */
  readonly labels: readonly string[]
  place(value: number): number
}

function axis([low, high]: Range, [from, to]: Range, scale: 'linear' | 'log', whole = false): Axis {
  const inner = scale === 'log' ? Math.log10 : (value: number) => value
  const [start, end] = [inner(low), inner(high)]
  const place = (value: number): number => {
    const share = (inner(scale === 'log' ? Math.max(value, low) : value) - start) / (end - start || 1)
    return from + share * (to - from)
  }
  const all = scale === 'log' ? logTicks(low, high) : linearTicks(low, high)
  const ticks = whole ? all.filter(Number.isInteger) : all
  return { place, ticks, labels: labelsOf(ticks) }
}

function linearTicks(low: number, high: number, count = 6): number[] {
  const rough = (high - low) / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power
  const ticks: number[] = []
  for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push(i * step)
  return ticks
}

/** 1, 2 and 5 of each power of ten if there is room, else the powers; steps as on a straight axis within one. */
function logTicks(low: number, high: number): number[] {
  if (high / low < 5) return linearTicks(low, high).filter((tick) => tick > 0)
  const factors = high / low > 1000 ? [1] : high / low > 60 ? [1, 3] : [1, 2, 5]
  const ticks: number[] = []
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    ticks.push(...factors.map((factor) => factor * 10 ** power).filter((tick) => tick >= low && tick <= high))
  }
  return ticks
}

/** As many digits as tell the ticks apart: values of a curve that hardly changes differ in later ones. */
function labelsOf(ticks: readonly number[]): string[] {
  for (let digits = 4; ; digits++) {
    const labels = ticks.map((tick) => shortNumber(tick, digits))
    if (new Set(labels).size === ticks.length || digits === MOST_DIGITS) return labels
  }
}

function shortNumber(value: number, digits: number): string {
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return Number(value.toPrecision(digits)).toExponential()
  return value.toLocaleString('en', { maximumSignificantDigits: digits })
}

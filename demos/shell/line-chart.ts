/** A small line chart: several curves over shared axes, growing as points arrive. uPlot draws it, loaded with the first chart. */
import type { ChartScale } from './chart-axes.ts'
import { onThemeChange } from './cluster-colours.ts'
import { showNumber } from './dom.ts'
import type { PlottedChart } from './plotted-chart.ts'

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
  readonly xScale?: ChartScale
  readonly yScale?: ChartScale
  /** Said to screen readers, with the curves' last values. */
  readonly title: string
  /** In pixels. Default: 240. The host should keep that room: class chart-room does for 240. */
  readonly height?: number
  /** The values of x are counts: no ticks between whole numbers. Default: where x is the round. */
  readonly wholeX?: boolean
  /** Write each curve's name at its end, where there is room. Default: false. */
  readonly labels?: boolean
}

export interface LineChart {
  draw(series: readonly ChartSeries[]): void
  rescale(xScale: ChartScale): void
}

const LEAST_WIDTH = 240

export function lineChart(host: HTMLElement, options: ChartOptions): LineChart {
  const asked: { -readonly [Name in keyof ChartOptions]-?: ChartOptions[Name] } = {
    xScale: 'linear',
    yScale: 'linear',
    height: 240,
    wholeX: options.xLabel === 'round',
    labels: false,
    ...options,
  }
  let chart: PlottedChart | undefined
  let shown: readonly ChartSeries[] = []
  host.setAttribute('role', 'img')
  host.setAttribute('aria-label', asked.title)
  host.classList.add('chart')

  // In pixels of the page, so that letters have the same size in charts of any width.
  const width = (): number => Math.max(LEAST_WIDTH, host.clientWidth)
  const draw = (series: readonly ChartSeries[]): void => {
    shown = series
    chart?.draw(shown, width())
    const ends = shown
      .filter(({ points }) => points.length > 0)
      .map(({ name, points }) => `${name} ${showNumber(points[points.length - 1][1])}`)
    host.setAttribute('aria-label', ends.length > 0 ? `${asked.title}. Last values: ${ends.join(', ')}.` : asked.title)
  }
  void import('./plotted-chart.ts').then(({ PlottedChart }) => {
    chart = new PlottedChart(host, asked)
    draw(shown)
  })
  new ResizeObserver(() => draw(shown)).observe(host)
  onThemeChange(() => chart?.rebuild(width()))
  return {
    draw,
    rescale(xScale) {
      asked.xScale = xScale
      chart?.rebuild(width())
    },
  }
}

/** One chart by uPlot. Loaded when the first chart is drawn, so that pages appear before it. */
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { type ChartAxis, xAxis, yAxis } from './chart-axes.ts'
import { placeLabels } from './chart-labels.ts'
import type { ChartOptions, ChartSeries } from './line-chart.ts'

/** In narrower charts only so few names leave the curves in view. */
const ROOM_FOR_NAMES = 560
const FEW_NAMES = 4
/** Width of the widest letters of a number, and of what stands beside them. */
const LETTER = 7
const BESIDE = 12
const FONT = '12px system-ui, sans-serif'
const LOGARITHMIC = 3
const LINEAR = 1

export class PlottedChart {
  readonly #host: HTMLElement
  readonly #options: Required<ChartOptions>
  #plot: uPlot | undefined
  #names: readonly string[] = []
  #series: readonly ChartSeries[] = []
  #x: ChartAxis = xAxis([], 'linear', false)
  #y: ChartAxis = yAxis([], 'linear')

  constructor(host: HTMLElement, options: Required<ChartOptions>) {
    this.#host = host
    this.#options = options
  }

  draw(series: readonly ChartSeries[], width: number): void {
    const { xScale, yScale, wholeX, height } = this.#options
    this.#series = series.filter(({ points }) => points.length > 0)
    const all = this.#series.flatMap(({ points }) => points)
    this.#x = xAxis(all, xScale, wholeX)
    this.#y = yAxis(all, yScale)
    const names = this.#series.map(({ name, strong }) => `${name} ${strong}`)
    if (!this.#plot || names.join() !== this.#names.join()) {
      this.#plot?.destroy()
      this.#names = names
      this.#plot = new uPlot(this.#layout(width), this.#data(), this.#host)
    } else {
      this.#plot.setSize({ width, height })
      this.#plot.setData(this.#data())
    }
    // Canvases tell nothing: what stands on the axes can be read here.
    Object.assign(this.#plot.root.dataset, {
      curves: this.#series.map(({ name }) => name).join(),
      x: this.#ticks(this.#x).join('|'),
      y: this.#ticks(this.#y).join('|'),
    })
  }

  /** After the theme or a scale changed. */
  rebuild(width: number): void {
    this.#names = []
    this.draw(this.#series, width)
  }

  #ticks({ labels }: ChartAxis): readonly string[] {
    // Numbers on axes without curves would say something that is not so.
    return this.#series.length > 0 ? labels : []
  }

  #data(): uPlot.AlignedData {
    if (this.#series.length === 0) return [[]]
    return uPlot.join(
      this.#series.map(({ points }) => {
        const kept = points.filter(([x, y]) => Number.isFinite(y) && (this.#options.xScale === 'linear' || x > 0))
        return [kept.map(([x]) => x), kept.map(([, y]) => y)] as uPlot.AlignedData
      }),
    )
  }

  #layout(width: number): uPlot.Options {
    const { height, xLabel, yLabel, xScale, yScale } = this.#options
    const scale = (kind: 'linear' | 'log', axis: () => ChartAxis): uPlot.Scale => ({
      time: false,
      distr: kind === 'log' ? LOGARITHMIC : LINEAR,
      range: () => [...axis().domain] as [number, number],
    })
    const [soft, line] = [this.#colour('var(--soft)'), this.#colour('var(--line)')]
    const axis = (which: () => ChartAxis, label: string): uPlot.Axis => ({
      label,
      labelFont: FONT,
      font: FONT,
      stroke: soft,
      labelSize: 18,
      grid: { stroke: line, width: 1 },
      ticks: { show: false },
      splits: () => (this.#series.length > 0 ? [...which().ticks] : []),
      values: () => [...this.#ticks(which())],
    })
    return {
      width,
      height,
      padding: [12, 12, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      // Scales are known when the plot has drawn, which it does after the call.
      hooks: { draw: [(plot) => this.#name(plot)] },
      scales: { x: scale(xScale, () => this.#x), y: scale(yScale, () => this.#y) },
      axes: [
        { ...axis(() => this.#x, xLabel), size: 24 },
        {
          ...axis(() => this.#y, yLabel),
          size: () => BESIDE + LETTER * Math.max(3, ...this.#y.labels.map((label) => label.length)),
        },
      ],
      series: [
        {},
        ...this.#series.map(({ name, colour, strong }, i): uPlot.Series => {
          const stroke = this.#colour(colour)
          return {
            label: name,
            stroke,
            width: strong ? 3 : 1.75,
            spanGaps: true,
            // The last value alone has a dot.
            points: {
              show: true,
              size: strong ? 8 : 6,
              fill: stroke,
              filter: (plot) => [lastIndex(plot.data[i + 1])],
            },
          }
        }),
      ],
    }
  }

  /** Names at the ends of curves, as text of the page. */
  #name(plot: uPlot): void {
    for (const old of plot.over.querySelectorAll('.chart-name')) old.remove()
    if (!this.#options.labels || (plot.width < ROOM_FOR_NAMES && this.#series.length > FEW_NAMES)) return
    const ends = this.#series.map(({ name, points }) => {
      const [x, y] = points[points.length - 1]
      return { x: plot.valToPos(x, 'x'), y: plot.valToPos(y, 'y'), width: LETTER * name.length }
    })
    const room = { right: plot.over.clientWidth, top: 0, bottom: plot.over.clientHeight }
    placeLabels(ends, room).forEach(({ x, y }, i) => {
      const label = document.createElement('span')
      label.className = 'chart-name'
      label.textContent = this.#series[i].name
      // Not a style attribute: the content security policy of the page blocks those.
      Object.assign(label.style, { left: `${x}px`, top: `${y}px`, color: this.#series[i].colour })
      plot.over.append(label)
    })
  }

  /** Canvases take no variables of style sheets. */
  #colour(css: string): string {
    const probe = document.createElement('span')
    probe.style.color = css
    this.#host.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}

function lastIndex(values: ArrayLike<number | null | undefined>): number {
  let i = values.length - 1
  while (i > 0 && (values[i] === null || values[i] === undefined)) i--
  return i
}

/** Lines in a plot, as SVG files that a README can show. */
import { mkdirSync, writeFileSync } from 'node:fs'
import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'

export interface Series {
  readonly name: string
  readonly points: readonly (readonly [number, number])[]
}

export interface Axes {
  readonly title: string
  readonly x: string
  readonly y: string
  readonly xLog?: boolean
  readonly yLog?: boolean
  /** Show only what is under this many times the lowest value. */
  readonly yCut?: number
  /** Pixels for the legend. */
  readonly margin?: number
}

export function writePlot(
  file: string,
  series: readonly Series[],
  { title, x, y, xLog, yLog, yCut, margin = 110 }: Axes,
): void {
  const rows = series.flatMap(({ name, points }) => points.map(([a, b]) => ({ name, a, b })))
  const values = rows.map(({ b }) => b)
  const lowest = Math.min(...values)
  // A first round far above all others would press the rest into a line.
  const highest = Math.min(Math.max(...values), yCut ? lowest * yCut : Number.POSITIVE_INFINITY)
  const { document } = parseHTML('<html></html>')
  const figure = Plot.plot({
    document,
    width: 760,
    height: 420,
    marginLeft: 64,
    style: { background: 'white', fontSize: '12px' },
    x: { label: x, type: xLog ? 'log' : 'linear', grid: true },
    y: { label: y, type: yLog ? 'log' : 'linear', grid: true, domain: [lowest, highest], nice: true },
    color: { domain: series.map(({ name }) => name), scheme: 'Observable10' },
    marks: [
      Plot.line(rows, { x: 'a', y: 'b', stroke: 'name', clip: true }),
      Plot.dot(rows, { x: 'a', y: 'b', fill: 'name', r: 2.2, clip: true }),
      // A legend in the margin, where lines that end together cannot hide it.
      ...series.map(({ name }, i) =>
        Plot.text([{ name }], {
          text: 'name',
          fill: 'name',
          frameAnchor: 'top-right',
          textAnchor: 'start',
          dx: 12,
          dy: 14 + i * 16,
        }),
      ),
      Plot.text([title], { frameAnchor: 'top-right', fontWeight: 'bold' }),
    ],
    marginRight: margin,
  })
  const svg = figure.outerHTML.replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" ')
  mkdirSync('bench/results', { recursive: true })
  writeFileSync(`bench/results/${file}.svg`, `${svg}\n`)
}

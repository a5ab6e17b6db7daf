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
}

export function writePlot(file: string, series: readonly Series[], { title, x, y, xLog, yLog }: Axes): void {
  const rows = series.flatMap(({ name, points }) => points.map(([a, b]) => ({ name, a, b })))
  const { document } = parseHTML('<html></html>')
  const figure = Plot.plot({
    document,
    width: 760,
    height: 420,
    marginLeft: 64,
    style: { background: 'white', fontSize: '12px' },
    x: { label: x, type: xLog ? 'log' : 'linear', grid: true },
    y: { label: y, type: yLog ? 'log' : 'linear', grid: true },
    color: { domain: series.map(({ name }) => name), scheme: 'Observable10' },
    marks: [
      Plot.line(rows, { x: 'a', y: 'b', stroke: 'name' }),
      Plot.dot(rows, { x: 'a', y: 'b', fill: 'name', r: 2.2 }),
      Plot.text(
        rows,
        Plot.selectLast({ x: 'a', y: 'b', z: 'name', text: 'name', fill: 'name', dx: 6, textAnchor: 'start' }),
      ),
      Plot.text([title], { frameAnchor: 'top-right', fontWeight: 'bold' }),
    ],
    marginRight: 110,
  })
  const svg = figure.outerHTML.replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" ')
  mkdirSync('bench/results', { recursive: true })
  writeFileSync(`bench/results/${file}.svg`, `${svg}\n`)
}

/** The results as a plot and as a page that can be shared: one file without anything to load. */
import { mkdirSync, writeFileSync } from 'node:fs'
import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { type Cell, readable } from '../table.ts'

export interface Bar {
  readonly kernel: string
  /** Share of the adapter's measured peak, 0 to 1, of arithmetic or of bandwidth. */
  readonly share: number
  readonly of: 'arithmetic' | 'bandwidth'
}

export function barChart(bars: readonly Bar[], title: string): string {
  const { document } = parseHTML('<html></html>')
  const sorted = [...bars].sort((a, b) => b.share - a.share)
  const figure = Plot.plot({
    document,
    width: 760,
    height: 74 + 16 * sorted.length,
    marginLeft: 200,
    marginRight: 48,
    marginTop: 48,
    style: { background: 'white', fontSize: '12px' },
    x: {
      label: null,
      axis: 'top',
      grid: true,
      domain: [0, Math.max(1, ...bars.map(({ share }) => share)) * 100],
    },
    y: { label: null, domain: sorted.map(({ kernel }) => kernel) },
    color: { domain: ['arithmetic', 'bandwidth'], range: ['#4269d0', '#efb118'] },
    marks: [
      Plot.barX(sorted, { x: ({ share }: Bar) => share * 100, y: 'kernel', fill: 'of' }),
      Plot.text(sorted, {
        x: ({ share }: Bar) => share * 100,
        y: 'kernel',
        text: ({ share }: Bar) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`,
        textAnchor: 'start',
        dx: 4,
      }),
      ...(['arithmetic', 'bandwidth'] as const).map((of, i) =>
        Plot.text([of], { text: (name) => name, fill: (name) => name, frameAnchor: 'bottom-right', dy: -16 * i }),
      ),
      Plot.text([title], { frameAnchor: 'top-left', dx: -190, dy: -40, fontWeight: 'bold' }),
    ],
  })
  return figure.outerHTML.replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" ')
}

export interface Table {
  readonly title: string
  readonly rows: readonly Record<string, Cell>[]
}

export function writePage(file: string, title: string, summary: string, svg: string, tables: readonly Table[]): void {
  mkdirSync('bench/results', { recursive: true })
  writeFileSync(`bench/results/${file}.svg`, `${svg}\n`)
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 960px; margin: 2rem auto; padding: 0 1rem; color: #1b1e23; background: #fff }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; margin: 1rem 0 2rem }
th, td { padding: 2px 10px; border-bottom: 1px solid #e2e5ea; text-align: right }
th:first-child, td:first-child { text-align: left; white-space: nowrap }
svg { max-width: 100%; height: auto }
</style>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(summary)}</p>
${svg}
${tables.map(tableHtml).join('\n')}
</html>
`
  writeFileSync(`bench/results/${file}.html`, html)
}

function tableHtml({ title, rows }: Table): string {
  const columns = Object.keys(rows[0] ?? {})
  const cell = (value: Cell): string => (typeof value === 'number' ? readable(value) : value)
  const line = (tag: string, cells: readonly string[]): string =>
    `<tr>${cells.map((text) => `<${tag}>${escapeHtml(text)}</${tag}>`).join('')}</tr>`
  const body = rows.map((row) =>
    line(
      'td',
      columns.map((name) => cell(row[name])),
    ),
  )
  return `<h2>${escapeHtml(title)}</h2>\n<table>\n${line('th', columns)}\n${body.join('\n')}\n</table>`
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

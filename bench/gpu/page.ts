/** The results as plots and as a page that can be shared: one file without anything to load. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { type Cell, readable } from '../table.ts'

export interface Bar {
  readonly kernel: string
  /** Share of the adapter's measured peak, 0 to 1, of arithmetic or of bandwidth. */
  readonly share: number
  readonly of: 'arithmetic' | 'bandwidth'
}

/** A figure at the top of the page. */
export interface Card {
  readonly label: string
  readonly value: string
}

const WIDTH = 860
const MARGIN = 210
const COLOURS = { domain: ['arithmetic', 'bandwidth'], range: ['#4269d0', '#efb118'] }

export function barChart(bars: readonly Bar[]): string {
  const sorted = [...bars].sort((a, b) => b.share - a.share)
  const percent = ({ share }: Bar): number => share * 100
  return draw({
    height: 50 + 17 * sorted.length,
    marginTop: 40,
    x: { label: null, axis: 'top', grid: true, domain: [0, Math.max(1, ...bars.map(({ share }) => share)) * 100] },
    y: { label: null, domain: sorted.map(({ kernel }) => kernel) },
    color: COLOURS,
    marks: [
      Plot.barX(sorted, { x: percent, y: 'kernel', fill: 'of', insetTop: 1, insetBottom: 1 }),
      Plot.text(sorted, {
        x: percent,
        y: 'kernel',
        text: (bar: Bar) => `${percent(bar).toFixed(bar.share < 0.1 ? 1 : 0)} %`,
        textAnchor: 'start',
        dx: 4,
      }),
      ...COLOURS.domain.map((of, i) =>
        Plot.text([of], {
          text: (name) => `bound by ${name}`,
          fill: (name) => name,
          frameAnchor: 'bottom-right',
          dy: -18 * i - 6,
          fontWeight: 'bold',
        }),
      ),
    ],
  })
}

/** Speeds of several programs at the same work. */
export function speedChart(rows: readonly { readonly name: string; readonly 'GFLOP/s': number }[]): string {
  const fastest = Math.max(...rows.map((row) => row['GFLOP/s']))
  return draw({
    height: 30 + 30 * rows.length,
    x: { axis: null, domain: [0, fastest * 1.2] },
    y: { label: null, domain: rows.map(({ name }) => name) },
    marks: [
      Plot.barX(rows, { x: 'GFLOP/s', y: 'name', fill: '#4269d0', insetTop: 3, insetBottom: 3 }),
      Plot.text(rows, {
        x: 'GFLOP/s',
        y: 'name',
        text: (row) => `${readable(row['GFLOP/s'])} GFLOP/s`,
        textAnchor: 'start',
        dx: 6,
      }),
      Plot.ruleX([0]),
    ],
  })
}

function draw(options: Plot.PlotOptions): string {
  const { document } = parseHTML('<html></html>')
  const style = { background: 'white', fontSize: '12px', fontFamily: 'system-ui, sans-serif' }
  const figure = Plot.plot({ document, width: WIDTH, marginLeft: MARGIN, marginRight: 60, style, ...options })
  return figure.outerHTML.replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" ')
}

export interface Table {
  readonly title: string
  readonly note: string
  readonly rows: readonly Record<string, Cell>[]
}

export interface Chart {
  /** Name of its file in bench/results, without the ending. */
  readonly file: string
  readonly title: string
  readonly note: string
  readonly svg: string
}

export interface Page {
  readonly title: string
  readonly subtitle: string
  readonly cards: readonly Card[]
  readonly charts: readonly Chart[]
  readonly tables: readonly Table[]
  /** What did not run, and why. */
  readonly failures: Readonly<Record<string, string>>
}

export function writePage(file: string, { title, subtitle, cards, charts, tables, failures }: Page): void {
  mkdirSync('bench/results', { recursive: true })
  for (const { file: name, svg } of charts) writeFileSync(`bench/results/${name}.svg`, `${svg}\n`)
  const failed = Object.entries(failures).map(([name, message]) => `<li>${escapeHtml(`${name}: ${message}`)}</li>`)
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(`centroidal: ${title}`)}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2.5rem auto; padding: 0 1rem; color: #1b1e23; background: #fff }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .2rem }
p { margin: .2rem 0 1rem; color: #57606a }
.cards { display: flex; flex-wrap: wrap; gap: 12px; margin: 1.5rem 0 }
.cards div { flex: 1 1 150px; border: 1px solid #e2e5ea; border-radius: 8px; padding: 10px 14px; color: #57606a; font-size: 13px }
.cards b { display: block; font-size: 1.35rem; color: #1b1e23; white-space: nowrap }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px }
th, td { padding: 3px 10px; border-bottom: 1px solid #e2e5ea; text-align: right; white-space: nowrap }
th { color: #57606a; font-weight: 600 }
th:first-child, td:first-child { text-align: left; padding-left: 0 }
tbody tr:hover { background: #f6f8fa }
svg { max-width: 100%; height: auto }
footer { margin-top: 3rem; color: #57606a; font-size: 13px }
</style>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(subtitle)}</p>
<div class="cards">${cards.map(({ label, value }) => `<div><b>${escapeHtml(value)}</b>${escapeHtml(label)}</div>`).join('')}</div>
${charts.map(({ title, note, svg }) => `<h2>${escapeHtml(title)}</h2>\n<p>${escapeHtml(note)}</p>\n${svg}`).join('\n')}
${tables.map(tableHtml).join('\n')}
${failed.length > 0 ? `<h2>Failed</h2>\n<ul>${failed.join('')}</ul>` : ''}
<footer>${escapeHtml(origin())} To measure another machine: <code>npm run bench -- gpu</code>.</footer>
</html>
`
  writeFileSync(`bench/results/${file}.html`, html)
}

/** What was measured, where and when. */
function origin(): string {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  const processor = `${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${cpus().length} threads`
  return `centroidal ${version}${commit()}, Node ${process.version}, ${processor}, ${new Date().toISOString().slice(0, 10)}.`
}

function commit(): string {
  try {
    return ` (${execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()})`
  } catch {
    return ''
  }
}

function tableHtml({ title, note, rows }: Table): string {
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
  const head = `<h2>${escapeHtml(title)}</h2>\n<p>${escapeHtml(note)}</p>`
  return `${head}\n<div class="scroll"><table>\n<thead>${line('th', columns)}</thead>\n<tbody>${body.join('\n')}</tbody>\n</table></div>`
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

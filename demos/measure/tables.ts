/** A report as cards and tables. */
import { element, put, showNumber } from '../shell/dom.ts'
import type { CallRow, KernelRow, Report } from './report.ts'

export function showReport(report: Report): void {
  const { sizes, gpu, cpu, skipped, failures } = report
  element('cards').replaceChildren(...cardsOf(report).map(([label, value]) => card(label, value)))
  const size = `${showNumber(sizes.rows)} vectors of ${sizes.cols} numbers, k = ${showNumber(sizes.k)}`
  const missing = [
    skipped.length > 0 ? `No time for: ${skipped.join(', ')}.` : '',
    failures.length > 0 ? `Failed: ${failures.join('; ')}.` : '',
  ]
  const devices = gpu ? `${gpu.name}${gpu.software ? ' (a software adapter)' : ''}; ${cpu.name}` : cpu.name
  put('about', [`${devices}. ${size}. ${report.browser}.`, ...missing].join(' ').trim())
  element('calls').replaceChildren(...report.calls.map(callRow))
  element('kernels').replaceChildren(...report.kernels.map(kernelRow))
  put(
    'kernels-note',
    gpu
      ? 'Rates are those of the largest call of a kernel. "–": it takes too little time to be timed, or the CPU does it in other work.'
      : 'The CPU device times works as wholes. Rates of kernels need WebGPU.',
  )
}

export function clearReport(): void {
  for (const id of ['cards', 'calls', 'kernels']) element(id).replaceChildren()
  put('about', 'Nothing was measured yet.')
  put('kernels-note', '')
}

function cardsOf({ peak, assignment }: Report): [label: string, value: string][] {
  const { gpu, cpu } = assignment
  const cards: [string, string | undefined][] = [
    ['GPU peak, multiply-adds', peak ? `${showRate(peak.gflops)} GFLOP/s` : undefined],
    ['GPU peak, memory', peak ? `${showRate(peak.gigabytes)} GB/s` : undefined],
    ['exact assignment on the GPU', gpu === null ? undefined : `${showRate(gpu)} GFLOP/s`],
    ['exact assignment on the CPU', cpu === null ? undefined : `${showRate(cpu)} GFLOP/s`],
    ['GPU against CPU', gpu !== null && cpu !== null ? `${showRate(gpu / cpu)} ×` : undefined],
  ]
  return cards.flatMap(([label, value]) => (value === undefined ? [] : [[label, value]]))
}

function card(label: string, value: string): HTMLElement {
  const box = document.createElement('div')
  const term = document.createElement('dt')
  term.textContent = label
  const figure = document.createElement('dd')
  figure.textContent = value
  box.append(term, figure)
  return box
}

function callRow({ name, gpu, cpu, agreement }: CallRow): HTMLTableRowElement {
  return row(
    name,
    number(gpu),
    number(cpu),
    number(gpu !== null && cpu !== null ? cpu / gpu : null),
    cell(agreement === null ? '–' : `${(100 * agreement).toFixed(agreement === 1 ? 0 : 2)} %`, 'number'),
  )
}

function kernelRow({ kernel, work, milliseconds, gflops, gigabytes, share, cpu }: KernelRow): HTMLTableRowElement {
  return row(
    kernel,
    cell(work === kernel ? '' : work),
    number(milliseconds),
    number(gflops),
    number(gigabytes),
    shareCell(share),
    number(cpu),
  )
}

function row(name: string, ...cells: HTMLTableCellElement[]): HTMLTableRowElement {
  const made = document.createElement('tr')
  const head = document.createElement('th')
  head.scope = 'row'
  head.textContent = name
  made.append(head, ...cells)
  return made
}

function cell(text: string, kind = ''): HTMLTableCellElement {
  const made = document.createElement('td')
  made.className = kind
  made.textContent = text
  return made
}

function number(value: number | null): HTMLTableCellElement {
  return cell(value === null ? '–' : showRate(value), 'number')
}

function shareCell(share: number | null): HTMLTableCellElement {
  const made = cell(share === null ? '–' : '')
  if (share === null) return made
  const box = document.createElement('div')
  box.className = 'share'
  const bar = document.createElement('meter')
  bar.value = Math.min(1, share)
  const text = document.createElement('span')
  text.textContent = `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`
  bar.setAttribute('aria-label', `${text.textContent} of the peak`)
  box.append(bar, text)
  made.append(box)
  return made
}

/** Three digits. */
function showRate(value: number): string {
  return value >= 1000 ? showNumber(Math.round(value)) : String(Number(value.toPrecision(3)))
}

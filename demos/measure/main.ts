/** The measuring page: starts the measurement, shows what is known so far, and gives it away as JSON or as a link. */
import { type Run, RunFailure } from '../engine/engine.ts'
import type { DeviceReport } from '../engine/protocol.ts'
import { element, put, retire } from '../shell/dom.ts'
import { openPage } from '../shell/page.ts'
import { readQuery } from '../shell/query.ts'
import { CODE } from './code.ts'
import { packText, unpackText } from './link.ts'
import { parseReport, type Report } from './report.ts'
import { clearReport, showReport } from './tables.ts'

const QUERY = { rows: 0, k: 0, cols: 128, seconds: 45, only: '' }
const LINK = '#result='

const start = element('start', HTMLButtonElement)
const stop = element('stop', HTMLButtonElement)
const progress = element('progress', HTMLProgressElement)
let report: Report | undefined
let run: Run<Report> | undefined

const page = await openPage({ onDevice: showDevice })
put('code', CODE)

start.addEventListener('click', () => void measure())
stop.addEventListener('click', () => run?.stop())
element('controls').addEventListener('submit', (event) => event.preventDefault())
element('copy-json').addEventListener('click', () => void copy(JSON.stringify(report, undefined, 2), 'The JSON'))
element('copy-link').addEventListener('click', async () => {
  const link = `${LINK}${await packText(JSON.stringify(report))}`
  history.replaceState(null, '', link)
  await copy(location.href, 'The link')
})
addEventListener('hashchange', () => void showLinked())
await showLinked()

async function showLinked(): Promise<void> {
  if (!location.hash.startsWith(LINK)) return
  try {
    const linked = parseReport(await unpackText(location.hash.slice(LINK.length)))
    show(linked)
    page.status(`A result of ${linked.date.slice(0, 10)}, from the link. Press Measure for this device.`)
  } catch (error) {
    page.warn(
      error instanceof Error && error.message.startsWith('This link')
        ? error.message
        : 'This link holds no measurement.',
    )
  }
}

async function measure(): Promise<void> {
  page.warn('')
  clear()
  start.disabled = false
  stop.disabled = false
  retire(start, stop)
  progress.value = 0
  page.status('Measuring the peak of the device…')
  page.announce('Measuring.')
  // What a link showed is gone.
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search)
  const { rows, k, cols, seconds, only } = readQuery(QUERY)
  const version = element('version').textContent ?? ''
  const input = { rows, k, cols, seconds, only, version, browser: browserName() }
  const mine = page.engine.start('measure', input, {
    onRound: ({ done, calls, next, report }) => {
      progress.value = done / calls
      page.status(`${done + 1} of ${calls}: ${next}`)
      show(report)
    },
  })
  run = mine
  try {
    const result = await mine.result
    progress.value = 1
    show(result)
    const text = `Done: ${result.calls.length} calls in ${Math.round(result.seconds)} seconds.`
    page.status(text)
    page.announce(text)
  } catch (error) {
    page.fail(error)
    progress.value = 0
    const stopped = error instanceof RunFailure && error.code === 'stopped'
    page.status(stopped ? `Stopped. ${report ? 'What was measured so far is shown.' : 'Nothing was measured.'}` : '')
  } finally {
    start.disabled = false
    retire(stop, start)
  }
}

/** What an earlier measurement or a link showed does not stand beside the status of this one. */
function clear(): void {
  report = undefined
  clearReport()
  for (const id of ['copy-json', 'copy-link']) element(id, HTMLButtonElement).disabled = true
}

function show(found: Report): void {
  report = found
  showReport(found)
  for (const id of ['copy-json', 'copy-link']) element(id, HTMLButtonElement).disabled = false
}

function showDevice({ kind, reason }: DeviceReport): void {
  const line = element('no-gpu')
  line.hidden = kind === 'webgpu'
  const asked = reason === 'asked for'
  line.textContent = `Only the CPU is measured${asked ? '' : `: ${reason}`}.`
}

async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    page.status(`${what} was copied.`)
    page.announce(`${what} was copied.`)
  } catch {
    page.warn('This browser does not let the page write to the clipboard.')
  }
}

/** "Chrome 147": the full text of the user agent tells more about a person than a measurement needs. */
function browserName(): string {
  const found = /(Edg|OPR|Firefox|Chrome|Version)\/(\d+)/.exec(navigator.userAgent)
  const names: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera', Version: 'Safari' }
  return found ? `${names[found[1]] ?? found[1]} ${found[2]}` : 'unknown'
}

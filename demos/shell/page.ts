/**
 * What every page does: opens the worker and the device that the address or the picker asks for, and tells people what
 * happens. `main.ts` of a page calls `openPage` once.
 */
import { Engine, RunFailure } from '../engine/engine.ts'
import { DEVICE_CHOICES, type DeviceChoice, type DeviceReport } from '../engine/protocol.ts'
import { element } from './dom.ts'
import { isolate } from './isolation.ts'
import { readQuery, writeQuery } from './query.ts'

export interface Page {
  readonly engine: Engine
  /** The line under the controls. Not read aloud: it changes with every round. */
  status(text: string): void
  /** A sentence for everybody, screen readers too: begins, ends. */
  announce(text: string): void
  /** A sentence about something that went wrong; empty takes it away. The page goes on working. */
  warn(text: string): void
  /** The same for an error of a run. A run that was stopped needs no warning. */
  fail(error: unknown): void
  /** The device in use, once it is open. */
  readonly device: DeviceReport | undefined
}

export interface PageOptions {
  /** Called when a device is open: at first, after another was picked, and after one was lost. */
  readonly onDevice: (device: DeviceReport, page: Page) => void
}

/** Needs elements with ids status, announcement and warning in the page, besides the picker of the header. */
export async function openPage({ onDevice }: PageOptions): Promise<Page> {
  // If the page is about to load again, nothing should begin.
  if (!(await isolate('../'))) await new Promise(() => {})
  let device: DeviceReport | undefined
  const page: Page = {
    engine: new Engine({
      onDevice(report) {
        device = report
        showDevice(report)
        if (report.note) page.warn(report.note)
        onDevice(report, page)
      },
      onFailure: ({ message }) => page.warn(`This browser cannot do it: ${message} Reload the page to try again.`),
    }),
    status: (text) => put('status', text),
    announce: (text) => put('announcement', text),
    warn: (text) => {
      put('warning', text)
      element('warning').hidden = text === ''
    },
    fail: (error) => {
      if (error instanceof RunFailure && error.code === 'stopped') return
      page.warn(error instanceof Error ? error.message : String(error))
    },
    get device() {
      return device
    },
  }
  openPicker(page)
  // Tables that are wider than a phone are scrolled by keys, too.
  for (const wide of document.querySelectorAll<HTMLElement>('.scroll')) wide.tabIndex = 0
  return page
}

const QUERY = { device: 'auto' }

function openPicker(page: Page): void {
  const select = element('device-choice', HTMLSelectElement)
  const asked = readQuery(QUERY).device as DeviceChoice
  select.value = DEVICE_CHOICES.includes(asked) ? asked : 'auto'
  select.addEventListener('change', () => {
    page.warn('')
    writeQuery({ device: select.value }, QUERY)
    put('device-name', 'opening…')
    page.engine.open(select.value as DeviceChoice)
  })
  element('device-lose').addEventListener('click', () => page.engine.loseDevice())
  page.engine.open(select.value as DeviceChoice)
}

function showDevice({ kind, name, reason, replacesLost }: DeviceReport): void {
  put('device-name', name)
  put('device-reason', `Why: ${reason}.`)
  put(
    'device-threads',
    globalThis.crossOriginIsolated
      ? 'The page is cross-origin isolated: threads share memory.'
      : 'The page is not cross-origin isolated: the CPU device has one thread.',
  )
  element('device').dataset.kind = kind
  // The picker shows what is in use, so that the GPU can be picked again.
  if (replacesLost) element('device-choice', HTMLSelectElement).value = 'cpu'
  element('device-lose', HTMLButtonElement).disabled = kind !== 'webgpu'
}

function put(id: string, text: string): void {
  element(id).textContent = text
}

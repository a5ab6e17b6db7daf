/** Part of a report: the workers of a run on other machines, and what went through the store. */

import { bytes, count, number } from '../format.ts'
import type { MachineReport } from '../machine-watch.ts'
import { html, type Markup } from './markup.ts'

/** What is kept of it in run.json. */
export interface MachineNotes {
  readonly store: string
  /** At the end of the run. `groups` is how many groups of shards a worker had. */
  readonly workers: readonly { readonly name: string; readonly device: string; readonly groups: number }[]
  /** Bytes of all rounds. */
  readonly sent: number
  readonly received: number
  readonly workersSent: number
  readonly workersReceived: number
  readonly rounds: number
}

export function machineNotes(report: MachineReport): MachineNotes {
  const { store, workers, sent, received, rounds } = report
  return {
    store,
    workers: workers.map(({ name, device, groups }) => ({ name, device, groups: groups.length })),
    sent,
    received,
    workersSent: rounds.reduce((sum, round) => sum + round.workersSent, 0),
    workersReceived: rounds.reduce((sum, round) => sum + round.workersReceived, 0),
    rounds: rounds.length,
  }
}

export function machineSection(notes: MachineNotes): Markup {
  const { workers, store, sent, received, workersSent, workersReceived, rounds } = notes
  const rows = workers.map(
    ({ name, device, groups }) =>
      html`<tr><td class="text">${name}</td><td class="text">${device}</td><td>${number(groups)}</td></tr>`,
  )
  return html`<section><h2>Machines</h2>
<p class="soft">${count(workers.length, 'worker')} on the store ${store}. In ${count(rounds, 'round')} the leading process sent ${bytes(sent)} and
received ${bytes(received)}; the workers sent ${bytes(workersSent)} and received ${bytes(workersReceived)}.</p>
<div class="scroll"><table><thead><tr><th scope="col">worker</th><th scope="col">device</th><th scope="col">groups of shards</th></tr></thead><tbody>${rows}</tbody></table></div></section>`
}

/** One method in the race: its curve, and its row in the table. */
import type { ClusterResult } from '../engine/cluster-task.ts'
import type { MethodFacts } from '../engine/methods-task.ts'
import { showNumber } from '../shell/dom.ts'

const COLUMNS = ['distortion', 'above', 'clusters', 'rounds', 'seconds'] as const

type Cells = Readonly<Record<(typeof COLUMNS)[number] | 'state', HTMLTableCellElement>>

export class Racer {
  readonly facts: MethodFacts
  readonly colour: string
  readonly row: HTMLTableRowElement
  readonly curve: [seconds: number, distortion: number][] = []
  readonly #box: HTMLInputElement
  readonly #cells: Cells
  #final: number | undefined

  constructor(facts: MethodFacts, colour: string, takesPart: boolean) {
    this.facts = facts
    this.colour = colour
    this.row = document.createElement('tr')
    this.row.dataset.method = facts.name
    this.#box = document.createElement('input')
    this.#box.type = 'checkbox'
    this.#box.checked = takesPart
    const label = document.createElement('label')
    label.className = 'tick'
    label.title = facts.summary
    const mark = document.createElement('span')
    mark.className = 'swatch'
    mark.style.background = colour
    label.append(this.#box, mark, facts.name)
    const head = document.createElement('th')
    head.scope = 'row'
    head.append(label)
    const cells = [...COLUMNS, 'state'].map((name) => {
      const cell = document.createElement('td')
      cell.className = name === 'state' ? 'state' : 'number'
      cell.dataset.column = name
      return [name, cell] as const
    })
    this.#cells = Object.fromEntries(cells) as Cells
    this.row.append(head, ...cells.map(([, cell]) => cell))
    this.reset()
  }

  get takesPart(): boolean {
    return this.#box.checked
  }

  /** Distortion at the end; undefined until then. */
  get final(): number | undefined {
    return this.#final
  }

  /** Boxes are no use while the race is on. */
  lock(locked: boolean): void {
    this.#box.disabled = locked
  }

  reset(): void {
    this.curve.length = 0
    this.#final = undefined
    for (const name of COLUMNS) this.#cells[name].textContent = '–'
    this.say('waiting', this.takesPart ? 'waiting' : 'left out')
  }

  say(state: 'waiting' | 'running' | 'done', words: string): void {
    this.row.dataset.state = state
    this.#cells.state.textContent = words
  }

  round(iteration: number, distortion: number, seconds: number): void {
    this.curve.push([seconds, distortion])
    this.#cells.distortion.textContent = showNumber(distortion)
    this.#cells.rounds.textContent = String(iteration)
    this.#cells.seconds.textContent = seconds.toFixed(2)
  }

  end({ facts, distortion, centers }: ClusterResult): void {
    const why = {
      converged: 'done: nothing changes any more',
      tolerance: 'done: a round gains next to nothing',
      iterations: 'done: all rounds used',
      seconds: 'done: time is up',
      aborted: 'stopped',
    }[facts.stopped]
    this.#final = distortion
    // The exact number: a page can be asked for it, and compared with Node.
    this.row.dataset.distortion = String(distortion)
    this.#cells.clusters.textContent = String(centers.rows)
    this.say('done', why)
  }

  /** Against the lowest distortion of those that ended. */
  compare(best: number): void {
    if (this.#final === undefined) return
    const above = this.#final / best - 1
    this.row.dataset.state = above === 0 ? 'best' : 'done'
    this.#cells.above.textContent = above === 0 ? 'best' : `${(100 * above).toFixed(2)} %`
  }
}

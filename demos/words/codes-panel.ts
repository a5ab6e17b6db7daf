/** Codes of the rows: learned on request; then the neighbours of a row, exact and by codes. */
import type { Run } from '../engine/engine.ts'
import { element, put, showNumber } from '../shell/dom.ts'
import type { Page } from '../shell/page.ts'
import { plural, sentence, showBytes } from '../shell/phrases.ts'
import type { CodeChoice, Codes, Neighborhood, NeighborList } from './codes.ts'
import { type Dataset, rowName, rowPicture } from './dataset.ts'
import { memoryOf } from './memory.ts'
import { type RowButtons, rowButtons } from './row-buttons.ts'

export interface CodesPanel {
  /** Other vectors: codes of the former ones are of no use. */
  forget(data: Dataset): void
  /** Looks at the neighbours of a row, if codes were learned. */
  ask(row: number): void
  stop(): void
  readonly codes: Codes | undefined
}

const IDLE = 'Codes write each row in a few bytes. Learn them, then search among them.'

export function codesPanel(page: () => Page, seed: () => number, onChange: () => void): CodesPanel {
  const controls = element('code-controls', HTMLFormElement)
  const learn = element('learn', HTMLButtonElement)
  const find = element('find', HTMLButtonElement)
  const row = element('row', HTMLInputElement)
  const lists = { exact: rowButtons(element('exact'), ask), byCodes: rowButtons(element('by-codes'), ask) }
  let data: Dataset | undefined
  let codes: Codes | undefined
  let run: Run<Codes> | undefined
  /** Numbers of the latest training and search: messages of earlier ones are ignored. */
  let training = 0
  let searching = 0

  controls.addEventListener('submit', (event) => {
    event.preventDefault()
    if (run) run.stop()
    else void train()
  })
  find.addEventListener('click', () => {
    if (row.reportValidity()) ask(row.valueAsNumber)
  })
  row.addEventListener('change', () => {
    if (codes && row.reportValidity()) ask(row.valueAsNumber)
  })

  async function train(): Promise<void> {
    if (!data) return
    const mine = ++training
    const held = data
    const type = element('code-type', HTMLSelectElement).value as CodeChoice['type']
    const choice = { type, m: Number(element('code-bytes', HTMLSelectElement).value), seed: seed() }
    clear()
    learn.textContent = 'Stop learning'
    try {
      run = page().engine.start(
        'learn-codes',
        { vectors: held.vectors, choice },
        {
          // A training that is stopped still writes codes of what it learned, and tells so.
          onProgress(phase, share) {
            if (mine === training) put('code-status', `${sentence(phase)}: ${Math.round(100 * share)} %`)
          },
        },
      )
      const learned = await run.result
      if (mine !== training) return
      codes = learned
      showFigures(held, learned)
      onChange()
      if (row.reportValidity()) ask(row.valueAsNumber)
    } catch (error) {
      if (mine !== training) return
      page().fail(error)
      put('code-status', IDLE)
    } finally {
      if (mine === training) {
        run = undefined
        learn.textContent = 'Learn codes'
      }
    }
  }

  function showFigures(held: Dataset, learned: Codes): void {
    const { recall, quantizer } = learned
    const memory = memoryOf(held.vectors, learned)
    const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
    put('recall-first', percent(recall.first))
    put('recall-ten', percent(recall.ten))
    put('vector-bytes', showBytes(memory.vectors))
    put('code-size', `${showBytes(memory.codes)}, 1/${showNumber(Math.round(memory.vectors / memory.codes))}`)
    put('book-bytes', showBytes(memory.books))
    const { type, rank, iterations } = quantizer.facts
    const turned = type === 'ck' && rank < held.vectors.cols ? `, ${rank} principal directions` : ''
    put(
      'code-status',
      `Learned: ${type} with ${plural(learned.codes.cols, 'byte')} a row${turned}, ${plural(iterations.length, 'round')}. Choose a row here or above.`,
    )
    find.disabled = false
  }

  function ask(wanted: number): void {
    row.value = String(wanted)
    if (data && codes && wanted < data.vectors.rows) void search(data, codes, wanted)
  }

  async function search(held: Dataset, { quantizer, codes: stored }: Codes, wanted: number): Promise<void> {
    const mine = ++searching
    try {
      const input = { vectors: held.vectors, quantizer, codes: stored, row: wanted }
      const found = await page().engine.start('find-neighbours', input).result
      if (mine === searching) showNeighbors(held, wanted, found)
    } catch (error) {
      if (mine === searching) page().fail(error)
    }
  }

  function showNeighbors(held: Dataset, wanted: number, { exact, byCodes }: Neighborhood): void {
    for (const id of ['exact', 'by-codes']) element(id).classList.toggle('pictures', held.ink !== undefined)
    const picture = rowPicture(held, wanted)
    element('query').replaceChildren(...(picture ? [picture] : []), rowName(held, wanted))
    const truth = new Set(exact.rows)
    showList(lists.exact, held, exact, () => true)
    showList(lists.byCodes, held, byCodes, (row) => truth.has(row))
    const hits = byCodes.rows.filter((row) => truth.has(row)).length
    page().announce(`${hits} of the ${exact.rows.length} nearest of ${rowName(held, wanted)} are found by codes.`)
  }

  function showList(
    list: RowButtons,
    held: Dataset,
    { rows, distances }: NeighborList,
    hit: (row: number) => boolean,
  ): void {
    list.show(
      Array.from(rows, (row, i) => ({
        value: row,
        about: `${rowName(held, row)}, distance ${showNumber(distances[i])}${hit(row) ? '' : ', not among the exact ten'}`,
        picture: rowPicture(held, row),
        ...(held.ink === undefined ? { text: `${held.names?.[row] ?? row} · ${showNumber(distances[i])}` } : {}),
        mark: hit(row) ? 'found' : 'missed',
      })),
    )
  }

  function clear(): void {
    codes = undefined
    find.disabled = true
    for (const id of ['recall-first', 'recall-ten', 'vector-bytes', 'code-size', 'book-bytes']) put(id, '–')
    element('query').replaceChildren()
    lists.exact.show([])
    lists.byCodes.show([])
    onChange()
  }

  return {
    forget(next) {
      training++
      searching++
      run?.stop()
      run = undefined
      learn.textContent = 'Learn codes'
      learn.disabled = false
      data = next
      row.max = String(next.vectors.rows - 1)
      if (row.valueAsNumber >= next.vectors.rows) row.value = '0'
      put('code-status', IDLE)
      clear()
    },
    ask,
    stop: () => run?.stop(),
    get codes() {
      return codes
    },
  }
}

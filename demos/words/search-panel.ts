/** The search box of rows with names: centres a word on the map, with its ten neighbours. */
import { element, showNumber } from '../shell/dom.ts'
import { type Dataset, rowName } from './dataset.ts'
import { nearestRows } from './neighbours.ts'
import { rowButtons } from './row-buttons.ts'

export interface Found {
  readonly row: number
  readonly neighbours: Uint32Array
}

export interface SearchPanel {
  /** Other rows: forgets what was found. */
  open(data: Dataset): void
  choose(row: number): void
  readonly found: Found | undefined
}

const NEAREST = 10
/** Suggestions of the browser: the most frequent words that begin as what was typed. */
const SUGGESTED = 8

export function searchPanel(onFound: (found: Found | undefined) => void): SearchPanel {
  const form = element('search-form', HTMLFormElement)
  const input = element('search', HTMLInputElement)
  const list = rowButtons(element('word-neighbours'), choose)
  let data: Dataset | undefined
  let found: Found | undefined

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    find(input.value)
  })
  input.addEventListener('input', () => {
    suggest(input.value.trim().toLowerCase())
    // A suggestion that was picked is a whole word.
    if (data?.names?.includes(input.value)) find(input.value)
  })

  function suggest(begin: string): void {
    const options: HTMLOptionElement[] = []
    for (const name of begin === '' ? [] : (data?.names ?? [])) {
      if (name.startsWith(begin)) options.push(new Option(undefined, name))
      if (options.length === SUGGESTED) break
    }
    element('suggestions').replaceChildren(...options)
  }

  function find(text: string): void {
    const word = text.trim()
    if (!data?.names || word === '') return
    const exact = data.names.indexOf(word)
    const lower = exact < 0 ? data.names.indexOf(word.toLowerCase()) : exact
    const row = lower < 0 ? data.names.findIndex((name) => name.startsWith(word.toLowerCase())) : lower
    if (row < 0) {
      element('search-status').textContent = `"${word}" is not among the ${showNumber(data.names.length)} words.`
      return
    }
    choose(row)
  }

  function choose(row: number): void {
    if (!data) return
    const held = data
    const { rows, distances } = nearestRows(held.vectors, row, NEAREST)
    found = { row, neighbours: rows }
    input.value = rowName(held, row)
    element('search-status').textContent = `Nearest to ${rowName(held, row)}:`
    list.show(
      Array.from(rows, (other, i) => ({
        value: other,
        about: `${rowName(held, other)}, distance ${showNumber(distances[i])}`,
        text: rowName(held, other),
      })),
    )
    onFound(found)
  }

  return {
    open(next) {
      data = next
      found = undefined
      form.hidden = next.names === undefined
      input.value = ''
      list.show([])
      element('search-status').textContent = ''
    },
    choose,
    get found() {
      return found
    },
  }
}

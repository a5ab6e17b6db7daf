/** A grid of rows (or clusters), each a button: pictures where rows are pictures, else names and numbers. */
import { gridColumns, roving } from '../shell/roving.ts'

export interface RowButton {
  readonly value: number
  /** Said by screen readers and shown when the pointer rests. */
  readonly about: string
  readonly picture?: HTMLCanvasElement | undefined
  /** Shown beside or under the picture. */
  readonly text?: string
  /** A CSS colour for a dot or border. */
  readonly colour?: string
  /** Class names that mark it. */
  readonly mark?: string
}

export interface RowButtons {
  show(rows: readonly RowButton[]): void
  /** Which of them is pressed. */
  press(value: number | undefined): void
}

export function rowButtons(host: HTMLElement, onPick: (value: number) => void): RowButtons {
  const stops = roving(host, () => gridColumns(host))
  host.addEventListener('click', ({ target }) => {
    const button = target instanceof Element ? target.closest('button') : null
    if (button) onPick(Number(button.value))
  })
  return {
    show(rows) {
      host.replaceChildren(...rows.map(buttonOf))
      stops.refresh()
    },
    press(value) {
      for (const button of host.querySelectorAll('button')) {
        button.setAttribute('aria-pressed', String(Number(button.value) === value))
      }
    },
  }
}

function buttonOf({ value, about, picture, text, colour, mark }: RowButton): HTMLButtonElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.tabIndex = -1
  button.value = String(value)
  button.title = about
  // The name must contain the visible text, so that people can say what they see. The title then describes it.
  button.setAttribute('aria-label', text === undefined || about.includes(text) ? about : text)
  button.className = mark ?? ''
  if (colour) button.style.setProperty('--mark', colour)
  if (picture) button.append(picture)
  if (text) button.append(Object.assign(document.createElement('span'), { textContent: text }))
  return button
}

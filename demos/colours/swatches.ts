/** The palette on the page: one stop of the Tab key, arrows go from colour to colour, Enter or a click copies. */
import { gridColumns, roving } from '../shell/roving.ts'
import { byLightness, hexOf } from './palette.ts'

export interface Swatches {
  show(palette: Uint8Array, counts: Uint32Array): void
}

export function swatches(host: HTMLElement, onPick: (hex: string) => void): Swatches {
  const buttons = (): HTMLButtonElement[] => [...host.querySelectorAll('button')]
  const stops = roving(host, () => gridColumns(host))
  host.addEventListener('click', ({ target }) => {
    if (target instanceof HTMLButtonElement) onPick(target.value)
  })
  return {
    show(palette, counts) {
      const k = palette.length / 3
      const total = counts.reduce((sum, count) => sum + count, 0)
      host.style.setProperty('--columns', String(columnsFor(k)))
      const present = buttons()
      // Buttons stay where they can, so that focus does.
      for (const extra of present.splice(k)) extra.remove()
      while (present.length < k) present.push(host.appendChild(newButton()))
      for (const [place, j] of byLightness(palette).entries()) {
        const hex = hexOf(palette, j)
        const share = ((100 * counts[j]) / total).toLocaleString('en', { maximumSignificantDigits: 3 })
        const button = present[place]
        button.value = hex
        button.style.background = hex
        button.title = `${hex}, ${share} % of the pixels`
        button.setAttribute('aria-label', `Copy ${button.title}`)
      }
      stops.refresh()
    },
  }
}

/** Full rows where that is possible without becoming a strip. */
function columnsFor(k: number): number {
  const side = Math.ceil(Math.sqrt(k))
  for (let columns = side; columns <= 2 * side; columns++) if (k % columns === 0) return columns
  return Math.ceil(Math.sqrt(k * 1.3))
}

function newButton(): HTMLButtonElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.tabIndex = -1
  return button
}

/** Pictures as SVG text. Colours and the size of letters come from the page, so one picture does for light, dark and phones. */
import type { PlotOptions } from '@observablehq/plot'
import { Markup } from '../markup.ts'

export const WIDTH = 460
export const HEIGHT = 256
export const ACCENT = 'var(--accent)'

export interface Drawing {
  readonly Plot: typeof import('@observablehq/plot')
  /** The label is the text for screen readers. */
  draw(label: string, options: PlotOptions): Markup
}

/** Loads the plotting library, which only a report needs. */
export async function loadDrawing(): Promise<Drawing> {
  const Plot = await import('@observablehq/plot')
  const { parseHTML } = await import('linkedom')
  const { document } = parseHTML('<html></html>')
  return {
    Plot,
    draw(label, options) {
      const picture = Plot.plot({
        document: document as unknown as Document,
        width: WIDTH,
        height: HEIGHT,
        marginTop: 12,
        marginLeft: 58,
        marginBottom: 46,
        ...options,
        ariaLabel: label,
      })
      picture.setAttribute('role', 'img')
      // The page's own stylesheet styles charts: its content security policy blocks styles inside the SVG.
      for (const style of picture.querySelectorAll('style')) style.remove()
      picture.removeAttribute('style')
      picture.setAttribute('class', 'plot')
      return new Markup(shortened(picture.outerHTML))
    },
  }
}

/** A hundredth of a pixel is as fine as anybody sees; text between tags stays as it is. */
function shortened(svg: string): string {
  return svg.replace(/ (?:c?[xy][12]?|r|d|width|height|transform|points)="[^"]*"/g, (attribute) =>
    attribute.replace(/-?\d+\.\d{3,}(?:e-?\d+)?/g, (number) => `${Number(Number(number).toFixed(2))}`),
  )
}

/** HTML by template, with everything escaped that is not markup itself. */

export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Piece = Markup | string | number | undefined | readonly Markup[]

/** html`<p>${text}</p>`: text is escaped, markup goes in as it is, undefined is left out. */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  return new Markup(String.raw({ raw: strings }, ...pieces.map(render)))
}

function render(piece: Piece): string {
  if (piece === undefined) return ''
  if (piece instanceof Markup) return piece.text
  if (typeof piece === 'object') return piece.map((markup) => markup.text).join('')
  return escaped(String(piece))
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

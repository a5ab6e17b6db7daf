/** HTML by template: everything is escaped except markup that this program built itself. */

export class Markup {
  /** A private field is the brand: values parsed from JSON cannot have one. */
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  get text(): string {
    return this.#text
  }

  static isMarkup(value: unknown): value is Markup {
    return typeof value === 'object' && value !== null && #text in value
  }
}

type Piece = Markup | string | number | undefined | readonly Markup[]

/** html`<p>${text}</p>`: text is escaped, markup is inserted unchanged, undefined is left out. */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  return new Markup(String.raw({ raw: strings }, ...pieces.map(render)))
}

/** Takes any value, because data from files may not have the type it is declared with. */
function render(piece: unknown): string {
  if (piece === undefined) return ''
  if (Markup.isMarkup(piece)) return piece.text
  if (Array.isArray(piece)) return piece.map(render).join('')
  // Not String(piece): an object from JSON may have a toString that is no function.
  return escaped(typeof piece === 'object' ? JSON.stringify(piece) : String(piece))
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

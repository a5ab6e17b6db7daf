/** Elements of the page, by id and kind: a page that lacks one is broken, and says which. */
export function element(id: string): HTMLElement
export function element<T extends Element>(id: string, kind: new () => T): T
export function element(id: string, kind: new () => Element = HTMLElement): Element {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new Error(`The page has no ${kind.name} with id ${id}.`)
  return found
}

/** What an element says. */
export function put(id: string, text: string): void {
  element(id).textContent = text
}

/** A button that is of no use now. Focus it has goes to another one, else keys would begin at the top of the page. */
export function retire(button: HTMLButtonElement, next: HTMLButtonElement): void {
  if (document.activeElement === button) next.focus()
  button.disabled = true
}

/** 1,234 or 0.00123: as many digits as help. */
export function showNumber(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const digits = Math.abs(value) >= 1000 ? 0 : undefined
  return value.toLocaleString('en', digits === 0 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 })
}

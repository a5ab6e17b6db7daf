/** Many buttons as one stop of the Tab key: arrows, Home and End go from one to the next. */
export interface Roving {
  /** After buttons were added or taken away: keeps the stop where it was, or gives one to the first. */
  refresh(): void
}

export function roving(host: HTMLElement, columns: () => number): Roving {
  const buttons = (): HTMLButtonElement[] => [...host.querySelectorAll('button')]
  host.addEventListener('keydown', (event) => {
    const all = buttons()
    const at = all.indexOf(document.activeElement as HTMLButtonElement)
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns(), ArrowDown: columns() }[event.key]
    const to = event.key === 'Home' ? 0 : event.key === 'End' ? all.length - 1 : step === undefined ? at : at + step
    if (at < 0 || to === at) return
    event.preventDefault()
    all[to]?.focus()
  })
  host.addEventListener('focusin', ({ target }) => {
    for (const button of buttons()) button.tabIndex = button === target ? 0 : -1
  })
  return {
    refresh() {
      const all = buttons()
      if (all.filter(({ tabIndex }) => tabIndex === 0).length === 1) return
      for (const [i, button] of all.entries()) button.tabIndex = i === 0 ? 0 : -1
    },
  }
}

/** Columns of a grid as the browser laid it out. */
export function gridColumns(host: HTMLElement): number {
  return getComputedStyle(host).gridTemplateColumns.split(' ').length
}

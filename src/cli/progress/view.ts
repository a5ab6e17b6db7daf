/** Progress on stderr: a bar in a terminal, plain lines elsewhere, nothing if quiet. */
import cliProgress from 'cli-progress'
import { percent } from '../format.ts'
import type { Output } from '../session.ts'

export interface ProgressState {
  /** What is being done: "loading the vectors", "round 3 of 20". */
  readonly label: string
  /** Of the whole bar, 0 to 1. */
  readonly share: number
  /** Most telling first: what does not fit the terminal is left off. */
  readonly details?: readonly string[]
  /** Worth a line of its own where there is no bar. */
  readonly milestone?: boolean
}

export interface ProgressView {
  show(state: ProgressState): void
  /** A line that stays. */
  tell(text: string): void
  /** Takes the bar away. */
  stop(): void
}

const STOPPING = 'stopping; press Ctrl-C again to quit immediately'

/** The signal of Ctrl-C, which the view confirms. */
export function createProgressView(output: Output, quiet: boolean, signal: AbortSignal): ProgressView {
  if (quiet) return { show() {}, tell() {}, stop() {} }
  const view = output.isTerminal ? new Bar(output) : new Lines(output)
  signal.addEventListener('abort', () => view.tellStopping(), { once: true })
  return view
}

/** Cells of the bar in a wide and in a narrow terminal, and the eighths of a cell it grows by. */
const WIDE = 100
const BAR_CELLS = { wide: 24, narrow: 10 }
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

class Bar implements ProgressView {
  readonly #bar: cliProgress.SingleBar
  readonly #output: Output
  readonly #colors: Output['colors']
  #state: ProgressState = { label: '', share: 0 }
  #started = false
  #stopping = false

  constructor(output: Output) {
    this.#colors = output.colors
    this.#output = output
    this.#bar = new cliProgress.SingleBar({
      stream: output.stream,
      format: (_, { maxWidth }) => this.#text(maxWidth),
      clearOnComplete: true,
      // The text is cut to fit here: left to wrap, the library would cut it and count colour codes as letters.
      linewrap: false,
      hideCursor: true,
      fps: 10,
    })
    // A second Ctrl-C quits immediately; line wrapping and cursor of the terminal must be restored.
    process.once('exit', () => this.stop())
  }

  show(state: ProgressState): void {
    this.#state = this.#stopping ? { label: STOPPING, share: state.share } : state
    if (!this.#started) this.#bar.start(1, 0)
    this.#started = true
    this.#bar.update(state.share)
  }

  tellStopping(): void {
    this.#stopping = true
    if (this.#started) this.show(this.#state)
  }

  tell(text: string): void {
    this.stop()
    this.#output.line(text)
  }

  stop(): void {
    if (this.#started) this.#bar.stop()
    this.#started = false
  }

  #text(width: number): string {
    const { label, share, details = [] } = this.#state
    const { cyan, dim } = this.#colors
    const cells = width >= WIDE ? BAR_CELLS.wide : BAR_CELLS.narrow
    const eighths = Math.round(Math.min(1, Math.max(0, share)) * cells * 8)
    const filled = '█'.repeat(eighths >> 3) + EIGHTHS[eighths & 7]
    const head = `${label} `
    let room = width - head.length - cells - 1
    if (room < 0) return label.slice(0, Math.max(0, width - 1))
    let text = `${head}${cyan(filled)}${dim('░'.repeat(cells - filled.length))}`
    for (const detail of details) {
      room -= detail.length + 2
      if (room < 0) break
      text += `  ${detail}`
    }
    return text
  }
}

/** If there is no news for a while, a line shows that the work continues. */
const QUIET_SECONDS = 10

class Lines implements ProgressView {
  readonly #output: Output
  #label = ''
  #last = 0

  constructor(output: Output) {
    this.#output = output
  }

  show({ label, share, details = [], milestone = false }: ProgressState): void {
    const now = performance.now()
    if (milestone) {
      this.#output.line([label, details.join(', ')].filter(Boolean).join(': '))
    } else if (now - this.#last > QUIET_SECONDS * 1000 && label === this.#label) {
      this.#output.line(`${label}: ${percent(share)}`)
    } else if (label === this.#label) {
      return
    } else if (!/\bround \d/.test(label)) {
      this.#output.line(label)
    }
    this.#label = label
    this.#last = now
  }

  tellStopping(): void {
    this.#output.line(STOPPING)
  }

  tell(text: string): void {
    this.#output.line(text)
  }

  stop(): void {}
}

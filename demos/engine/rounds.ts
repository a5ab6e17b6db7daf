/** How many rounds a run may still go. */
export class Allowance {
  #left: number
  #wake: () => void = () => {}
  readonly #signal: AbortSignal

  constructor(rounds: number, signal: AbortSignal) {
    this.#left = rounds
    this.#signal = signal
    signal.addEventListener('abort', () => this.#wake())
  }

  /** Grants more; 0 takes back what is left. */
  grant(rounds: number): void {
    this.#left = rounds === 0 ? 0 : this.#left + rounds
    this.#wake()
  }

  /** Waits until a round may go, or the run was stopped, and counts it. */
  async take(): Promise<void> {
    while (this.#left < 1 && !this.#signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    this.#left--
  }
}

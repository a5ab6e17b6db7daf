/** Calls that may read at the same time. */
const CALLS = 4

/** Lets a few calls work at the same time; the others wait in the order they came, so that memory does not grow with them. */
export class Turns {
  #free = CALLS
  readonly #waiting: (() => void)[] = []

  async take(work: () => Promise<void>): Promise<void> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free++
    }
  }
}

/**
 * Searches that wait for their turn. While one batch is on the device, searches that come in wait; those that ask for the same
 * are then answered together. One batch runs at a time, so that memory stays bounded however many there are.
 */

/** A search that waits. `key`: only searches with the same key may be answered together. */
export interface Waiting<R, T> {
  readonly request: R
  readonly key: unknown
  readonly rows: number
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

export class RequestQueue<R, T> {
  readonly #answer: (batch: readonly Waiting<R, T>[]) => Promise<void>
  readonly #mostRows: number
  #waiting: Waiting<R, T>[] = []
  #running: Promise<void> | undefined

  /** `answer` settles every request of a batch, and may leave those that it rejects by throwing. */
  constructor(answer: (batch: readonly Waiting<R, T>[]) => Promise<void>, mostRows: number) {
    this.#answer = answer
    this.#mostRows = mostRows
  }

  /** Requests without a key are answered alone. */
  add(request: R, rows: number, key: unknown): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, key, rows, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /** Resolves when no search is pending. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running
  }

  async #run(): Promise<void> {
    // Searches that are asked for in the same turn come together.
    await undefined
    while (this.#waiting.length > 0) {
      const batch = this.#take()
      try {
        await this.#answer(batch)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#running = undefined
  }

  /** The first request, and those with its key that fit beside it. */
  #take(): readonly Waiting<R, T>[] {
    const [first] = this.#waiting
    if (first.key === undefined) {
      this.#waiting.shift()
      return [first]
    }
    const batch: Waiting<R, T>[] = []
    const rest: Waiting<R, T>[] = []
    let rows = 0
    for (const each of this.#waiting) {
      const joins = each.key === first.key && (batch.length === 0 || rows + each.rows <= this.#mostRows)
      if (joins) rows += each.rows
      ;(joins ? batch : rest).push(each)
    }
    this.#waiting = rest
    return batch
  }
}

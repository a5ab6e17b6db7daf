/** Keeps long loops on the host stoppable: they give way to the event loop, report progress and obey a signal. */
import type { Watch } from '../core/chunks.ts'

/** A loop computes this long before it lets other code run. */
const STRETCH_MS = 20
/** The clock is read after this much work, so that many small steps do not spend their time on it. */
const LOOK_AFTER = 20_000

export class Pace {
  readonly #total: number
  readonly #watch: Watch
  #done = 0
  #sinceLook = 0
  #lastRest = performance.now()

  /** `total` is all the work there will be, in the unit that `count` is given. */
  constructor(total: number, watch: Watch) {
    watch.signal?.throwIfAborted()
    this.#total = total
    this.#watch = watch
  }

  /** Counts finished work. True: `rest` should be awaited now. */
  count(work: number): boolean {
    this.#done += work
    this.#sinceLook += work
    if (this.#sinceLook < LOOK_AFTER) return false
    this.#sinceLook = 0
    return performance.now() - this.#lastRest > STRETCH_MS
  }

  async rest(): Promise<void> {
    this.#watch.onProgress?.(Math.min(1, this.#done / this.#total))
    await new Promise((resolve) => setTimeout(resolve))
    this.#watch.signal?.throwIfAborted()
    this.#lastRest = performance.now()
  }

  finish(): void {
    this.#watch.onProgress?.(1)
  }
}

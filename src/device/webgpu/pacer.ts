/**
 * Decides how much work one submit may carry. It begins small, watches how long submits take, and steers towards a given
 * time: short enough to stop between submits and, in a page, to draw between them, long enough to make the cost of
 * submitting negligible. At most two submits are under way, so that the queue never runs dry.
 */

/** Duration of one submit without a page that draws. */
export const SUBMIT_MS = 100
/** In a page, which shares the GPU: one frame. */
export const PAGE_SUBMIT_MS = 16
const FIRST_OPERATIONS = 2e8
const SMALLEST = 2e7
const LARGEST = 2e12

export class SubmitPacer {
  readonly #queue: { onSubmittedWorkDone(): Promise<undefined> }
  readonly #now: () => number
  readonly #target: number
  #operations = FIRST_OPERATIONS
  #previous: Promise<void> = Promise.resolve()

  constructor(
    queue: { onSubmittedWorkDone(): Promise<undefined> },
    now: () => number = () => performance.now(),
    target = SUBMIT_MS,
  ) {
    this.#queue = queue
    this.#target = target
    this.#now = now
  }

  get operations(): number {
    return this.#operations
  }

  /** Call after a submit; resolves when the one before it is done. */
  async submitted(operations: number): Promise<void> {
    // Small work is not worth a round trip; the next read waits for it anyway.
    if (operations < SMALLEST) return
    const before = this.#previous
    const started = before.then(() => this.#now())
    this.#previous = this.#queue.onSubmittedWorkDone().then(
      async () => this.#learn(operations, this.#now() - (await started)),
      () => {},
    )
    await before
  }

  #learn(operations: number, milliseconds: number): void {
    // A small submit says little about a large one.
    if (operations < this.#operations / 4) return
    const factor = Math.min(4, Math.max(0.25, this.#target / Math.max(milliseconds, 0.1)))
    this.#operations = Math.min(LARGEST, Math.max(SMALLEST, this.#operations * Math.sqrt(factor)))
  }
}

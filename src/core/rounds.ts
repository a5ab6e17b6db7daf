/**
 * The loop under everything that iterates and reports: clustering and the training of quantizers. It decides when to stop,
 * and yields every round, so that progress, checkpoints and pages consume one generator.
 */

/**
 * Why a run ended: nothing moved (`converged`), a round gained too little (`tolerance`), the rounds (`iterations`) or the
 * time (`seconds`) were used up, or a signal stopped it (`aborted`).
 */
export type StopReason = 'converged' | 'tolerance' | 'iterations' | 'seconds' | 'aborted'

export interface Rounds<R> {
  /** Number of the first round. */
  readonly first: number
  /** Number of the last one. */
  readonly iterations: number
  readonly signal?: AbortSignal | undefined
  /** One round, or why it was not completed; what was reached before it then stands. */
  run(iteration: number): Promise<R | StopReason>
  /** Called with every completed round after it was yielded. The run ends if there is a reason. */
  after(result: R): StopReason | undefined | Promise<StopReason | undefined>
  /** True when there is no time for another round. Default: never. */
  readonly timeIsUp?: () => boolean
}

/** Goes through all steps; gives what comes after the last. */
export async function finished<T>(steps: AsyncGenerator<unknown, T>): Promise<T> {
  for (;;) {
    const step = await steps.next()
    if (step.done) return step.value
  }
}

export async function* repeatRounds<R extends object>(rounds: Rounds<R>): AsyncGenerator<R, StopReason> {
  for (let iteration = rounds.first; iteration <= rounds.iterations; iteration++) {
    const result = await rounds.run(iteration)
    if (typeof result === 'string') return result
    yield result
    const over = await rounds.after(result)
    if (over) return over
    if (rounds.signal?.aborted) return 'aborted'
    if (rounds.timeIsUp?.()) return 'seconds'
  }
  return 'iterations'
}

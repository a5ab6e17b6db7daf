/** A run in step with the page: the next round begins when the last one is drawn, so the page never falls behind. */
import type { Run } from '../engine/engine.ts'
import type { InputOf, ResultOf, RoundOf, TaskName } from '../engine/tasks.ts'
import type { Page } from './page.ts'
import { sentence, slow } from './phrases.ts'

export interface PacedWatcher<Round> {
  /** False once another run has taken this one's place: nothing of it is shown any more. */
  heard(): boolean
  /** Draws a round; `milliseconds` is the mean time of those so far. */
  onRound(round: Round, milliseconds: number): void
  /** The device was lost and the run begins again on another: forget its rounds. */
  onRestart?(): void
}

/** Says how far a round is where one takes long. */
export function pacedRun<Name extends TaskName>(
  page: Page,
  task: Name,
  input: InputOf<Name>,
  { heard, onRound, onRestart }: PacedWatcher<RoundOf<Name>>,
): Run<ResultOf<Name>> {
  let times: number[] = []
  let began = performance.now()
  const run = page.engine.start(
    task,
    input,
    {
      onRound(round) {
        if (!heard()) return
        times.push((round as { readonly milliseconds: number }).milliseconds)
        began = performance.now()
        onRound(round, meanTime(times))
        run.step(1)
      },
      onProgress(phase, share) {
        if (heard() && slow(began)) page.status(`${sentence(phase)}: ${Math.round(100 * share)} %`)
      },
      onRestart() {
        times = []
        onRestart?.()
      },
    },
    { rounds: 1 },
  )
  return run
}

function meanTime(times: readonly number[]): number {
  // The first has loading and seeding in it.
  const later = times.length > 1 ? times.slice(1) : times
  return later.reduce((sum, time) => sum + time, 0) / later.length
}

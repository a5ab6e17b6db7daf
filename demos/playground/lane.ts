/**
 * One method at work: its run in the worker, its stage, its curve. It goes a round at a time, as the page draws. A round is
 * shown in two phases: points take their label (assign), then centres move (update).
 */
import type { ClusterOptions, Matrix, MethodName } from '../../src/index.ts'
import type { ClusterResult, ClusterRound } from '../engine/cluster-task.ts'
import type { Run } from '../engine/engine.ts'
import { showNumber } from '../shell/dom.ts'
import type { Page } from '../shell/page.ts'
import { plural } from '../shell/phrases.ts'
import { isMixture, movesAtOnce } from './settings.ts'
import { Stage } from './stage.ts'

export interface LaneJob {
  readonly points: Matrix
  readonly method: MethodName
  readonly options: ClusterOptions
}

export interface LaneEvents {
  /** A round was drawn, or the lane was reset. */
  onChange(): void
  /** It ended, with a sentence. */
  onEnd(sentence: string): void
}

/** Share of a round's time in which the new labels are shown, before centres move. */
const ASSIGN_SHARE = 0.5

export class Lane {
  readonly stage: Stage
  readonly figure: HTMLElement
  readonly room: HTMLElement
  readonly #caption: HTMLElement
  readonly #page: Page
  readonly #events: LaneEvents
  #job: LaneJob | undefined
  #run: Run<ClusterResult> | undefined
  #playing = false
  #waiting = false
  #ended = false
  /** A round whose points were assigned and whose centres have not moved yet. */
  #assigned: ClusterRound | undefined
  /** Milliseconds centres take on their way, and a round at least. */
  pace = 300
  /** By round: the log-likelihood of mixtures, the distortion of others. */
  readonly curve: [round: number, value: number][] = []

  constructor(page: Page, figure: HTMLElement, events: LaneEvents) {
    this.#page = page
    this.#events = events
    this.figure = figure
    this.room = figure.querySelector('.layers-of-stage') as HTMLElement
    this.#caption = figure.querySelector('figcaption') as HTMLElement
    this.stage = new Stage(this.room)
  }

  get method(): MethodName | undefined {
    return this.#job?.method
  }

  get busy(): boolean {
    return this.#playing && !this.#ended
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Forgets its run and shows the points of another job. */
  reset(job: LaneJob): void {
    this.leave()
    this.#job = job
    this.#ended = false
    this.curve.length = 0
    this.stage.setPoints(job.points.data as Float32Array)
    this.#describe('not run yet')
    this.#events.onChange()
    void this.#showStart(job)
  }

  /** Ends what is under way. */
  leave(): void {
    this.#run?.stop()
    this.#run = undefined
    this.#assigned = undefined
    this.#playing = false
    this.#waiting = false
  }

  play(): void {
    if (this.#ended || this.#playing) return
    this.#playing = true
    if (!this.#waiting) this.#next()
  }

  pause(): void {
    this.#playing = false
  }

  /** The next phase alone. */
  step(): void {
    this.#playing = false
    if (!this.#ended && !this.#waiting) this.#next()
  }

  /** The centres a run would begin with. They may come later than its first round. */
  async #showStart(job: LaneJob): Promise<void> {
    const { points, method, options } = job
    if (points.rows < 2) return
    try {
      const input = { vectors: points, method, options }
      const centers = await this.#page.engine.start('start', input).result
      if (job !== this.#job || this.curve.length > 0 || !centers) return
      this.stage.setLook({ labels: undefined, centers, sigmas: undefined })
      this.stage.draw(1)
      this.#describe('the start, not run yet')
    } catch {
      // The run itself tells what is wrong.
    }
  }

  #next(): void {
    if (this.#assigned) {
      this.#update(this.#assigned)
      return
    }
    this.#waiting = true
    if (this.#run) this.#run.step(1)
    else if (this.#job) this.#start(this.#job)
  }

  #start({ points, options }: LaneJob): void {
    const input = { vectors: points, options, look: true }
    const run = this.#page.engine.start(
      'cluster',
      input,
      {
        onRound: (round) => run === this.#run && this.#assign(round),
        onRestart: () => {
          this.#assigned = undefined
          this.curve.length = 0
          this.stage.setLook(undefined)
        },
      },
      { rounds: 1 },
    )
    this.#run = run
    run.result.then(
      (result) => run === this.#run && this.#end(result),
      (error) => {
        if (run !== this.#run) return
        this.leave()
        this.#page.fail(error)
        this.#describe('not run yet')
        this.#events.onChange()
      },
    )
  }

  #assign(round: ClusterRound): void {
    const { stats, look } = round
    this.#waiting = false
    if (!look) return
    this.stage.setLook(look)
    this.#assigned = round
    if (this.method && movesAtOnce(this.method)) {
      this.#update(round)
      return
    }
    this.#describe(
      `round ${stats.iteration}, assign: ${stats.iteration === 1 ? 'every point chooses' : `${plural(stats.moved, 'point')} changed`}`,
    )
    this.stage.draw(0)
    this.#events.onChange()
    if (this.#playing) this.#after(this.pace * ASSIGN_SHARE, () => this.#update(round))
  }

  /** Brings centres to where they are now. */
  #update(round: ClusterRound): void {
    if (this.#assigned !== round) return
    this.#assigned = undefined
    this.#waiting = true
    const { stats, milliseconds } = round
    const { iteration, distortion, moved, extra } = stats
    const likelihood = extra?.logLikelihood
    this.curve.push([iteration, likelihood ?? distortion])
    const value = likelihood === undefined ? `distortion ${showNumber(distortion)}` : showLikelihood(likelihood)
    const left = extra?.components === undefined ? '' : `, ${extra.components} components`
    const drawn = this.stage.drawing > 0 ? `, drawn in ${this.stage.drawing.toFixed(1)} ms` : ''
    this.#describe(
      `round ${iteration}: ${value}${left}`,
      `${iteration === 1 ? '' : `${showNumber(moved)} changed, `}${milliseconds.toFixed(1)} ms a round${drawn}`,
    )
    this.#events.onChange()
    this.#glide(performance.now())
  }

  /** Then goes on if it should. */
  #glide(began: number): void {
    const run = this.#run
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches
    const time = this.pace * (1 - ASSIGN_SHARE)
    const frame = (now: number): void => {
      if (run !== this.#run) return
      const share = time === 0 ? 1 : Math.min(1, Math.max(0, now - began) / time)
      // Slow at both ends; or at once, for those who want no motion.
      this.stage.draw(still ? 1 : share * share * (3 - 2 * share))
      if (share < 1) {
        requestAnimationFrame(frame)
        return
      }
      this.#waiting = false
      if (this.#playing && !this.#ended) this.#next()
    }
    requestAnimationFrame(frame)
  }

  #after(milliseconds: number, then: () => void): void {
    const run = this.#run
    const began = performance.now()
    const frame = (now: number): void => {
      if (run !== this.#run || !this.#playing) return
      if (now - began < milliseconds) requestAnimationFrame(frame)
      else then()
    }
    requestAnimationFrame(frame)
  }

  #end({ facts, distortion }: ClusterResult): void {
    this.#ended = true
    this.#playing = false
    this.#waiting = false
    const { iterations, method, stopped } = facts
    const why = {
      converged: 'nothing changes any more',
      tolerance: 'a round gains next to nothing',
      iterations: 'that is the most it may take',
      seconds: 'time is up',
      aborted: 'it was stopped',
    }[stopped]
    const likelihood = iterations[iterations.length - 1]?.extra?.logLikelihood
    const mixture = isMixture(method as MethodName) && likelihood !== undefined
    const value = mixture ? showLikelihood(likelihood) : `distortion ${showNumber(distortion)}`
    this.#events.onEnd(`${method}: ${value} after ${plural(iterations.length, 'round')}; ${why}.`)
  }

  #describe(state: string, details = ''): void {
    const name = document.createElement('strong')
    name.textContent = this.method ?? ''
    const lines = [state, details].map((text) => {
      const line = document.createElement('span')
      line.textContent = text
      return line
    })
    this.#caption.replaceChildren(name, ...lines)
    this.room.setAttribute('aria-label', `${this.#job?.points.rows ?? 0} points, ${this.method}, ${state}`)
  }
}

function showLikelihood(value: number): string {
  return `log-likelihood ${showNumber(value)}`
}

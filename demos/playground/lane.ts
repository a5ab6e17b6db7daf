/** One method at work: its run in the worker, its stage, its curve. It goes a round at a time, as the page draws. */
import type { ClusterOptions, Matrix, MethodName } from '../../src/index.ts'
import type { ClusterResult, ClusterRound } from '../engine/cluster-task.ts'
import type { Run } from '../engine/engine.ts'
import { showNumber } from '../shell/dom.ts'
import type { Page } from '../shell/page.ts'
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
  /** Milliseconds centres take on their way, and a round at least. */
  pace = 300
  readonly curve: [round: number, distortion: number][] = []

  constructor(page: Page, figure: HTMLElement, events: LaneEvents) {
    this.#page = page
    this.#events = events
    this.figure = figure
    this.room = figure.querySelector('.layers-of-stage') as HTMLElement
    this.#caption = figure.querySelector('figcaption') as HTMLElement
    this.stage = new Stage(this.room)
  }

  get method(): string {
    return this.#job?.method ?? ''
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
  }

  /** Ends what is under way. */
  leave(): void {
    this.#run?.stop()
    this.#run = undefined
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

  step(): void {
    this.#playing = false
    if (!this.#ended && !this.#waiting) this.#next()
  }

  #next(): void {
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
        onRound: (round) => run === this.#run && this.#show(round),
        onRestart: () => {
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
        this.#events.onChange()
      },
    )
  }

  #show({ stats, milliseconds, look }: ClusterRound): void {
    const { iteration, distortion, moved, extra } = stats
    this.#waiting = false
    if (!look) return
    this.curve.push([iteration, distortion])
    this.stage.setLook(look)
    const left = extra?.components === undefined ? '' : `, ${extra.components} components`
    const drawn = this.stage.drawing > 0 ? `, drawn in ${this.stage.drawing.toFixed(1)} ms` : ''
    this.#describe(
      `round ${iteration}: distortion ${showNumber(distortion)}${left}`,
      `${iteration === 1 ? '' : `${showNumber(moved)} changed, `}${milliseconds.toFixed(1)} ms a round${drawn}`,
    )
    this.#events.onChange()
    this.#animate(performance.now())
  }

  /** Brings centres to where they are now, then goes on if it should. */
  #animate(began: number): void {
    const run = this.#run
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches
    const frame = (now: number): void => {
      if (run !== this.#run) return
      const share = this.pace === 0 ? 1 : Math.min(1, Math.max(0, now - began) / this.pace)
      // Slow at both ends; or at once, for those who want no motion.
      this.stage.draw(still ? 1 : share * share * (3 - 2 * share))
      if (share < 1) requestAnimationFrame(frame)
      else if (this.#playing && !this.#waiting && !this.#ended) this.#next()
    }
    requestAnimationFrame(frame)
  }

  #end({ facts, distortion }: ClusterResult): void {
    this.#ended = true
    this.#playing = false
    this.#waiting = false
    const rounds = facts.iterations.length
    const why = {
      converged: 'nothing changes any more',
      tolerance: 'a round gains next to nothing',
      iterations: 'that is the most it may take',
      seconds: 'time is up',
      aborted: 'it was stopped',
    }[facts.stopped]
    const sentence = `${facts.method}: distortion ${showNumber(distortion)} after ${rounds} ${rounds === 1 ? 'round' : 'rounds'}; ${why}.`
    this.#events.onEnd(sentence)
  }

  #describe(state: string, details = ''): void {
    const name = document.createElement('strong')
    name.textContent = this.method
    const lines = [state, details].map((text) => {
      const line = document.createElement('span')
      line.textContent = text
      return line
    })
    this.#caption.replaceChildren(name, ...lines)
    this.room.setAttribute('aria-label', `${this.#job?.points.rows ?? 0} points, ${this.method}, ${state}`)
  }
}

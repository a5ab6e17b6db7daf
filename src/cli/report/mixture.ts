/** How a mixture of points in the plane came to be: centres and circles, round by round. */
import type { ClusterStep, VectorSource } from '../../index.ts'
import { count } from '../words.ts'
import type { Charts } from './charts.ts'
import { html, type Markup } from './markup.ts'

export interface PlaneRound {
  readonly iteration: number
  /** x, y, x, y, and so on, as of the centres. */
  readonly points: ArrayLike<number>
  readonly centers: ArrayLike<number>
  readonly sigmas: Float32Array
}

/** More points than this are a blot. */
const MOST_POINTS = 2000
/** More circles than this too. */
const MOST_CIRCLES = 1000
/** Rounds shown: the first ones, where most happens, and the last. */
const SHOWN = 6

/** Keeps what a report draws, while the run goes on. */
export class MixtureCourse {
  readonly #source: VectorSource
  #rounds: Omit<PlaneRound, 'points'>[] = []

  constructor(source: VectorSource) {
    this.#source = source
  }

  async take(step: ClusterStep): Promise<void> {
    const sigmas = step.sigmas()
    if (this.#source.cols !== 2 || sigmas === undefined) return
    // Another start begins anew; which one is kept is not known yet, the last is shown.
    if (this.#rounds.some(({ iteration }) => iteration >= step.iteration)) this.#rounds = []
    if (this.#rounds.length === SHOWN) this.#rounds.pop()
    this.#rounds.push({ iteration: step.iteration, centers: (await step.centers()).data, sigmas })
  }

  /** Undefined where there is nothing to draw. */
  async drawn(): Promise<PlaneRound[] | undefined> {
    if (this.#rounds.length === 0) return undefined
    const { rows } = this.#source
    const all = await this.#source.read(0, rows)
    const step = Math.max(1, Math.ceil(rows / MOST_POINTS))
    const points: number[] = []
    for (let row = 0; row < rows; row += step) points.push(all[2 * row], all[2 * row + 1])
    return this.#rounds.filter(({ sigmas }) => sigmas.length <= MOST_CIRCLES).map((round) => ({ ...round, points }))
  }
}

export function mixtureSection(rounds: readonly PlaneRound[], charts: Charts): Markup | undefined {
  if (rounds.length === 0) return undefined
  const frame = frameOf(rounds[0].points)
  const cards = rounds.map(
    (round) =>
      html`<figure class="card"><h3>Round ${round.iteration}</h3>${charts.circles(round, frame)}<figcaption>${count(round.sigmas.length, 'component')}</figcaption></figure>`,
  )
  return html`<section><h2>The mixture, round by round</h2>
<p class="soft">Centres, and circles of two standard deviations, over the points.</p><div class="charts">${cards}</div></section>`
}

/** Left, bottom, right, top: the points and a little room. */
function frameOf(points: ArrayLike<number>): readonly [number, number, number, number] {
  const frame: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity]
  for (let at = 0; at < points.length; at += 2) {
    for (const axis of [0, 1]) {
      frame[axis] = Math.min(frame[axis], points[at + axis])
      frame[axis + 2] = Math.max(frame[axis + 2], points[at + axis])
    }
  }
  const room = 0.08 * Math.max(frame[2] - frame[0], frame[3] - frame[1], 1e-9)
  return [frame[0] - room, frame[1] - room, frame[2] + room, frame[3] + room]
}

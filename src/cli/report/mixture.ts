/** How a mixture of points in the plane came to be: centres and circles, round by round. */
import type { ClusterStep, VectorSource } from '../../index.ts'
import { count, number } from '../format.ts'
import { circleChart, type Frame, type PlaneRound } from './charts/circles.ts'
import type { Drawing } from './charts/drawing.ts'
import { html, type Markup } from './markup.ts'

/** What a report draws of it, as plain numbers that run.json keeps. */
export interface MixtureRounds {
  /** x, y, x, y, and so on: some of the points. */
  readonly points: readonly number[]
  readonly rounds: readonly PlaneRound[]
  /** Rounds that were run. */
  readonly total: number
  /** Rounds that had too many components to draw. */
  readonly crowded: number
}

/** More points than this are a blot. */
const MOST_POINTS = 2000
/** More circles than this too. */
const MOST_CIRCLES = 1000
/** Up to so many rounds, all are shown. */
const ALL_SHOWN = 12

/** Of more rounds two in every doubling are shown, and the last: much happens at first, little later. */
function isOnScale(iteration: number): boolean {
  const power = 2 ** Math.floor(Math.log2(iteration))
  return iteration === power || iteration === power * 1.5
}

/** Keeps what a report draws, while the run goes on. */
export class MixtureCourse {
  readonly #source: VectorSource
  #rounds: PlaneRound[] = []
  #total = 0

  constructor(source: VectorSource) {
    this.#source = source
  }

  async take(step: ClusterStep): Promise<void> {
    const sigmas = step.sigmas()
    if (this.#source.cols !== 2 || sigmas === undefined) return
    // Another start begins again. Which one is kept is not known yet, so the last one is shown.
    if (step.iteration <= this.#total) this.#rounds = []
    this.#total = step.iteration
    const last = this.#rounds[this.#rounds.length - 1]
    if (last !== undefined && last.iteration > ALL_SHOWN && !isOnScale(last.iteration)) this.#rounds.pop()
    // A round that is not drawn keeps its place, to be counted.
    const drawn = sigmas.length <= MOST_CIRCLES
    const centers = drawn ? Array.from((await step.centers()).data, short) : []
    this.#rounds.push({ iteration: step.iteration, centers, sigmas: drawn ? Array.from(sigmas, short) : [] })
  }

  /** Undefined where there is nothing to draw. */
  async drawn(): Promise<MixtureRounds | undefined> {
    const total = this.#total
    const shown = this.#rounds.filter(
      ({ iteration }) => total <= ALL_SHOWN || iteration === total || isOnScale(iteration),
    )
    const rounds = shown.filter(({ sigmas }) => sigmas.length > 0)
    if (rounds.length === 0) return undefined
    const { rows } = this.#source
    const all = await this.#source.read(0, rows)
    const step = Math.max(1, Math.ceil(rows / MOST_POINTS))
    const points: number[] = []
    for (let row = 0; row < rows; row += step) points.push(short(all[2 * row]), short(all[2 * row + 1]))
    return { points, rounds, total, crowded: shown.length - rounds.length }
  }
}

/** As many digits as a picture needs. */
function short(value: number): number {
  return Number(value.toPrecision(6))
}

export function mixtureSection({ points, rounds, total, crowded }: MixtureRounds, drawing: Drawing): Markup {
  const frame = frameOf(points)
  const cards = rounds.map(
    (round) =>
      html`<figure class="card"><h3>Round ${round.iteration}</h3>${circleChart(drawing, round, points, frame)}<figcaption>${count(round.sigmas.length, 'component')}</figcaption></figure>`,
  )
  const which =
    total <= ALL_SHOWN
      ? `${total === 1 ? 'The only round' : `All ${total} rounds`} of the run.`
      : `Of ${number(total)} rounds those on a logarithmic scale (1, 2, 3, 4, 6, 8, 12 and so on) and the last.`
  const left =
    crowded === 0
      ? ''
      : ` ${count(crowded, 'round')} of these had more than ${number(MOST_CIRCLES)} components, too many to draw.`
  return html`<section><h2>The mixture, round by round</h2>
<p class="soft">Centres, and circles of two standard deviations, over the points. ${which}${left}</p><div class="multiples">${cards}</div></section>`
}

/** The points and a little room. */
function frameOf(points: readonly number[]): Frame {
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

/** From the scores of a sweep to a number of clusters, and one sentence about it. */
import type { SweepRange } from './options.ts'
import type { SweepBest, SweepStep } from './result.ts'

/** A bend is clear if the curve lies this far below the line between its ends, both being 1 wide and 1 high. */
const CLEAR_BEND = 0.2
/** A distortion that falls by less than this share over the whole sweep has no elbow. */
const LEAST_FALL = 0.02
/** Below this, the disagreement of seeds is reported. */
const UNSTABLE = 0.6

/** The step farthest below the chord of the curve of log distortion over log k (the rule of Kneedle). */
export function elbowOf(steps: readonly Pick<SweepStep, 'k' | 'distortion'>[]): number | undefined {
  const first = steps[0]
  const last = steps[steps.length - 1]
  if (steps.length < 3 || !(first.distortion > 0)) return undefined
  // Where every vector is a centre the distortion is 0 and has no logarithm: such a step is ignored for the elbow.
  const drawn = steps.filter(({ distortion }) => distortion > LEAST_FALL ** 8 * first.distortion)
  if (drawn.length < steps.length) return elbowOf(drawn)
  if (last.distortion > (1 - LEAST_FALL) * first.distortion) return undefined
  const width = Math.log(last.k / first.k)
  const height = Math.log(first.distortion / last.distortion)
  let best: { readonly k: number; readonly below: number } | undefined
  for (const { k, distortion } of steps) {
    const x = Math.log(k / first.k) / width
    const y = Math.log(distortion / last.distortion) / height
    const below = 1 - x - y
    if (below > (best?.below ?? CLEAR_BEND)) best = { k, below }
  }
  return best?.k
}

/** With fewer vectors than this in a cluster on average, scores say more about chance than about the data. */
const LEAST_PER_CLUSTER = 5

/** The steps that scores can judge; all of them where there is no such step. */
export function judgedSteps(steps: readonly SweepStep[], rows: number): readonly SweepStep[] {
  const judged = steps.filter(({ k }) => k * LEAST_PER_CLUSTER <= rows)
  return judged.length > 0 ? judged : steps
}

type Score = keyof SweepBest

/** Which end of each score is the good one. */
const SIGNS: Readonly<Record<Score, 1 | -1>> = {
  bic: -1,
  silhouette: 1,
  daviesBouldin: -1,
  calinskiHarabasz: 1,
  stability: 1,
}

export function bestOf(steps: readonly SweepStep[]): SweepBest {
  const best = (score: Score): number | undefined => {
    let found: SweepStep | undefined
    for (const step of steps) {
      const value = step[score]
      if (value === undefined) continue
      const above = found === undefined ? 1 : SIGNS[score] * (value - (found[score] as number))
      // Of equal ones the fewest clusters; but where several numbers are fully stable, that the larger ones are says more.
      if (above > 0 || (above === 0 && score === 'stability')) found = step
    }
    return found?.k
  }
  return {
    bic: best('bic'),
    silhouette: best('silhouette'),
    daviesBouldin: best('daviesBouldin'),
    calinskiHarabasz: best('calinskiHarabasz'),
    stability: best('stability'),
  }
}

interface Vote {
  readonly name: string
  readonly k: number
}

export interface Advice {
  readonly advised: number | undefined
  readonly advice: string
  readonly next: SweepRange | undefined
}

/** In the order they count where as many speak for one number as for another. */
function votesOf(best: SweepBest, elbow: number | undefined): Vote[] {
  const votes: [string, number | undefined][] = [
    ['BIC', best.bic],
    ['silhouette', best.silhouette],
    ['the elbow of the distortion', elbow],
    ['Davies-Bouldin', best.daviesBouldin],
    ['Calinski-Harabasz', best.calinskiHarabasz],
  ]
  return votes.flatMap(([name, k]) => (k === undefined ? [] : [{ name, k }]))
}

/** `steps` are those that {@link judgedSteps} leaves. */
export function adviceOf(
  steps: readonly SweepStep[],
  best: SweepBest,
  elbow: number | undefined,
  rows: number,
): Advice {
  const counts = steps.map(({ k }) => k)
  const [least, most] = [counts[0], counts[counts.length - 1]]
  if (counts.length === 1)
    return advise(undefined, `Only ${clusters(least)} tried: try several numbers to compare them.`)
  const votes = votesOf(best, elbow)
  const k = preferred(votes)
  const votesFor = votes.filter((vote) => vote.k === k)
  const others = votes.filter((vote) => vote.k !== k)
  const pair = neighboursOf(votes, counts)
  const shared = pair && pair.count > votesFor.length && pair.count > votes.length / 2
  if (shared && (best.bic === pair.from || best.bic === pair.to)) {
    const [from, to] = [number(pair.from), number(pair.to)]
    const inside = preferences(votes.filter((vote) => vote.k === pair.from || vote.k === pair.to))
    return advise(
      pair.preferred,
      `Between ${from} and ${to} clusters: ${inside}; a sweep from ${from} to ${to} tells more exactly.`,
      { from: pair.from, to: pair.to },
    )
  }
  if (best.bic === 1 && (votesFor.length < 3 || k === most)) {
    const rest = votes.length > 1 ? `; ${preferences(votes.slice(1))}` : ''
    return advise(1, `Perhaps no separate clusters: BIC prefers a single one${rest}.`)
  }
  // Some scores rise, and others fall, with k whatever the data is: without BIC they mean little at the ends of the range.
  const doubtful = best.bic !== k && (k === most || (k === least && votesFor.length < 3))
  if (k === undefined || votesFor.length < 2 || doubtful) return noAgreement(votes, counts, rows)
  const speakers = listed(votesFor.map(({ name }) => name))
  const against = others.length > 0 ? `, but ${preferences(others)}` : ''
  if (k === most) {
    const next = rows > k ? { from: k, to: Math.min(rows, 10 * k) } : undefined
    const more = next ? `; try more, up to ${number(next.to)}` : ''
    return advise(
      undefined,
      `${clusters(k)} or more: ${speakers} are best at the largest number tried${against}${more}.`,
      next,
    )
  }
  if (k === least && k > 2) {
    return advise(
      undefined,
      `${clusters(k)} or fewer: ${speakers} are best at the smallest number tried${against}; try fewer, from 2 on.`,
      { from: 2, to: k },
    )
  }
  const sure = votesFor.length > others.length ? 'About' : 'Perhaps'
  const next = rangeAround(k, counts)
  const within = next ? ` (between ${number(next.from)} and ${number(next.to)})` : ''
  return advise(k, `${sure} ${clusters(k)}${within}: ${speakers} agree${against}${steadiness(steps, k)}.`, next)
}

function advise(advised: number | undefined, advice: string, next?: SweepRange): Advice {
  return { advised, advice, next }
}

/** The number most votes are for; of several such, the one that comes first. */
function preferred(votes: readonly Vote[]): number | undefined {
  let best: { readonly k: number; readonly count: number } | undefined
  for (const { k } of votes) {
    const count = votes.filter((vote) => vote.k === k).length
    if (count > (best?.count ?? 0)) best = { k, count }
  }
  return best?.k
}

interface Neighbours {
  readonly from: number
  readonly to: number
  readonly count: number
  readonly preferred: number
}

/** Two numbers tried one after the other, with others between them, that most votes are for: the right one may lie between. */
function neighboursOf(votes: readonly Vote[], counts: readonly number[]): Neighbours | undefined {
  let best: Neighbours | undefined
  for (let i = 1; i < counts.length; i++) {
    const [from, to] = [counts[i - 1], counts[i]]
    const inside = votes.filter(({ k }) => k === from || k === to)
    if (to - from < 2 || !inside.some(({ k }) => k === from) || !inside.some(({ k }) => k === to)) continue
    if (inside.length > (best?.count ?? 0)) {
      best = { from, to, count: inside.length, preferred: preferred(inside) as number }
    }
  }
  return best
}

function noAgreement(votes: readonly Vote[], counts: readonly number[], rows: number): Advice {
  const last = counts[counts.length - 1]
  const more = votes.some(({ name, k }) => name === 'BIC' && k === last) && rows > last
  const fewer = counts[0] > 2 && votes.some(({ k }) => k === counts[0])
  const tries = [more ? `more than ${number(last)}` : '', fewer ? `fewer than ${number(counts[0])}` : ''].filter(
    Boolean,
  )
  const next = tries.length > 0 ? `try ${tries.join(' or ')}, or choose` : 'choose'
  return advise(
    undefined,
    `No number of clusters stands out: ${preferences(votes)}; ${next} by how fine the clusters should be.`,
  )
}

/** For example "silhouette prefers 8, Davies-Bouldin prefers 12". */
function preferences(votes: readonly Vote[]): string {
  const byCount = new Map<number, string[]>()
  for (const { name, k } of votes) byCount.set(k, [...(byCount.get(k) ?? []), name])
  return [...byCount]
    .map(([k, names]) => `${listed(names)} ${names.length > 1 ? 'prefer' : 'prefers'} ${number(k)}`)
    .join(', ')
}

/** Undefined where the next smaller and the next larger number were tried. */
function rangeAround(k: number, counts: readonly number[]): SweepRange | undefined {
  const at = counts.indexOf(k)
  const [from, to] = [counts[at - 1] ?? k, counts[at + 1] ?? k]
  return k - from > 1 || to - k > 1 ? { from, to } : undefined
}

function steadiness(steps: readonly SweepStep[], k: number): string {
  const stability = steps.find((step) => step.k === k)?.stability
  if (stability === undefined || stability >= UNSTABLE) return ''
  return `; other seeds give other clusters (stability ${stability.toFixed(2)})`
}

function clusters(k: number): string {
  return `${number(k)} ${k === 1 ? 'cluster' : 'clusters'}`
}

function number(value: number): string {
  return value.toLocaleString('en')
}

function listed(names: readonly string[]): string {
  if (names.length < 2) return names.join('')
  return `${names.slice(0, -1).join(', ')} and ${names[names.length - 1]}`
}

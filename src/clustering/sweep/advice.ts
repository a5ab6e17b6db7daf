/** From the scores of a sweep to a number of clusters, and one sentence about it. */
import type { SweepBest, SweepStep } from './result.ts'

/** A bend is clear if the curve lies this far below the line between its ends, both being 1 wide and 1 high. */
const CLEAR_BEND = 0.2
/** A distortion that falls by less than this share over the whole sweep has no elbow. */
const LEAST_FALL = 0.02
/** Below this, seeds disagree so much that it has to be said. */
const UNSTABLE = 0.6

/** The step farthest below the chord of the curve of log distortion over log k (the rule of Kneedle). */
export function elbowOf(steps: readonly Pick<SweepStep, 'k' | 'distortion'>[]): number | undefined {
  const first = steps[0]
  const last = steps[steps.length - 1]
  if (steps.length < 3 || !(first.distortion > 0)) return undefined
  // Where every vector is a centre the distortion is 0 and has no logarithm: such a step says nothing about a bend.
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
      // Of equal ones the fewest clusters.
      if (found === undefined || SIGNS[score] * value > SIGNS[score] * (found[score] as number)) found = step
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

export function adviceOf(
  steps: readonly SweepStep[],
  best: SweepBest,
  elbow: number | undefined,
  rows: number,
): Advice {
  const counts = steps.map(({ k }) => k)
  if (counts.length === 1) {
    const only = `Only ${clusters(counts[0])} ${counts[0] === 1 ? 'was' : 'were'} tried`
    return { advised: undefined, advice: `${only}: try several numbers of clusters to compare them.` }
  }
  const votes = votesOf(best, elbow)
  const k = preferred(votes)
  const votesFor = votes.filter((vote) => vote.k === k)
  const others = votes.filter((vote) => vote.k !== k)
  if (k === undefined || votesFor.length < 2) return noAgreement(votes, counts, rows)
  const speakers = listed(votesFor.map(({ name }) => name))
  const verb = votesFor.length > 1 ? 'agree' : 'says so'
  const against = others.length > 0 ? `, but ${preferences(others)}` : ''
  if (k === counts[counts.length - 1]) {
    const more = rows > k ? `; try more, up to ${number(Math.min(rows, 10 * k))}` : ''
    return {
      advised: undefined,
      advice: `At least ${clusters(k)}, the most that were tried: ${speakers} are best there${against}${more}.`,
    }
  }
  if (k === counts[0] && k > 2) {
    return {
      advised: undefined,
      advice: `At most ${clusters(k)}, the fewest that were tried: ${speakers} are best there${against}; try fewer, from 2 on.`,
    }
  }
  const sure = votesFor.length > others.length ? 'About' : 'Perhaps'
  return {
    advised: k,
    advice: `${sure} ${clusters(k)}${between(k, counts)}: ${speakers} ${verb}${against}${steadiness(steps, k)}.`,
  }
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

function noAgreement(votes: readonly Vote[], counts: readonly number[], rows: number): Advice {
  if (votes.length === 0)
    return { advised: undefined, advice: 'No number of clusters stands out: no score is defined here.' }
  const last = counts[counts.length - 1]
  const more = votes.some(({ k }) => k === last) && rows > last
  const fewer = counts[0] > 2 && votes.some(({ k }) => k === counts[0])
  const tries = [more ? `more than ${number(last)}` : '', fewer ? `fewer than ${number(counts[0])}` : ''].filter(
    Boolean,
  )
  const next = tries.length > 0 ? `try ${tries.join(' and ')}, or choose` : 'choose'
  return {
    advised: undefined,
    advice: `No number of clusters stands out: ${preferences(votes)}; ${next} by how fine the clusters should be.`,
  }
}

/** For example "silhouette prefers 8, and Davies-Bouldin 12". */
function preferences(votes: readonly Vote[]): string {
  const byCount = new Map<number, string[]>()
  for (const { name, k } of votes) byCount.set(k, [...(byCount.get(k) ?? []), name])
  const parts = [...byCount].map(([k, names], i) => {
    const verb = i > 0 ? '' : names.length > 1 ? ' prefer' : ' prefers'
    return `${listed(names)}${verb} ${number(k)}`
  })
  return parts.length > 1 ? `${parts.slice(0, -1).join(', ')} and ${parts[parts.length - 1]}` : parts[0]
}

/** Where other numbers between the steps were not tried. */
function between(k: number, counts: readonly number[]): string {
  const at = counts.indexOf(k)
  const [below, above] = [counts[at - 1] ?? k - 1, counts[at + 1] ?? k + 1]
  if (below >= k - 1 && above <= k + 1) return ''
  return ` (between ${number(below)} and ${number(above)})`
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

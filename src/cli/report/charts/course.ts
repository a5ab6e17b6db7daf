/** How one run went: something that is known of every round, over rounds or over time. */
import type { ScaleOptions } from '@observablehq/plot'
import type { IterationStats } from '../../../index.ts'
import type { Markup } from '../markup.ts'
import { curve, fromZeroAxis, type Point, powersAxis, roundAxis, spanAxis } from './axes.ts'
import type { Drawing } from './drawing.ts'

/** What clusterings and quantizers tell of a round. */
export interface RoundFacts {
  readonly iteration: number
  readonly distortion: number
  readonly seconds: number
}

export function distortionByRound(drawing: Drawing, rounds: readonly RoundFacts[]): Markup {
  const points = rounds.map(({ iteration, distortion }) => [iteration, distortion] as const)
  return byRound(drawing, 'Line: distortion after each round', points, spanAxis(points.map(([, y]) => y)))
}

export function distortionByTime(drawing: Drawing, rounds: readonly RoundFacts[]): Markup {
  const seconds = runningSeconds(rounds)
  return drawing.draw('Line: distortion over time', {
    x: { label: 'seconds', domain: [0, seconds[seconds.length - 1] || 1], nice: true, ticks: 6 },
    y: spanAxis(rounds.map(({ distortion }) => distortion)),
    marks: curve(
      drawing,
      rounds.map(({ distortion }, i) => [seconds[i], distortion]),
    ),
  })
}

export function movedByRound(drawing: Drawing, rounds: readonly IterationStats[]): Markup {
  const moving = rounds.filter(({ moved }) => moved > 0)
  const points = moving.map(({ iteration, moved }) => [iteration, moved] as const)
  const label = 'Line: points that changed their cluster in each round, logarithmic'
  return byRound(drawing, label, points, powersAxis(points.map(([, y]) => y)), rounds)
}

export function candidatesByRound(drawing: Drawing, rounds: readonly IterationStats[]): Markup {
  const points = rounds.map(({ iteration, candidates }) => [iteration, candidates] as const)
  const label = 'Line: centres evaluated per point in each round'
  return byRound(drawing, label, points, fromZeroAxis(points.map(([, y]) => y)))
}

export function componentsByRound(drawing: Drawing, rounds: readonly IterationStats[]): Markup {
  const points = rounds.map(({ iteration, extra }) => [iteration, extra?.components ?? 0] as const)
  const label = 'Line: components left after each round'
  return byRound(drawing, label, points, fromZeroAxis(points.map(([, y]) => y)))
}

export function purgedByRound(drawing: Drawing, rounds: readonly IterationStats[]): Markup {
  const points = rounds.map(({ iteration, extra }) => [iteration, extra?.purged ?? 0] as const)
  const label = 'Line: components purged in each round'
  return byRound(drawing, label, points, fromZeroAxis(points.map(([, y]) => y)))
}

export function likelihoodByRound(drawing: Drawing, rounds: readonly IterationStats[]): Markup {
  const points = rounds.map(({ iteration, extra }) => [iteration, extra?.logLikelihood ?? 0] as const)
  return byRound(drawing, 'Line: mean log-likelihood in each round', points, spanAxis(points.map(([, y]) => y)))
}

function byRound(
  drawing: Drawing,
  label: string,
  points: readonly Point[],
  y: ScaleOptions,
  rounds: readonly RoundFacts[] = [],
): Markup {
  const first = rounds[0]?.iteration ?? points[0][0]
  const last = rounds[rounds.length - 1]?.iteration ?? points[points.length - 1][0]
  return drawing.draw(label, { x: roundAxis(first, last), y, marks: curve(drawing, points) })
}

/** A resumed run of an early version counted its seconds from zero again; put end to end they only grow. */
export function runningSeconds(rounds: readonly { readonly seconds: number }[]): number[] {
  let before = 0
  return rounds.map(({ seconds }, i) => {
    if (i > 0 && seconds < rounds[i - 1].seconds) before += rounds[i - 1].seconds
    return before + seconds
  })
}

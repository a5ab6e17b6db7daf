/** Curves over ranks, and bars with a name. */
import type { Markup } from '../markup.ts'
import { compact, curve, fromZeroAxis, type Point } from './axes.ts'
import { ACCENT, type Drawing } from './drawing.ts'

/** Places 1, 2, 5, 10 and so on, on a scale where each of these steps is about as long. */
function rankAxis(label: string, last: number): object {
  const ticks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].filter((rank) => rank <= last)
  return { label, type: 'log', domain: [1, Math.max(2, last)], ticks, tickFormat: compact }
}

/** shares[r - 1] is the recall among the first r. */
export function recallCurve(drawing: Drawing, shares: readonly number[]): Markup {
  return drawing.draw('Line: recall among the first R found, over R', {
    x: rankAxis('R', shares.length),
    y: {
      label: null,
      domain: [0, 1],
      ticks: 5,
      tickFormat: (share: number) => `${Math.round(share * 100)}%`,
      grid: true,
    },
    marks: curve(
      drawing,
      shares.map((share, i) => [i + 1, share]),
    ),
  })
}

export function distanceByRank(drawing: Drawing, means: readonly number[]): Markup {
  return drawing.draw('Line: mean squared distance to the neighbour found at each place', {
    x: rankAxis('place', means.length),
    y: fromZeroAxis(means),
    marks: curve(
      drawing,
      means.map((mean, i) => [i + 1, mean]),
    ),
  })
}

export function sortedShares(drawing: Drawing, label: string, axis: string, shares: readonly number[]): Markup {
  const points: Point[] = shares.map((share, i) => [(i + 0.5) / shares.length, share])
  return drawing.draw(label, {
    x: { label: axis, domain: [0, 1], ticks: 5, tickFormat: (share: number) => `${Math.round(share * 100)}%` },
    y: { label: null, domain: [0, 1], ticks: 5, grid: true },
    marks: curve(drawing, points),
  })
}

export interface NamedBar {
  readonly name: string
  readonly value: number
  readonly words: string
}

export function bars({ Plot, draw }: Drawing, label: string, values: readonly NamedBar[]): Markup {
  return draw(label, {
    height: 24 + 54 * values.length,
    marginLeft: 90,
    marginRight: 110,
    marginBottom: 8,
    x: { axis: null, domain: [0, Math.max(...values.map(({ value }) => value))] },
    y: { label: null, type: 'band', domain: values.map(({ name }) => name), tickSize: 0, padding: 0.25 },
    marks: [
      Plot.barX(values, { x: 'value', y: 'name', fill: ACCENT }),
      Plot.text(values, { x: 'value', y: 'name', text: 'words', textAnchor: 'start', dx: 6, fill: 'currentColor' }),
    ],
  })
}

/** Scores over the number of clusters, which runs on a logarithmic axis. */
import type { ScaleOptions } from '@observablehq/plot'
import type { Markup } from '../markup.ts'
import { compact, type Point, spanAxis } from './axes.ts'
import { ACCENT, type Drawing } from './drawing.ts'

const BEST = 'var(--series-2)'

/** `counts` are those of all steps, so that all pictures have the same axis. `marked` is the number that stands out. */
export function scoreByCount(
  { Plot, draw }: Drawing,
  label: string,
  points: readonly Point[],
  counts: readonly number[],
  marked: { readonly k: number; readonly name: string } | undefined,
): Markup {
  const place = { x: (point: Point) => point[0], y: (point: Point) => point[1] }
  const best = points.filter(([k]) => k === marked?.k)
  const words = (): string => `${marked?.name}: ${marked?.k.toLocaleString('en')}`
  // The words stand on the side where there is room.
  const [first, last] = [counts[0], counts[counts.length - 1]]
  const right = marked !== undefined && Math.log(marked.k / first) < 0.6 * Math.log(last / first)
  return draw(`Line: ${label} by number of clusters${marked ? `; ${words()}` : ''}`, {
    x: countAxis(counts),
    y: spanAxis(points.map(([, y]) => y)),
    marginTop: 22,
    marks: [
      Plot.ruleX(best, { x: place.x, stroke: BEST, strokeDasharray: '3 3' }),
      Plot.line(points, { ...place, stroke: ACCENT, strokeWidth: 2 }),
      Plot.dot(points, { ...place, fill: ACCENT, r: 2.5 }),
      Plot.dot(best, { ...place, fill: BEST, r: 5 }),
      Plot.text(best, {
        x: place.x,
        frameAnchor: right ? 'top-left' : 'top-right',
        dx: right ? 6 : -6,
        dy: -16,
        text: words,
        fill: BEST,
      }),
    ],
  })
}

function countAxis(counts: readonly number[]): ScaleOptions {
  const [first, last] = [counts[0], counts[counts.length - 1]]
  const axis = { label: 'clusters', tickFormat: compact }
  if (first === last) return { ...axis, domain: [first - 1, first + 1], ticks: [first] }
  return { ...axis, type: 'log', domain: [first, last], ticks: countTicks(counts) }
}

/** 1, 2, 5, 10 and so on where the range holds a few of them, else some of the numbers tried. */
function countTicks(counts: readonly number[]): number[] {
  const [first, last] = [counts[0], counts[counts.length - 1]]
  const rounds = Array.from({ length: 16 }, (_, power) => power)
    .flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power))
    .filter((tick) => tick >= first && tick <= last)
  if (rounds.length >= 3) return rounds.length > 9 ? rounds.filter((tick) => /^10*$/.test(String(tick))) : rounds
  const every = Math.ceil(counts.length / 6)
  return counts.filter((_, i) => i % every === 0)
}

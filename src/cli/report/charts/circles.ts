/** A mixture in the plane: the points, and a circle of two standard deviations about each centre. */
import type { RenderFunction } from '@observablehq/plot'
import type { Markup } from '../markup.ts'
import type { Drawing } from './drawing.ts'

const SIZE = 300
const MARGIN = 4
const SVG = 'http://www.w3.org/2000/svg'

export interface PlaneRound {
  readonly iteration: number
  /** x, y, x, y, and so on. */
  readonly centers: ArrayLike<number>
  readonly sigmas: ArrayLike<number>
}

/** Left, bottom, right, top. */
export type Frame = readonly [number, number, number, number]

export function circleChart({ draw }: Drawing, round: PlaneRound, points: ArrayLike<number>, frame: Frame): Markup {
  const [left, bottom, right, top] = frame
  return draw(`Points, centres and circles of two deviations after round ${round.iteration}`, {
    width: SIZE,
    // One unit is as long up as it is across, or circles would be none.
    height: Math.max(60, Math.min(2 * SIZE, (SIZE * (top - bottom)) / (right - left))),
    marginTop: MARGIN,
    marginRight: MARGIN,
    marginBottom: MARGIN,
    marginLeft: MARGIN,
    x: { domain: [left, right], axis: null },
    y: { domain: [bottom, top], axis: null },
    marks: [mixtureMark(round, points)],
  })
}

/** One path for all points and plain circles: a fraction of the text that marks of their own would take. */
function mixtureMark({ centers, sigmas }: PlaneRound, points: ArrayLike<number>): RenderFunction {
  return (_index, scales, _values, _dimensions, context) => {
    const x = scales.x as (value: number) => number
    const y = scales.y as (value: number) => number
    const element = (name: string, attributes: Record<string, string | number>): SVGElement => {
      const made = context.document.createElementNS(SVG, name) as SVGElement
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, `${value}`)
      return made
    }
    const group = element('g', {})
    let dots = ''
    for (let at = 0; at < points.length; at += 2)
      dots += `M${x(points[at]).toFixed(1)} ${y(points[at + 1]).toFixed(1)}h0`
    const pen = { stroke: 'currentColor', 'stroke-width': 2, 'stroke-linecap': 'round', opacity: 0.45 }
    group.append(element('path', { d: dots, ...pen }))
    const rings = element('g', { fill: 'none', stroke: 'var(--accent)', 'stroke-width': 1.2 })
    const hearts = element('g', { fill: 'var(--accent)' })
    for (let component = 0; component < sigmas.length; component++) {
      const [cx, cy] = [x(centers[2 * component]), y(centers[2 * component + 1])]
      const r = Math.abs(x(centers[2 * component] + 2 * sigmas[component]) - cx)
      rings.append(element('circle', { cx, cy, r }))
      hearts.append(element('circle', { cx, cy, r: 2 }))
    }
    group.append(rings, hearts)
    return group
  }
}

/** A mixture in the plane: the points, and a circle of two standard deviations about each centre. */
import type { PlotOptions } from '@observablehq/plot'
import type { PlaneRound } from './mixture.ts'

const SIZE = 460
const MARGIN = 8
/** Steps around a circle: at this size it looks round. */
const CORNERS = 48

export function circleChart(
  Plot: typeof import('@observablehq/plot'),
  { points, centers, sigmas }: PlaneRound,
  [left, bottom, right, top]: readonly [number, number, number, number],
): PlotOptions {
  const rounds = Array.from(sigmas, (sigma, component) =>
    Array.from({ length: CORNERS + 1 }, (_, corner) => {
      const angle = (2 * Math.PI * corner) / CORNERS
      return {
        component,
        x: centers[2 * component] + 2 * sigma * Math.cos(angle),
        y: centers[2 * component + 1] + 2 * sigma * Math.sin(angle),
      }
    }),
  ).flat()
  const pairs = (data: ArrayLike<number>): { x: number; y: number }[] =>
    Array.from({ length: data.length / 2 }, (_, i) => ({ x: data[2 * i], y: data[2 * i + 1] }))
  return {
    width: SIZE,
    // One unit is as long up as it is across, or circles would be none.
    height: Math.max(80, Math.min(2 * SIZE, (SIZE * (top - bottom)) / (right - left))),
    marginTop: MARGIN,
    marginRight: MARGIN,
    marginBottom: MARGIN,
    marginLeft: MARGIN,
    x: { domain: [left, right], axis: null },
    y: { domain: [bottom, top], axis: null },
    marks: [
      Plot.dot(pairs(points), { x: 'x', y: 'y', r: 1.2, fill: 'currentColor', fillOpacity: 0.45, clip: true }),
      Plot.line(rounds, { x: 'x', y: 'y', z: 'component', stroke: 'var(--accent)', strokeWidth: 1.2, clip: true }),
      Plot.dot(pairs(centers), { x: 'x', y: 'y', r: 2.6, fill: 'var(--accent)', clip: true }),
    ],
  }
}

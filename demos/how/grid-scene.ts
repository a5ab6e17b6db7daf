/** The grid of codewords of product quantization, and how Cartesian k-means turns it. */
import { showNumber } from '../shell/dom.ts'
import type { GridFacts, GridStep } from './grid-task.ts'
import type { Scene } from './scene.ts'
import { GRID_SETTING } from './settings.ts'

export interface GridScene extends Scene {
  readonly rounds: number
  /** Which of the shown rounds; 0 is product quantization. */
  round: number
}

export function gridScene({ points, steps }: GridFacts): GridScene {
  const places = points.data as Float32Array
  const errors = steps.map(({ decoded }) => meanSquared(places, decoded.data as Float32Array))
  const everything = Array.from({ length: points.rows }, (_, i) => i)
  const shown = (step: string): GridStep => steps[step === 'grid' ? 0 : scene.round]
  const scene: GridScene = {
    points: places,
    rounds: steps.length - 1,
    round: 0,
    first: 0,
    draw(pen, step, selected, { ink, soft, accent }) {
      const { grid, decoded } = shown(step)
      const at = (i: number, j: number): number => i * GRID_SETTING.codewords + j
      const corner = (index: number): [number, number] => [grid.data[2 * index], grid.data[2 * index + 1]]
      for (let i = 0; i < GRID_SETTING.codewords; i++) {
        const last = GRID_SETTING.codewords - 1
        const order = sortedAlong(grid.data as Float32Array, i, at)
        pen.line(...corner(order.row[0]), ...corner(order.row[last]), soft, 1)
        pen.line(...corner(order.column[0]), ...corner(order.column[last]), soft, 1)
      }
      pen.dots(places, everything, 2, soft)
      pen.dots(
        grid.data as Float32Array,
        Array.from({ length: grid.rows }, (_, i) => i),
        5,
        accent,
      )
      const [x, y] = [places[2 * selected], places[2 * selected + 1]]
      const [toX, toY] = [decoded.data[2 * selected], decoded.data[2 * selected + 1]]
      pen.line(x, y, toX, toY, ink, 2)
      pen.ring(toX, toY, 9, ink)
      pen.dots(places, [selected], 5, ink)
    },
    readout(step, selected) {
      const { round, decoded } = shown(step)
      const error = errors[step === 'grid' ? 0 : scene.round]
      const own = Math.hypot(
        places[2 * selected] - decoded.data[2 * selected],
        places[2 * selected + 1] - decoded.data[2 * selected + 1],
      )
      const name = round === 0 ? 'Product quantization' : `Cartesian k-means, round ${round}`
      const against = round === 0 ? '' : `, ${(errors[0] / error).toFixed(1)} times as small as without a rotation`
      const size = round > 0 && error > errors[0] ? `, product quantization has ${showNumber(errors[0])}` : against
      return `${name}: mean squared error ${showNumber(error)}${size}.\nThis point is ${showNumber(own)} from its grid point.`
    },
    facts: (selected) => ({
      error: String(errors[scene.round]),
      decoded: [
        steps[scene.round].decoded.data[2 * selected],
        steps[scene.round].decoded.data[2 * selected + 1],
      ].join(),
    }),
  }
  return scene
}

/** The grid points of a row and of a column, in the order in which they lie: codewords have none. */
function sortedAlong(grid: Float32Array, line: number, at: (i: number, j: number) => number) {
  const sorted = (indices: number[]): number[] => {
    const [first] = indices
    const far = indices.reduce((most, one) => (distance(grid, first, one) > distance(grid, first, most) ? one : most))
    return indices.sort((a, b) => distance(grid, far, a) - distance(grid, far, b))
  }
  const all = Array.from({ length: GRID_SETTING.codewords }, (_, i) => i)
  return { row: sorted(all.map((j) => at(line, j))), column: sorted(all.map((i) => at(i, line))) }
}

function distance(grid: Float32Array, a: number, b: number): number {
  return Math.hypot(grid[2 * a] - grid[2 * b], grid[2 * a + 1] - grid[2 * b + 1])
}

function meanSquared(points: Float32Array, decoded: Float32Array): number {
  return points.reduce((sum, value, i) => sum + (value - decoded[i]) ** 2, 0) / (points.length / 2)
}

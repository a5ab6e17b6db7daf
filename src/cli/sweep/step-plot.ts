/** The distortion of every step of a sweep as letters, for terminals. */
import type { SweepStep } from '../../index.ts'
import { number } from '../format.ts'

const WIDTH = 60
const HEIGHT = 10

/** Lines of text: k runs to the right on a logarithmic scale. The elbow is marked with E. Empty for a single step. */
export function stepPlot(steps: readonly Pick<SweepStep, 'k' | 'distortion'>[], elbow: number | undefined): string[] {
  if (steps.length < 2) return []
  const [first, last] = [steps[0], steps[steps.length - 1]]
  const high = Math.max(...steps.map(({ distortion }) => distortion))
  const low = Math.min(...steps.map(({ distortion }) => distortion))
  const places = steps.map(({ k, distortion }) => ({
    k,
    column: Math.round((Math.log(k / first.k) / Math.log(last.k / first.k)) * (WIDTH - 1)),
    row: high > low ? ((high - distortion) / (high - low)) * (HEIGHT - 1) : HEIGHT - 1,
  }))
  const grid = Array.from({ length: HEIGHT }, () => new Array<string>(WIDTH).fill(' '))
  for (let i = 1; i < places.length; i++) {
    const [from, to] = [places[i - 1], places[i]]
    for (let column = from.column + 1; column < to.column; column++) {
      const share = (column - from.column) / (to.column - from.column)
      grid[Math.round(from.row + share * (to.row - from.row))][column] = '·'
    }
  }
  for (const { k, column, row } of places) grid[Math.round(row)][column] = k === elbow ? 'E' : '●'
  const [top, bottom] = [number(Number(high.toPrecision(4))), number(Number(low.toPrecision(4)))]
  const margin = Math.max(top.length, bottom.length)
  const label = (row: number): string => (row === 0 ? top : row === HEIGHT - 1 ? bottom : '').padStart(margin)
  const [left, right] = [number(first.k), `${number(last.k)} clusters`]
  return [
    ...grid.map((cells, row) => `${label(row)} │${cells.join('').trimEnd()}`),
    `${' '.repeat(margin)} └${'─'.repeat(WIDTH)}`,
    `${' '.repeat(margin + 2)}${left}${right.padStart(WIDTH - left.length)}`,
  ]
}

/** Distortion over time as letters, for terminals. */
import { number } from '../format.ts'

export interface TextCurve {
  readonly letter: string
  /** Seconds and distortion, in order. */
  readonly points: readonly (readonly [number, number])[]
}

const WIDTH = 60
const HEIGHT = 12

/** Lines of text; time runs to the right on a logarithmic scale. Empty where there is nothing to draw. */
export function textPlot(curves: readonly TextCurve[], seconds: number): string[] {
  const drawn = curves.filter(({ points }) => points.length > 0)
  const all = drawn.flatMap(({ points }) => points)
  if (all.length === 0) return []
  // Not by Math.min(...all): quick methods go hundreds of thousands of rounds, more than a call takes.
  const low = all.reduce((least, [, y]) => Math.min(least, y), Infinity)
  const high = heightOf(drawn, low)
  const first = all.reduce((least, [x]) => (x > 0 ? Math.min(least, x) : least), seconds / 10)
  const timeAt = (column: number): number => first * (seconds / first) ** (column / (WIDTH - 1))
  const grid = Array.from({ length: HEIGHT }, () => new Array<string>(WIDTH).fill(' '))
  // The first are the best, and drawn last: nothing hides them.
  for (const { letter, points } of [...drawn].reverse()) {
    let reached = 0
    for (let column = 0; column < WIDTH; column++) {
      while (reached < points.length && points[reached][0] <= timeAt(column) * 1.0001) reached++
      const y = points[reached - 1]?.[1]
      if (y === undefined || y > high) continue
      const row = high > low ? Math.round(((high - y) / (high - low)) * (HEIGHT - 1)) : HEIGHT - 1
      grid[row][column] = letter
    }
  }
  const [top, bottom] = [number(Number(high.toPrecision(4))), number(Number(low.toPrecision(4)))]
  const margin = Math.max(top.length, bottom.length)
  const label = (row: number): string => (row === 0 ? top : row === HEIGHT - 1 ? bottom : '').padStart(margin)
  const [left, right] = [`${number(Number(first.toPrecision(2)))} s`, `${number(seconds)} s`]
  return [
    ...grid.map((cells, row) => `${label(row)} │${cells.join('').trimEnd()}`),
    `${' '.repeat(margin)} └${'─'.repeat(WIDTH)}`,
    `${' '.repeat(margin + 2)}${left}${right.padStart(WIDTH - left.length)}`,
  ]
}

/** High enough for every end, and for most of the way there. */
function heightOf(curves: readonly TextCurve[], low: number): number {
  const needed = curves.map(({ points }) => {
    const falling = points.map(([, y]) => y).sort((a, b) => b - a)
    return falling[Math.min(falling.length - 1, Math.ceil(falling.length / 10))]
  })
  return Math.max(low * 1.001, ...needed)
}

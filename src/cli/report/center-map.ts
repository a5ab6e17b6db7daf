/** Where the centres lie: in the plane they spread in most, each as large as its cluster. */
import { type Matrix, matrix, principalAxes } from '../../index.ts'
import { count, percent } from '../format.ts'
import type { Drawing } from './charts/drawing.ts'
import { type MapDot, type MapFrame, mapChart } from './charts/map.ts'
import type { Markup } from './markup.ts'

/** A circle each; the largest clusters where there are more. */
const MOST_DOTS = 2000
/** Numbers that axes are found from: a second of work at most. */
const MOST_NUMBERS = 1_500_000
/** Height of a map against its width: flatter ones are drawn with room above and below. */
const FLATTEST = 0.5
const TALLEST = 1

export interface MappedRun {
  readonly centers: Matrix
  /** Undefined if unknown: all centres then have equal weight. */
  readonly sizes: Uint32Array | undefined
}

export interface CenterMaps {
  readonly pictures: readonly Markup[]
  readonly caption: string
}

/** One picture a run, all in the same plane and frame. Undefined where there is no plane: all centres are one. */
export function centerMaps(
  drawing: Drawing,
  runs: readonly MappedRun[],
  colors: readonly string[] = [],
): CenterMaps | undefined {
  const shown = runs.map(largestOf)
  const { cols } = runs[0].centers
  const places = cols === 1 ? alongALine(shown) : cols === 2 ? asTheyAre(shown) : inThePlane(shown)
  const frame = frameOf(places.at.flat(), cols > 1)
  if (frame === undefined) return undefined
  const pictures = places.at.map((dots, i) =>
    mapChart(drawing, dots, {
      frame,
      names: places.names,
      square: cols > 1,
      ...(colors[i] ? { color: colors[i] } : {}),
    }),
  )
  const left = shown.some(({ left }) => left > 0)
    ? ` Only the ${MOST_DOTS.toLocaleString('en')} largest clusters${runs.length > 1 ? ' of a run' : ''} are drawn.`
    : ''
  const sized = runs.some(({ sizes }) => sizes === undefined)
    ? 'All are drawn alike, as sizes are not known.'
    : 'The area of a circle is the number of points.'
  return { pictures, caption: `${places.words} ${sized}${left}` }
}

interface Shown {
  readonly centers: Matrix
  readonly sizes: readonly number[]
  readonly numbers: readonly number[]
  readonly left: number
}

/** Centres of clusters that have points, largest first: so small circles are drawn over large ones. */
function largestOf({ centers, sizes }: MappedRun): Shown {
  const { rows, cols, data } = centers
  const size = (cluster: number): number => sizes?.[cluster] ?? 1
  const order = Array.from({ length: rows }, (_, i) => i)
    .filter((cluster) => size(cluster) > 0)
    .sort((a, b) => size(b) - size(a) || a - b)
  const numbers = order.slice(0, MOST_DOTS)
  const chosen = new Float32Array(numbers.length * cols)
  numbers.forEach((cluster, i) => {
    chosen.set(data.subarray(cluster * cols, (cluster + 1) * cols), i * cols)
  })
  const left = order.length - numbers.length
  return { centers: matrix(chosen, numbers.length, cols), sizes: numbers.map(size), numbers, left }
}

interface Places {
  readonly at: readonly (readonly MapDot[])[]
  readonly names: readonly [string, string]
  readonly words: string
}

function dotOf({ sizes, numbers }: Shown, i: number, x: number, y: number): MapDot {
  return { x, y, size: sizes[i], title: `cluster ${numbers[i]}: ${count(sizes[i], 'point')}` }
}

function alongALine(shown: readonly Shown[]): Places {
  const at = shown.map((run) => run.sizes.map((size, i) => dotOf(run, i, run.centers.data[i], size)))
  const words = 'There is one dimension: centres lie along it, and higher up the more points they have.'
  return { at, names: ['value', 'points'], words }
}

function asTheyAre(shown: readonly Shown[]): Places {
  const at = shown.map((run) =>
    run.sizes.map((_, i) => dotOf(run, i, run.centers.data[2 * i], run.centers.data[2 * i + 1])),
  )
  return {
    at,
    names: ['first column', 'second column'],
    words: 'There are two dimensions, and this is the plane of both.',
  }
}

function inThePlane(shown: readonly Shown[]): Places {
  const { cols } = shown[0].centers
  // Of each run its largest clusters, as many as can be afforded.
  const rows = Math.max(2, Math.floor(MOST_NUMBERS / cols / shown.length))
  const sample = shown.map(({ centers, sizes }) => {
    const taken = Math.min(rows, sizes.length)
    return { data: centers.data.subarray(0, taken * cols), sizes: sizes.slice(0, taken) }
  })
  const weights = sample.flatMap(({ sizes }) => sizes)
  const pooled = new Float32Array(weights.length * cols)
  let filled = 0
  for (const { data } of sample) {
    pooled.set(data, filled)
    filled += data.length
  }
  const { project, shares } = principalAxes(matrix(pooled, weights.length, cols), 2, weights)
  const at = shown.map((run) => {
    const { data } = project(run.centers)
    return run.sizes.map((_, i) => dotOf(run, i, data[2 * i], data[2 * i + 1]))
  })
  const words = `The plane in which the centres spread most (principal components, clusters counting by size); ${percent(shares[0] + shares[1])} of their spread lies in it.`
  return { at, names: ['first principal component', 'second'], words }
}

/** All dots and some room for their circles; undefined where they are all in one place. */
function frameOf(dots: readonly MapDot[], square: boolean): MapFrame | undefined {
  const [x, y] = [(dot: MapDot) => dot.x, (dot: MapDot) => dot.y].map((of) => {
    let [low, high] = [Infinity, -Infinity]
    for (const dot of dots) {
      low = Math.min(low, of(dot))
      high = Math.max(high, of(dot))
    }
    return [low, high] as const
  })
  const [width, height] = [x[1] - x[0], y[1] - y[0]]
  if (!(width > 0) && !(square && height > 0)) return undefined
  if (!square) return { x: widened(x, width * 1.16), y: [0, y[1] * 1.2] }
  const across = 1.16 * Math.max(width, height / TALLEST)
  const up = Math.max(1.16 * height, FLATTEST * across)
  return { x: widened(x, across), y: widened(y, up) }
}

function widened([low, high]: readonly [number, number], length: number): [number, number] {
  const middle = (low + high) / 2
  return [middle - length / 2, middle + length / 2]
}

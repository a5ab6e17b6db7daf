/** Random mixtures of spherical Gaussians that lie apart, with a known number of modes. */
import { createRandom, type Matrix, matrix, type Random } from '../../src/index.ts'

export interface SeparatedMixture {
  readonly seed: number
  readonly vectors: Matrix
  /** The means of the modes, one per row. */
  readonly modes: Matrix
  /** Vectors of each mode. */
  readonly counts: readonly number[]
  readonly unequalSizes: boolean
  readonly unequalWidths: boolean
  /** The smallest distance between two modes, in standard deviations of the widest mode. */
  readonly separation: number
}

const COLS = [2, 256] as const
const MODES = [5, 100] as const
const PER_MODE = [20, 2000] as const
/** Vectors times dimensions: larger cases get fewer vectors. */
const MOST_NUMBERS = 4e6
/** The least distance between two modes, in standard deviations of the widest. */
const GAP = 8
/** Widths that differ do so by at most this factor. */
const WIDTH_RANGE = 4
/** The side of the box that modes are drawn in, in gaps: 100 modes just fit in 2 dimensions without many attempts. */
const ROOM = 1.6

/** Case number `index` of a series: of four in a row, two have unequal sizes and two unequal widths. */
export function separatedMixture(firstSeed: number, index: number): SeparatedMixture {
  const seed = firstSeed + index
  const random = createRandom(seed)
  const unequalSizes = index % 2 === 1
  const unequalWidths = index % 4 >= 2
  const cols = logUniform(random, COLS)
  const k = logUniform(random, MODES)
  const perMode = logUniform(random, PER_MODE)
  const modes = drawModes(random, k, cols)
  const widths = Array.from({ length: k }, () => (unequalWidths ? WIDTH_RANGE ** -random.uniform() : 1))
  const counts = affordable(
    Array.from({ length: k }, () => (unequalSizes ? perMode * Math.exp(random.normal()) : perMode)),
    cols,
  )
  return {
    seed,
    vectors: drawVectors(random, modes, widths, counts),
    modes,
    counts,
    unequalSizes,
    unequalWidths,
    separation: nearestPair(modes) / Math.max(...widths),
  }
}

function logUniform(random: Random, [least, most]: readonly [number, number]): number {
  return Math.round(least * (most / least) ** random.uniform())
}

function drawModes(random: Random, k: number, cols: number): Matrix {
  const side = GAP * ROOM * k ** (1 / cols)
  const data = new Float32Array(k * cols)
  for (let drawn = 0; drawn < k; ) {
    const mode = data.subarray(drawn * cols, (drawn + 1) * cols)
    for (let col = 0; col < cols; col++) mode[col] = side * random.uniform()
    let apart = true
    for (let other = 0; other < drawn && apart; other++) {
      apart = squaredDistance(data, drawn, other, cols) >= GAP ** 2
    }
    if (apart) drawn++
  }
  return matrix(data, k, cols)
}

/** Whole numbers within the range, fewer where there would be too many. */
function affordable(wanted: readonly number[], cols: number): number[] {
  const [least, most] = PER_MODE
  const within = (count: number): number => Math.max(least, Math.min(most, Math.round(count)))
  const counts = wanted.map(within)
  const numbers = cols * counts.reduce((sum, count) => sum + count, 0)
  return numbers <= MOST_NUMBERS ? counts : counts.map((count) => within((count * MOST_NUMBERS) / numbers))
}

function drawVectors(
  random: Random,
  { data: modes, cols }: Matrix,
  widths: readonly number[],
  counts: readonly number[],
): Matrix {
  const order = Uint32Array.from(counts.flatMap((count, mode) => Array<number>(count).fill(mode)))
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const kept = order[i]
    order[i] = order[j]
    order[j] = kept
  }
  const data = new Float32Array(order.length * cols)
  order.forEach((mode, row) => {
    for (let col = 0; col < cols; col++) {
      data[row * cols + col] = modes[mode * cols + col] + widths[mode] * random.normal()
    }
  })
  return matrix(data, order.length, cols)
}

function nearestPair({ data, rows, cols }: Matrix): number {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < i; j++) least = Math.min(least, squaredDistance(data, i, j, cols))
  }
  return Math.sqrt(least)
}

function squaredDistance(data: ArrayLike<number>, i: number, j: number, cols: number): number {
  let sum = 0
  for (let col = 0; col < cols; col++) sum += (data[i * cols + col] - data[j * cols + col]) ** 2
  return sum
}

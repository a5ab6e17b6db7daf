/** Made-up vectors whose clusters are known. */
import { flag, type Given, type OptionChecks, optionsOf, real, whole } from '../core/arguments.ts'
import { badOption, CentroidalError } from '../core/errors.ts'
import type { Matrix } from '../core/matrix.ts'
import type { Random } from '../core/random.ts'
import { createRandom, shuffle } from '../core/random.ts'

/** What blobs to make. */
export interface BlobsOptions {
  /** Vectors. */
  readonly rows: number
  /** Dimensions. */
  readonly cols: number
  /** Blobs, of equal size. */
  readonly clusters: number
  /** Standard deviation of every coordinate around its center. Default 1. */
  readonly spread?: number | undefined
  /** Same seed, same vectors. Default 0. */
  readonly seed?: number | undefined
  /** Centers so far apart that every row is nearest to its own. Default false: they lie anywhere and blobs may overlap. */
  readonly separated?: boolean | undefined
}

/** Vectors around known centers. */
export interface Blobs {
  /** In random order. */
  readonly vectors: Matrix<Float32Array>
  /** Which center each row was drawn around. */
  readonly labels: Uint32Array
  /** What the vectors were drawn around. */
  readonly centers: Matrix<Float32Array>
}

/** Centers that need not be separated lie between minus and plus this. */
const CENTER_RANGE = 10

/** What is made stays within a few gigabytes, and within what a Set of centers can hold. */
const MOST_NUMBERS = 2 ** 28
const MOST_CLUSTERS = 2 ** 20
/** Larger spreads leave the range of 32-bit floats. */
const LARGEST_SPREAD = 1e30

const CHECKS: OptionChecks<BlobsOptions> = {
  rows: whole(1, MOST_NUMBERS),
  cols: whole(1, MOST_NUMBERS),
  clusters: whole(1, MOST_CLUSTERS),
  spread: real(0, LARGEST_SPREAD),
  seed: whole(0),
  separated: flag,
}

/**
 * Made-up vectors whose clusters are known: normal blobs of equal size (give or take one row), in random order. At most
 * 2^28 numbers, and 2^20 clusters.
 *
 * @example
 * ```ts
 * import { blobs } from 'centroidal'
 *
 * const { vectors, labels, centers } = blobs({ rows: 100, cols: 2, clusters: 4, spread: 0.1, seed: 7 })
 * vectors.rows // => 100
 * centers.rows // => 4
 * labels.filter((label) => label === 0).length // => 25
 * ```
 */
export function blobs(options: BlobsOptions): Blobs {
  const required = ['rows', 'cols', 'clusters'] as const
  const {
    rows,
    cols,
    clusters,
    spread = 1,
    seed = 0,
    separated = false,
  } = optionsOf('blobs', options, CHECKS, required)
  if (rows * cols > MOST_NUMBERS) {
    throw badOption('rows', rows, `${rows} x ${cols} numbers are too many; give at most ${MOST_NUMBERS} in all.`)
  }
  if (clusters > rows) throw badOption('clusters', clusters, `give at most as many as rows, ${rows}.`)
  try {
    return make({ rows, cols, clusters, spread, seed, separated })
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    const message = `There is no memory for ${rows} x ${cols} numbers: give fewer rows or columns.`
    throw new CentroidalError('out-of-memory', message, { cause })
  }
}

function make({ rows, cols, clusters, spread, seed, separated }: Required<Given<BlobsOptions>>): Blobs {
  const random = createRandom(seed)
  const place = separated ? latticeCenters : scatteredCenters
  const centers = place(random.fork(0), clusters, cols, spread)
  const labels = new Uint32Array(rows)
  for (let row = 0; row < rows; row++) labels[row] = row % clusters
  shuffle(random.fork(1), labels)

  const noise = random.fork(2)
  const data = new Float32Array(rows * cols)
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) {
      data[row * cols + col] = centers[labels[row] * cols + col] + spread * noise.normal()
    }
  }
  return { vectors: { rows, cols, data }, labels, centers: { rows: clusters, cols, data: centers } }
}

function scatteredCenters(random: Random, clusters: number, cols: number): Float32Array {
  return Float32Array.from({ length: clusters * cols }, () => (2 * random.uniform() - 1) * CENTER_RANGE)
}

/**
 * Different points of a grid. The rows of a blob lie about sqrt(cols) spreads from their center; the grid leaves half a
 * step of six spreads more, so that a row of another blob is never nearer.
 */
function latticeCenters(random: Random, clusters: number, cols: number, spread: number): Float32Array {
  const step = 2 * (Math.sqrt(cols) + 6) * (spread || 1)
  // At least twice the points needed, so that drawing again after a collision soon ends.
  const side = Math.max(2, Math.ceil((2 * clusters) ** (1 / cols)))
  const taken = new Set<string>()
  const centers = new Float32Array(clusters * cols)
  while (taken.size < clusters) {
    const point = Array.from({ length: cols }, () => random.below(side))
    const key = point.join()
    if (taken.has(key)) continue
    centers.set(
      point.map((coordinate) => (coordinate - (side - 1) / 2) * step),
      taken.size * cols,
    )
    taken.add(key)
  }
  return centers
}

/** Random clustering problems that are small, valid and awkward, and their results as bits. */
import { type ClusterModel, type ClusterOptions, type Matrix, METHODS, type MethodName, matrix } from '../src/index.ts'
import type { Draw } from './draw.ts'

export interface Problem {
  readonly vectors: Matrix
  /** Without a device. */
  readonly options: ClusterOptions & { readonly method: MethodName }
  /** For the note of a case. */
  readonly text: string
}

export interface ProblemLimits {
  readonly methods?: readonly MethodName[]
  readonly mostRows?: number
  readonly mostCols?: number
  /** Options of methods are drawn too. Default true. */
  readonly settings?: boolean
}

export const METHOD_NAMES = Object.keys(METHODS) as MethodName[]

/** Shapes that kernels treat differently: around 4, 8, 16 and 64. */
const COLUMNS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33]

export function drawProblem(draw: Draw, limits: ProblemLimits = {}): Problem {
  const { methods = METHOD_NAMES, mostRows = 70, mostCols = 33, settings = true } = limits
  const method = draw.pick(methods)
  const rows = draw.pick([1, 2, 3, 4, 5, draw.between(6, 20), draw.between(10, mostRows), mostRows])
  const cols = Math.min(mostCols, draw.pick(COLUMNS))
  const { vectors, kind } = drawVectors(draw, rows, cols)
  const { findsCount, weights: takesWeights, options: own } = METHODS[method]
  const options: Record<string, unknown> = {
    method,
    seed: draw.below(1000),
    iterations: draw.between(1, 8),
    tolerance: draw.pick([0, 1e-4]),
  }
  if (!findsCount) options.k = draw.pick([1, 2, draw.between(1, rows), Math.min(rows, draw.between(1, 9)), rows])
  options.k = findsCount ? undefined : Math.min(rows, options.k as number)
  if (options.k === undefined) delete options.k
  if (draw.chance(0.3)) options.metric = 'cosine'
  if (draw.chance(0.2)) options.empty = 'keep'
  if (draw.chance(0.15)) options.restarts = 2
  if (draw.chance(0.4) && takesWeights !== false) options.weights = drawWeights(draw, rows)
  if (draw.chance(0.4) && !findsCount) {
    options.start = draw.pick(['none', 'random', 'kpp', 'parallel', 'tree', 'hkm', 'bisecting'])
  }
  if (settings) {
    for (const option of own) if (draw.chance(0.25)) options[option.name] = drawSetting(draw, option)
  }
  const text = `${rows} x ${cols} ${kind}, ${JSON.stringify(options)}`
  return { vectors, options: options as unknown as Problem['options'], text }
}

function drawSetting(
  draw: Draw,
  { kind, choices, least = 0, most = 64 }: (typeof METHODS)['lloyd']['options'][number],
): unknown {
  if (kind === 'switch') return draw.chance(0.5)
  if (kind === 'choice') return draw.pick(choices ?? [])
  const top = Math.min(most, least + 64)
  if (kind === 'whole') return draw.pick([least, least + 1, draw.between(least, top)])
  return least + draw.real() * Math.min(top - least, 2)
}

/** Few distinct values, so that ties, duplicates and empty clusters are common. */
export function drawVectors(draw: Draw, rows: number, cols: number): { vectors: Matrix; kind: string } {
  const kind = draw.pick(['blobs', 'blobs', 'grid', 'copies', 'multiples', 'bytes', 'line', 'far', 'zeros'] as const)
  const data = kind === 'bytes' ? new Uint8Array(rows * cols) : new Float32Array(rows * cols)
  const seeds = draw.between(1, 5)
  const row = (seed: number, j: number): number => Math.sin(seed * 12.9898 + j * 78.233) * 10
  for (let i = 0; i < rows; i++) {
    const seed = draw.below(seeds)
    const factor = draw.between(1, 4)
    for (let j = 0; j < cols; j++) {
      const value = {
        blobs: row(seed, j) + draw.normal(),
        grid: draw.below(3),
        copies: row(seed, j),
        multiples: Math.fround(row(seed, j)) * factor,
        bytes: draw.below(256),
        line: j === 0 ? i : 1,
        far: 1e5 + draw.normal(),
        zeros: draw.chance(0.8) ? 0 : draw.normal(),
      }[kind]
      data[i * cols + j] = value
    }
  }
  return { vectors: matrix(data, rows, cols), kind }
}

function drawWeights(draw: Draw, rows: number): number[] {
  const zeros = draw.pick([0, 0.3, 0.8])
  const weight = (): number => (draw.chance(zeros) ? 0 : draw.pick([1, 2, 3, 0.25, draw.real() + 0.01]))
  const weights = Array.from({ length: rows }, weight)
  if (Math.max(...weights) === 0) weights[draw.below(rows)] = 1
  return weights.map(Math.fround)
}

/** Everything of a model that must be the same in a run that should be the same. */
export function partsOf(model: ClusterModel): Record<string, unknown> {
  const { centers, labels, tree, weights, sigmas, facts } = model
  return {
    centers: centers.data,
    labels,
    tree,
    weights,
    sigmas,
    stopped: facts.stopped,
    // Seconds differ by nature.
    iterations: facts.iterations.map(({ seconds: _, ...rest }) => rest),
  }
}

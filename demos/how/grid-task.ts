/** What the explanation of Cartesian k-means shows, computed by the library in the worker. */
import { createRandom, type Matrix, matrix, trainQuantizer } from '../../src/index.ts'
import type { TaskContext } from '../engine/task.ts'
import { GRID_ROUNDS, GRID_SETTING } from './settings.ts'

/** Of a codeword's number. */
const CODE_BITS = 4

export interface GridStep {
  readonly round: number
  /** Each combination of codewords: [codewords * codewords][2]. */
  readonly grid: Matrix
  /** What the codes of each point stand for. */
  readonly decoded: Matrix
}

export interface GridFacts {
  readonly points: Matrix
  /** Product quantization first: its grid keeps the axes. Then Cartesian k-means after each round. */
  readonly steps: readonly GridStep[]
}

export async function* explainGridTask(
  _: undefined,
  { device, signal }: TaskContext,
): AsyncGenerator<never, GridFacts> {
  const { m, codewords, seed } = GRID_SETTING
  const points = slantedPoints()
  const steps: GridStep[] = []
  for (const round of GRID_ROUNDS) {
    signal.throwIfAborted()
    // The same seed gives the same rounds: a training of r rounds ends where a longer one is after r.
    const options = { m, codewords, seed, tolerance: 0, device }
    const quantizer =
      round === 0
        ? await trainQuantizer(points, { ...options, type: 'pq', iterations: 32 })
        : await trainQuantizer(points, { ...options, type: 'ck', iterations: round })
    // Two numbers of four bits share a byte.
    const all = Uint8Array.from(
      { length: codewords * codewords },
      (_, i) => Math.floor(i / codewords) | ((i % codewords) << CODE_BITS),
    )
    const grid = await quantizer.decode(matrix(all, codewords * codewords, 1), { device })
    const decoded = await quantizer.decode(await quantizer.encode(points, { device }), { device })
    steps.push({ round, grid, decoded })
  }
  return { points, steps }
}

/** Groups on a grid that is turned against the axes. */
export function slantedPoints(): Matrix {
  const { n, seed } = GRID_SETTING
  const random = createRandom(seed)
  const data = new Float32Array(2 * n)
  const [cos, sin] = [Math.cos(0.6), Math.sin(0.6)]
  for (let i = 0; i < n; i++) {
    const u = (random.below(5) - 2) * 0.15 + 0.02 * random.normal()
    const v = (random.below(5) - 2) * 0.1 + 0.014 * random.normal()
    data[2 * i] = 0.5 + u * cos - v * sin
    data[2 * i + 1] = 0.5 + u * sin + v * cos
  }
  return matrix(data, n, 2)
}

/** What the explanations show, computed by the library in the worker. */
import {
  cluster,
  createRandom,
  type Matrix,
  matrix,
  partitionTrees,
  type TreeLeaves,
  trainQuantizer,
} from '../../src/index.ts'
import type { TaskContext } from '../engine/task.ts'
import { shapePoints } from '../front/shapes.ts'
import { CLOSURE_SETTING, GRID_ROUNDS, GRID_SETTING, MOVE_SETTING } from './settings.ts'

type NoRounds<Result> = AsyncGenerator<never, Result>

export interface ClosureFacts {
  readonly points: Matrix
  readonly labels: Uint32Array
  readonly centers: Matrix
  readonly trees: readonly TreeLeaves[]
  /** Centres evaluated per point in the last round, as the library counted them. */
  readonly candidates: number
  /** Labels that changed in that round. */
  readonly moved: number
}

// biome-ignore lint/correctness/useYield: it has no rounds, only a result
export async function* explainClosuresTask(_: undefined, { device }: TaskContext): NoRounds<ClosureFacts> {
  const { n, k, trees, leafSize, seed } = CLOSURE_SETTING
  const points = shapePoints('galaxy', n, seed)
  const model = await cluster(points, {
    k,
    method: 'closures',
    neighborhoods: 'static',
    trees,
    leafSize,
    seed,
    start: 'random',
    relocate: false,
    tolerance: 0,
    iterations: 200,
    device,
  })
  const { candidates, moved } = model.facts.iterations[model.facts.iterations.length - 1]
  const { labels, centers } = model
  // The method grows its trees from the same seed.
  return {
    points,
    labels,
    centers,
    trees: await partitionTrees(points, { trees, leafSize, seed, device }),
    candidates,
    moved,
  }
}

export interface MoveFacts {
  readonly points: Matrix
  /** Where Lloyd's algorithm converged. */
  readonly labels: Uint32Array
  /** What k-means# of the library reaches from there: mean squared distance. */
  readonly sharp: number
}

// biome-ignore lint/correctness/useYield: it has no rounds, only a result
export async function* explainMovesTask(_: undefined, { device }: TaskContext): NoRounds<MoveFacts> {
  const { n, k, seed } = MOVE_SETTING
  const points = shapePoints('rings', n, seed)
  const common = { seed, relocate: false, tolerance: 0, iterations: 200, device } as const
  const lloyd = await cluster(points, { ...common, k, method: 'lloyd', start: 'random' })
  const sharp = await cluster(points, { ...common, k, method: 'sharp', start: lloyd.centers, batch: 1 })
  return { points, labels: lloyd.labels, sharp: sharp.distortion }
}

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

export async function* explainGridTask(_: undefined, { device, signal }: TaskContext): NoRounds<GridFacts> {
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

/** What the explanations of clustering show, computed by the library in the worker. */
import { cluster, type Matrix, partitionTrees, type TreeLeaves } from '../../src/index.ts'
import type { TaskContext } from '../engine/task.ts'
import { shapePoints } from '../front/shapes.ts'
import { CLOSURE_SETTING, MOVE_SETTING } from './settings.ts'

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

/** Several scores of the same clustering from the same two passes over the vectors. */
import { bicOfSums } from './bic.ts'
import { mostAlike } from './cluster-scores.ts'
import { Pace } from './pace.ts'
import type { ScatterSums } from './scatter-sums.ts'
import type { ScoreOptions } from './silhouette.ts'

export interface JointScores {
  readonly bic: number
  /** Undefined for one cluster, and for a cluster of every vector, as the functions of these names refuse them. */
  readonly daviesBouldin: number | undefined
  readonly calinskiHarabasz: number | undefined
}

/** What `bic`, `daviesBouldin` and `calinskiHarabasz` give, to the bit. */
export async function scoresOfSums(sums: ScatterSums, watch: ScoreOptions = {}): Promise<JointScores> {
  const { rows, cols, sizes, means, distances, squares, between } = sums
  const bic = bicOfSums(sums)
  const k = sizes.length
  if (k < 2 || k >= rows) return { bic, daviesBouldin: undefined, calinskiHarabasz: undefined }
  const pace = new Pace((k * k * cols) / 2, watch)
  const worst = await mostAlike(
    means,
    distances.map((sum, c) => sum / sizes[c]),
    pace,
  )
  const within = squares.reduce((sum, value) => sum + value, 0)
  return {
    bic,
    daviesBouldin: worst.reduce((sum, value) => sum + value, 0) / k,
    calinskiHarabasz: within === 0 ? 1 : (between * (rows - k)) / (within * (k - 1)),
  }
}

/** What a sweep found out. */
import type { MethodName } from '../../models/method-names.ts'
import type { ClusterModel } from '../../models/model.ts'
import type { SweepRange } from './options.ts'

/** One number of clusters, with the scores of its clustering. */
export interface SweepStep {
  /** The number of clusters. */
  readonly k: number
  /** The method that ran, given or chosen automatically. */
  readonly method: MethodName
  /** Mean squared distance of a vector to the centre of its cluster. It falls with k whatever the data is. */
  readonly distortion: number
  /** Sum of the squared distances: the distortion times the number of vectors. */
  readonly inertia: number
  /**
   * The Bayesian information criterion, see {@link bic}; for `gmm` that of the mixture. Lower is better. For more than 5,000
   * vectors this and the scores below are computed on the device, in 32 bits.
   */
  readonly bic: number
  /** The mean silhouette coefficient, -1 to 1, see {@link silhouette}. Higher is better. Undefined for 1 cluster. */
  readonly silhouette: number | undefined
  /** The Davies-Bouldin index, see {@link daviesBouldin}. Lower is better. Undefined for 1 cluster. */
  readonly daviesBouldin: number | undefined
  /** The Calinski-Harabasz index, see {@link calinskiHarabasz}. Higher is better. Undefined for 1 cluster. */
  readonly calinskiHarabasz: number | undefined
  /**
   * How far the clusterings of different seeds agree: the mean adjusted Rand index of all pairs, 1 where all are the same,
   * about 0 if they are unrelated. Of more than 4,096 vectors it is measured on a random sample, which the other seeds
   * cluster instead of all vectors: see `stabilityRows`. Undefined for one seed, and for 1 cluster.
   */
  readonly stability: number | undefined
  /** How many vectors the stability is measured on. Undefined where there is no stability. */
  readonly stabilityRows: number | undefined
  /** Rounds of the clustering that counts. It began from clusters that were found in a sample or in fewer columns, or from the clustering with fewer clusters. */
  readonly rounds: number
  /** Wall time of the step: the clusterings of all seeds, and the scores. */
  readonly seconds: number
}

/**
 * The number of clusters that each score prefers. Undefined where no step has the score. Steps with fewer than 5 vectors to
 * a cluster on average are left out, as scores mean little there; so are they for the elbow and the advice.
 */
export interface SweepBest {
  /** Where the BIC is lowest. */
  readonly bic: number | undefined
  /** Where the silhouette is highest. */
  readonly silhouette: number | undefined
  /** Where the Davies-Bouldin index is lowest. */
  readonly daviesBouldin: number | undefined
  /** Where the Calinski-Harabasz index is highest. */
  readonly calinskiHarabasz: number | undefined
  /** Where the clusterings of different seeds agree most. */
  readonly stability: number | undefined
}

/** What {@link sweep} returns. */
export interface SweepResult {
  /** In rising order of k. */
  readonly steps: readonly SweepStep[]
  /**
   * The elbow of the distortion curve: the step that lies farthest below the straight line between the first and the last
   * one, with both axes logarithmic. Undefined where the curve has no clear bend.
   */
  readonly elbow: number | undefined
  /** The number of clusters each score prefers. */
  readonly best: SweepBest
  /** The recommended number of clusters. Undefined if there is none. */
  readonly advised: number | undefined
  /** A sentence that recommends a number of clusters, or what to try next. */
  readonly advice: string
  /** A range to try next, where a number that was not tried may fit better: the option `k` of another sweep. */
  readonly next: SweepRange | undefined
  /**
   * Which silhouette it is: that of all pairs of vectors for small sets (up to 5,000 vectors and 10^9 steps, n^2 d / 2), the
   * simplified one by the means of the clusters for larger ones; of more than 6,000 vectors, 4,000 are measured, and down
   * to 2,000 of wide ones.
   */
  readonly silhouetteForm: 'exact' | 'simplified'
  /** True where a signal stopped the sweep before its last step. */
  readonly aborted: boolean
  /** The best clustering with k clusters, k being that of one of the steps. Needs the option `keep`. */
  model(k: number): ClusterModel
}

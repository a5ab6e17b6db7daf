/** How certain the number of clusters is. */
export interface CountCertainty {
  /** The numbers of clusters that runs with other seeds found, each on a random half of the vectors. */
  readonly others: readonly number[]
  /** For each cluster, the mean Jaccard index with the most similar cluster of those runs, 0 to 1. */
  readonly stability: readonly number[]
  /** Clusters whose index is 0.75 or more. */
  readonly stable: number
  /** The same for people. */
  readonly sentence: string
}

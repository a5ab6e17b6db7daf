/** What a model says about vectors. */

/** Clusters of vectors, and how far their centres are. */
export interface Prediction {
  /** The cluster of each vector. */
  readonly labels: Uint32Array
  /** Squared distance to the centre, in the input's units. Squares above 3.4028235e38, the largest float, become that. */
  readonly distances: Float32Array
}

/** How vectors are shared among the components of a mixture. */
export interface Responsibilities {
  /** Components of each vector, the most responsible first: n x r. */
  readonly components: Uint32Array
  /** What part of the vector each of them has: n x r. */
  readonly shares: Float32Array
  /** Log of the density of the mixture at each vector. */
  readonly logLikelihoods: Float32Array
}

/** What a model says about vectors. */

/** Labels of vectors, and distances to their centres. */
export interface Prediction {
  /** The cluster of each vector. */
  readonly labels: Uint32Array
  /** Squared distance to the centre, in the input's units. Squares above 3.4028235e38, the largest float, become that. */
  readonly distances: Float32Array
}

/** Responsibilities of the components of a mixture. */
export interface Responsibilities {
  /** Components of each vector, the most responsible first: n x r. */
  readonly components: Uint32Array
  /** Responsibilities of these components: n x r. */
  readonly shares: Float32Array
  /** Log of the density of the mixture at each vector. */
  readonly logLikelihoods: Float32Array
}

/** The components of a mixture of spherical Gaussians, in the order of the centres. */
export interface Mixture {
  /** Their sum is 1. */
  readonly weights: Float64Array
  /** Of one column, in the points' frame. */
  readonly variances: Float64Array
}

/** The Bayesian information criterion of a model, from its density at all vectors: the same measure for every method. */
import type { ClusterModel, Device, Matrix } from '../../src/index.ts'

/** -2 log-likelihood + (number of parameters) ln(vectors): lower is better. */
export async function criterionOf(model: ClusterModel, vectors: Matrix, device: Device): Promise<number> {
  const { logLikelihoods } = await model.responsibilities(vectors, 1, { device })
  const logLikelihood = logLikelihoods.reduce((sum, value) => sum + value, 0)
  const { rows: k, cols } = model.centers
  // A mean, a variance and a weight for each component; the weights add up to 1.
  const parameters = k * (cols + 2) - 1
  return -2 * logLikelihood + parameters * Math.log(vectors.rows)
}

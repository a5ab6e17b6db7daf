import { describe, expect, test } from 'vitest'
import { cluster, matrix } from '../../src/index.ts'
import { CLUSTERING_DEVICES } from './devices.ts'
import { SPHERICAL_GMM as golden } from './golden/spherical-gmm.ts'

describe.each(CLUSTERING_DEVICES)('gmm on $name', ({ options: device }) => {
  test('agrees with scikit-learn from the same start', async () => {
    const { cols, rounds, sigma } = golden
    const points = matrix(Float32Array.from(golden.points), golden.points.length / cols, cols)
    const start = matrix(Float32Array.from(golden.start), 4, cols)
    const model = await cluster(points, {
      method: 'gmm',
      k: 4,
      start,
      sigma,
      // scikit-learn has no prior.
      prior: 0,
      iterations: rounds,
      tolerance: 0,
      device,
    })
    const last = model.facts.iterations[model.facts.iterations.length - 1]
    expect(Math.abs((last.extra?.logLikelihood ?? 0) - golden.logLikelihood)).toBeLessThan(1e-3)
    golden.means.forEach((mean, at) => {
      expect(Math.abs(model.centers.data[at] - mean)).toBeLessThan(1e-3)
    })
    golden.variances.forEach((variance, j) => {
      expect(Math.abs((model.sigmas?.[j] ?? 0) ** 2 - variance)).toBeLessThan(1e-3)
      expect(Math.abs((model.weights?.[j] ?? 0) - golden.weights[j])).toBeLessThan(1e-3)
    })
    const few = matrix(points.data.slice(0, 5 * cols), 5, cols)
    const { components, shares } = await model.responsibilities(few, 4, { device })
    shares.forEach((share, at) => {
      expect(Math.abs(share - golden.shares[Math.floor(at / 4) * 4 + components[at]])).toBeLessThan(1e-3)
    })
  })
})

/** Expanding Gaussian mixtures in plain 64-bit TypeScript: what both devices are compared with. */
export interface OracleMixture {
  readonly cols: number
  means: Float64Array
  weights: Float64Array
  variances: Float64Array
}

export interface OracleOptions {
  readonly lambda: number
  /** Undefined: no purge. */
  readonly tau: number | undefined
  readonly floor: number
  /** Shares below this are none. */
  readonly least: number
}

/** Log of weight times density, for every component. */
export function logParts(x: ArrayLike<number>, at: number, mixture: OracleMixture): Float64Array {
  const { cols, means, weights, variances } = mixture
  return Float64Array.from(weights, (weight, k) => {
    const gap = squaredGap(x, at, means, k * cols, cols)
    const variance = variances[k]
    return Math.log(weight) - (cols / 2) * Math.log(2 * Math.PI * variance) - gap / (2 * variance)
  })
}

export function logSumExp(values: ArrayLike<number>): number {
  let top = Number.NEGATIVE_INFINITY
  for (let i = 0; i < values.length; i++) top = Math.max(top, values[i])
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += Math.exp(values[i] - top)
  return top + Math.log(sum)
}

/** One round, in place: E, M with expansion, P. Returns the mean log-likelihood before it. */
export function oracleRound(x: ArrayLike<number>, mixture: OracleMixture, options: OracleOptions): number {
  const { cols } = mixture
  const n = x.length / cols
  const k = mixture.weights.length
  const shares = new Float64Array(n * k)
  const inner = new Uint32Array(n)
  let likelihood = 0
  for (let i = 0; i < n; i++) {
    const logs = logParts(x, i * cols, mixture)
    const evidence = logSumExp(logs)
    likelihood += evidence / n
    for (let j = 0; j < k; j++) {
      const share = Math.exp(logs[j] - evidence)
      shares[i * k + j] = share < options.least ? 0 : share
      if (logs[j] > logs[inner[i]]) inner[i] = j
    }
  }
  for (let j = 0; j < k; j++) {
    const total = [0, 0]
    const mean = new Float64Array(cols)
    for (let i = 0; i < n; i++) {
      const share = shares[i * k + j]
      total[inner[i] === j ? 0 : 1] += share
      for (let c = 0; c < cols; c++) mean[c] += share * x[i * cols + c]
    }
    const all = total[0] + total[1]
    mixture.weights[j] = all / n
    if (all === 0) continue
    for (let c = 0; c < cols; c++) mixture.means[j * cols + c] = mean[c] / all
    const squares = [0, 0]
    for (let i = 0; i < n; i++) {
      const share = shares[i * k + j]
      if (share > 0) squares[inner[i] === j ? 0 : 1] += share * squaredGap(x, i * cols, mixture.means, j * cols, cols)
    }
    const w = total[1] === 0 ? 1 : total[0] === 0 ? 0 : (total[0] / all) * (1 - options.lambda)
    const spread = (w > 0 ? (w * squares[0]) / total[0] : 0) + (w < 1 ? ((1 - w) * squares[1]) / total[1] : 0)
    mixture.variances[j] = Math.max(options.floor, spread / cols)
  }
  if (options.tau !== undefined) purge(mixture, options.tau)
  return likelihood
}

function purge(mixture: OracleMixture, tau: number): void {
  const { cols, means, weights, variances } = mixture
  const order = Array.from(weights, (_, i) => i).sort((a, b) => weights[b] - weights[a] || a - b)
  const kept: number[] = []
  for (const i of order) {
    if (!(weights[i] > 0)) continue
    const own = 2 * Math.log(weights[i]) - (cols / 2) * Math.log(4 * Math.PI * variances[i])
    let others = 0
    for (const j of kept) {
      const sum = variances[i] + variances[j]
      const gap = squaredGap(means, i * cols, means, j * cols, cols)
      const overlap = Math.log(weights[i] * weights[j]) - (cols / 2) * Math.log(2 * Math.PI * sum) - gap / (2 * sum)
      others += Math.exp(overlap - own)
    }
    if (1 / (1 + others) >= tau) kept.push(i)
  }
  kept.sort((a, b) => a - b)
  const total = kept.reduce((sum, i) => sum + weights[i], 0)
  const meansLeft = new Float64Array(kept.length * cols)
  kept.forEach((from, to) => {
    meansLeft.set(means.subarray(from * cols, (from + 1) * cols), to * cols)
  })
  mixture.means = meansLeft
  mixture.weights = Float64Array.from(kept, (i) => weights[i] / total)
  mixture.variances = Float64Array.from(kept, (i) => variances[i])
}

export function squaredGap(a: ArrayLike<number>, atA: number, b: ArrayLike<number>, atB: number, cols: number): number {
  let sum = 0
  for (let c = 0; c < cols; c++) sum += (a[atA + c] - b[atB + c]) ** 2
  return sum
}

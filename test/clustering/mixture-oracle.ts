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
  const own = new Float64Array(k)
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
    own[j] = all > 0 ? total[0] / all : 0
    if (all === 0) continue
    const old = mixture.means.slice()
    for (let c = 0; c < cols; c++) mixture.means[j * cols + c] = mean[c] / all
    // Those that are purged take their widths about the mean the shares were made with.
    const around = options.tau === undefined ? mixture.means : old
    const squares = [0, 0]
    for (let i = 0; i < n; i++) {
      const share = shares[i * k + j]
      if (share > 0) squares[inner[i] === j ? 0 : 1] += share * squaredGap(x, i * cols, around, j * cols, cols)
    }
    const w = total[1] === 0 ? 1 : total[0] === 0 ? 0 : (total[0] / all) * (1 - options.lambda)
    const spread = (w > 0 ? (w * squares[0]) / total[0] : 0) + (w < 1 ? ((1 - w) * squares[1]) / total[1] : 0)
    mixture.variances[j] = Math.max(options.floor, spread / cols)
  }
  if (options.tau !== undefined) purge(mixture, options.tau, n, own)
  return likelihood
}

function purge(mixture: OracleMixture, tau: number, points: number, own: Float64Array): void {
  const { cols, means, weights, variances } = mixture
  const order = Array.from(weights, (_, i) => i).sort((a, b) => weights[b] - weights[a] || a - b)
  let kept: number[] = []
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
  if (kept.length === weights.length) kept = worthTheirNumbers(mixture, order, points, own)
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

/** By falling weight: those that do better beside each of the heavier ones than joined with it, by BIC. */
function worthTheirNumbers(mixture: OracleMixture, order: number[], points: number, own: Float64Array): number[] {
  const { cols, means, weights, variances } = mixture
  const stay: number[] = []
  const likelihood = (n: number, variance: number): number => (-n * cols * Math.log(variance)) / 2
  const chances = (p: number): number => (p <= 0 || p >= 1 ? 0 : p * Math.log(p) + (1 - p) * Math.log(1 - p))
  for (const i of order) {
    const joins = stay.some((j) => {
      const [a, b] = [points * weights[i], points * weights[j]]
      const middle = Float64Array.from({ length: cols }, (_, c) => {
        return (a * means[i * cols + c] + b * means[j * cols + c]) / (a + b)
      })
      const [toI, toJ] = [squaredGap(middle, 0, means, i * cols, cols), squaredGap(middle, 0, means, j * cols, cols)]
      const joined = (a * (variances[i] + toI / cols) + b * (variances[j] + toJ / cols)) / (a + b)
      const apart = likelihood(a, variances[i]) + likelihood(b, variances[j]) + (a + b) * chances(a / (a + b))
      const shared =
        (a + b) * Math.min(-chances(Math.max(0.5, (a * own[i] + b * own[j]) / (a + b))), -chances(a / (a + b)))
      if (apart + shared - ((cols + 2) * Math.log(a + b)) / 2 >= likelihood(a + b, joined)) return false
      means.set(middle, j * cols)
      variances[j] = joined
      weights[j] += weights[i]
      return true
    })
    if (!joins) stay.push(i)
  }
  return stay
}

export function squaredGap(a: ArrayLike<number>, atA: number, b: ArrayLike<number>, atB: number, cols: number): number {
  let sum = 0
  for (let c = 0; c < cols; c++) sum += (a[atA + c] - b[atB + c]) ** 2
  return sum
}

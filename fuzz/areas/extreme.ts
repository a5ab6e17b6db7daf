/** Extreme numbers and shapes against an oracle in 64-bit floats, all methods. */
import { type ClusterModel, cluster, type Matrix, METHODS, matrix, openDevice } from '../../src/index.ts'
import { type Area, type CaseContext, Failure } from '../area.ts'
import type { Draw } from '../draw.ts'
import { attempt, requireFinite } from '../judge.ts'
import { METHOD_NAMES } from '../problem.ts'

export const extreme: Area = {
  name: 'extreme',
  title: 'extreme data, 14 methods, float64 oracle',
  share: 4,
  seconds: 60,
  run,
}

const KINDS = {
  denormals: (draw: Draw) => draw.between(-20, 20) * 2 ** -149,
  'near the least normal': (draw: Draw) => draw.normal() * 2e-38,
  'near the largest': (draw: Draw) => (draw.real() - 0.5) * 6e38,
  'any magnitude': (draw: Draw) => draw.normal() * 10 ** draw.between(-40, 37),
  zeros: () => 0,
  'signed zeros': (draw: Draw) => (draw.chance(0.5) ? 0 : -0),
  equal: () => 3.25,
  'two values': (draw: Draw) => (draw.chance(0.5) ? 1e20 : -1e20),
  'far away': (draw: Draw) => 1e30 + draw.normal() * 1e24,
  'far away in whole steps': (draw: Draw) => 16777216 + 2 * draw.below(8),
  outlier: (draw: Draw) => (draw.chance(0.03) ? 1e35 : draw.normal()),
  'alternating signs': (draw: Draw, i: number) => (i % 2 === 0 ? 1 : -1) * 10 ** draw.between(0, 30),
  tiny: (draw: Draw) => draw.normal() * 1e-30,
  huge: (draw: Draw) => draw.normal() * 1e30,
  ordinary: (draw: Draw) => draw.normal(),
} as const

async function run({ draw, note }: CaseContext): Promise<void> {
  const kind = draw.pick(Object.keys(KINDS) as (keyof typeof KINDS)[])
  const wide = draw.chance(0.04)
  const rows = draw.pick([1, 2, 3, draw.between(4, 60), draw.between(4, 60)])
  const cols = wide ? draw.between(1000, 5000) : draw.pick([1, 2, 3, 5, 8, 17])
  const vectors = drawExtreme(draw, kind, rows, cols)
  const method = draw.pick(METHOD_NAMES)
  const { findsCount, weights: takesWeights } = METHODS[method]
  const cosine = draw.chance(0.2)
  const weights = draw.chance(0.3) && takesWeights !== false ? drawWeights(draw, rows) : undefined
  const options = {
    method,
    seed: draw.below(100),
    iterations: draw.between(1, 10),
    ...(findsCount ? {} : { k: draw.pick([1, Math.min(2, rows), draw.between(1, rows), rows]) }),
    ...(cosine ? { metric: 'cosine' as const } : {}),
    ...(weights ? { weights } : {}),
  }
  note(`${rows} x ${cols} ${kind}, ${JSON.stringify(options)}`)
  const device = await openDevice({ kind: 'cpu', shared: false })
  try {
    const tried = await attempt(() => cluster(vectors, { ...options, device }))
    if ('error' in tried) return
    requireSound(tried.value, rows)
    const points = cosine ? normalised(vectors) : Float64Array.from(vectors.data)
    requireDistortion(tried.value, points, weights)
    if (method === 'lloyd' && tried.value.facts.stopped === 'converged' && !weights) requireNearest(tried.value, points)
    const predicted = await attempt(() => tried.value.assign(vectors, { device }))
    if ('value' in predicted) {
      requireFinite(predicted.value.distances, 'distances')
      requireLabels(predicted.value.labels, tried.value.centers.rows)
    }
  } finally {
    await device.close()
  }
}

function drawExtreme(draw: Draw, kind: keyof typeof KINDS, rows: number, cols: number): Matrix {
  const data = Float32Array.from({ length: rows * cols }, (_, i) => KINDS[kind](draw, i))
  // Columns of very different scales.
  if (draw.chance(0.15)) for (let i = 0; i < data.length; i++) data[i] *= 2 ** (((i % cols) % 5) * 12 - 24)
  for (let i = 0; i < data.length; i++) if (!Number.isFinite(data[i])) data[i] = 3e38
  // Copies of rows.
  if (draw.chance(0.2))
    for (let row = 1; row < rows; row += 2) data.copyWithin(row * cols, (row - 1) * cols, row * cols)
  return matrix(data, rows, cols)
}

function drawWeights(draw: Draw, rows: number): number[] {
  const size = draw.pick([1, 1e-30, 1e30, 1e38, 1e-44])
  const weights = Array.from({ length: rows }, () => (draw.chance(0.2) ? 0 : draw.real() * size))
  weights[draw.below(rows)] = size
  return weights.map(Math.fround)
}

function requireSound({ centers, labels, weights, sigmas, facts }: ClusterModel, rows: number): void {
  requireFinite(centers.data, 'centres')
  requireFinite(weights, 'weights')
  requireFinite(sigmas, 'standard deviations')
  if (labels.length !== rows) throw new Failure('wrong result', `${labels.length} labels for ${rows} rows`)
  requireLabels(labels, centers.rows)
  requireFinite(
    facts.iterations.map(({ distortion }) => distortion),
    'distortions',
  )
}

function requireLabels(labels: Uint32Array, k: number): void {
  for (const label of labels) if (label >= k) throw new Failure('wrong result', `label ${label} of ${k} clusters`)
}

/** Rows at length one; rows of zeros stay. */
function normalised({ data, rows, cols }: Matrix): Float64Array {
  const out = Float64Array.from(data)
  for (let row = 0; row < rows; row++) {
    const own = out.subarray(row * cols, (row + 1) * cols)
    const largest = own.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
    if (largest === 0) continue
    const length = Math.sqrt(own.reduce((sum, value) => sum + (value / largest) ** 2, 0)) * largest
    for (let i = 0; i < cols; i++) own[i] /= length
  }
  return out
}

/**
 * What is reported must be the mean squared distance of the points to the centres of their labels. Allowed: rounding of
 * the centres, one part in a thousand, and what is below the resolution of 32-bit floats at the size of the data.
 */
function requireDistortion(model: ClusterModel, points: Float64Array, weights: readonly number[] | undefined): void {
  const { centers, labels } = model
  const { cols } = centers
  let sum = 0
  let total = 0
  let rounding = 0
  let spread = 0
  const mean = new Float64Array(cols)
  for (let i = 0; i < points.length; i++) mean[i % cols] += points[i] / labels.length
  for (let row = 0; row < labels.length; row++) {
    const weight = weights?.[row] ?? 1
    let distance = 0
    let slack = 0
    let away = 0
    for (let j = 0; j < cols; j++) {
      const center = centers.data[labels[row] * cols + j]
      distance += (points[row * cols + j] - center) ** 2
      slack += (Math.abs(center) * 2 ** -23 + 2 ** -149) ** 2
      away += (points[row * cols + j] - mean[j]) ** 2
    }
    sum += weight * distance
    total += weight
    rounding = Math.max(rounding, slack)
    spread = Math.max(spread, away)
  }
  const wanted = sum / total
  const allowed = 1e-3 * wanted + 4 * (2 * Math.sqrt(wanted * rounding) + rounding) + 1e-6 * spread
  if (Math.abs(model.distortion - wanted) <= allowed) return
  throw new Failure('wrong result', `distortion ${model.distortion}, by the oracle ${wanted}`)
}

/** After convergence no other centre is nearer, as far as 32-bit floats of the size of the data can tell. */
function requireNearest({ centers, labels }: ClusterModel, points: Float64Array): void {
  const { cols, rows: k } = centers
  const squared = (row: number, center: number): number => {
    let sum = 0
    for (let j = 0; j < cols; j++) sum += (points[row * cols + j] - centers.data[center * cols + j]) ** 2
    return sum
  }
  const largest = points.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const blur = 2 ** -22 * Math.sqrt(cols) * largest + 2 ** -148
  for (let row = 0; row < labels.length; row++) {
    const own = squared(row, labels[row])
    for (let center = 0; center < k; center++) {
      const other = squared(row, center)
      if (own <= other * (1 + 1e-3) + 2 * Math.sqrt(other) * blur + blur ** 2) continue
      throw new Failure(
        'wrong result',
        `row ${row} has centre ${labels[row]} at ${own}, centre ${center} is at ${other}`,
      )
    }
  }
}

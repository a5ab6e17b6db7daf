/**
 * What the kernels should compute, written a second time: plain loops in 64-bit floats over unpadded
 * rows, with nothing shared with the kernels. Sums come with `magnitudes`, the sums of absolute
 * values, from which test/tolerance.ts makes its bounds.
 */
import type { VectorData } from '../../src/core/matrix.ts'

export const NONE = 0xffffffff

export interface Rows {
  readonly data: VectorData
  readonly cols: number
}

export function countOf(rows: Rows): number {
  return rows.data.length / rows.cols
}

export function squaredDistance(x: Rows, i: number, c: Rows, j: number): number {
  let sum = 0
  for (let t = 0; t < x.cols; t++) sum += (x.data[i * x.cols + t] - c.data[j * c.cols + t]) ** 2
  return sum
}

export function lengthOf(x: Rows, i: number): number {
  let sum = 0
  for (let t = 0; t < x.cols; t++) sum += x.data[i * x.cols + t] ** 2
  return Math.sqrt(sum)
}

export function longest(x: Rows): number {
  let most = 0
  for (let i = 0; i < countOf(x); i++) most = Math.max(most, lengthOf(x, i))
  return most
}

export function distanceMatrix(x: Rows, c: Rows): Float64Array {
  const k = countOf(c)
  const out = new Float64Array(countOf(x) * k)
  for (let i = 0; i < countOf(x); i++) for (let j = 0; j < k; j++) out[i * k + j] = squaredDistance(x, i, c, j)
  return out
}

export interface Labelled {
  readonly label: number
  readonly distance: number
}

/** Nearer first; equally near by label. */
export function byDistance(a: Labelled, b: Labelled): number {
  return a.distance - b.distance || a.label - b.label
}

/** All centres in order of distance from point i, the first labelled `firstLabel`. */
export function ranking(x: Rows, i: number, c: Rows, firstLabel = 0): Labelled[] {
  const all = Array.from({ length: countOf(c) }, (_, j) => ({
    label: firstLabel + j,
    distance: squaredDistance(x, i, c, j),
  }))
  return all.sort(byDistance)
}

/** The best of some candidates and what the point has; a tie goes to the lowest label. */
export function bestOf(x: Rows, i: number, c: Rows, candidates: Iterable<number>, has?: Labelled): Labelled {
  const all: Labelled[] = has ? [has] : []
  for (const label of candidates) {
    if (label !== NONE && label !== has?.label) all.push({ label, distance: squaredDistance(x, i, c, label) })
  }
  return all.sort(byDistance)[0] ?? { label: NONE, distance: Infinity }
}

/** For every point the different labels in its leaf. */
export function leafCandidates(members: Uint32Array, offsets: Uint32Array, carried: Uint32Array): Set<number>[] {
  const result: Set<number>[] = []
  for (let leaf = 0; leaf + 1 < offsets.length; leaf++) {
    const inside = Array.from(members.subarray(offsets[leaf], offsets[leaf + 1]))
    const labels = new Set(inside.map((point) => carried[point]))
    for (const point of inside) result[point] = labels
  }
  return result
}

export interface Sums {
  readonly sums: Float64Array
  readonly magnitudes: Float64Array
  readonly totals: Float64Array
  readonly counts: Uint32Array
  /** Points by cluster, in rising order; those of no cluster left out. */
  readonly order: number[]
  readonly offsets: number[]
}

export function sumsByLabel(x: Rows, labels: Uint32Array, k: number, weights?: Float32Array): Sums {
  const d = x.cols
  const sums = new Float64Array(k * d)
  const magnitudes = new Float64Array(k * d)
  const totals = new Float64Array(k)
  const counts = new Uint32Array(k)
  const groups = new Map<number, number[]>()
  for (let i = 0; i < countOf(x); i++) {
    const label = labels[i]
    if (label >= k) continue
    const weight = weights ? weights[i] : 1
    for (let t = 0; t < d; t++) {
      sums[label * d + t] += weight * x.data[i * d + t]
      magnitudes[label * d + t] += Math.abs(weight * x.data[i * d + t])
    }
    totals[label] += weight
    counts[label]++
    const group = groups.get(label)
    if (group) group.push(i)
    else groups.set(label, [i])
  }
  const order: number[] = []
  const offsets: number[] = [0]
  for (let label = 0; label < k; label++) {
    order.push(...(groups.get(label) ?? []))
    offsets.push(order.length)
  }
  return { sums, magnitudes, totals, counts, order, offsets }
}

export interface Products {
  readonly values: Float64Array
  readonly magnitudes: Float64Array
}

/** out[i][j] = a_i . b_j */
export function rowProducts(a: Rows, b: Rows): Products {
  return products(countOf(a), countOf(b), a.cols, (i, j, t) => a.data[i * a.cols + t] * b.data[j * b.cols + t])
}

/** out[p][q] = sum over rows of a[row][p] b[row][q] */
export function columnProducts(a: Rows, b: Rows): Products {
  return products(a.cols, b.cols, countOf(a), (p, q, row) => a.data[row * a.cols + p] * b.data[row * b.cols + q])
}

/** out[i] = x_i . directions[nodes[i]] */
export function projections(x: Rows, directions: Rows, nodes: Uint32Array): Products {
  return products(
    countOf(x),
    1,
    x.cols,
    (i, _, t) => x.data[i * x.cols + t] * directions.data[nodes[i] * directions.cols + t],
  )
}

function products(
  rows: number,
  cols: number,
  terms: number,
  term: (row: number, col: number, t: number) => number,
): Products {
  const values = new Float64Array(rows * cols)
  const magnitudes = new Float64Array(rows * cols)
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < cols; j++) {
      for (let t = 0; t < terms; t++) {
        const value = term(i, j, t)
        values[i * cols + j] += value
        magnitudes[i * cols + j] += Math.abs(value)
      }
    }
  }
  return { values, magnitudes }
}

/** A range of the columns as rows of their own. */
export function columns(x: Rows, first: number, end: number): Rows {
  const n = countOf(x)
  const data = new Float32Array(n * (end - first))
  for (let i = 0; i < n; i++) {
    for (let t = first; t < end; t++) data[i * (end - first) + t - first] = x.data[i * x.cols + t]
  }
  return { data, cols: end - first }
}

export interface Means {
  readonly centers: Float64Array
  readonly gains: Float64Array
  /** |mean - old|^2, |mean - new|^2 and |mean| + |new|, from which the bounds of gains are made. */
  readonly before: Float64Array
  readonly after: Float64Array
  readonly lengths: Float64Array
}

export function meansOf(sums: Float32Array, totals: Float32Array, old: Float32Array, d: number, unit: boolean): Means {
  const k = totals.length
  const result: Means = {
    centers: Float64Array.from(old),
    gains: new Float64Array(k),
    before: new Float64Array(k),
    after: new Float64Array(k),
    lengths: new Float64Array(k),
  }
  for (let j = 0; j < k; j++) {
    if (totals[j] <= 0) continue
    const mean = Array.from(sums.subarray(j * d, (j + 1) * d), (sum) => sum / totals[j])
    const length = Math.hypot(...mean)
    const scale = unit && length > 0 ? 1 / length : 1
    for (let t = 0; t < d; t++) {
      const fresh = mean[t] * scale
      result.before[j] += (mean[t] - old[j * d + t]) ** 2
      result.after[j] += (mean[t] - fresh) ** 2
      result.centers[j * d + t] = fresh
    }
    result.lengths[j] = length * (1 + scale)
    result.gains[j] = totals[j] * (result.before[j] - result.after[j])
  }
  return result
}

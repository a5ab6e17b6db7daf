/** Random samples of the points, by weight. */
import { type ElementType, type Matrix, matrix, toSource, type VectorData, type VectorSource } from '../core/matrix.ts'
import { type Random, sampleDistinct } from '../core/random.ts'
import { RowBuffer } from '../core/row-buffer.ts'
import { intoFrame } from '../vectors/frame.ts'
import type { PointStore } from '../vectors/points.ts'

export interface Sample {
  /** Row numbers, rising. Undefined: all rows, with the weights they have. */
  readonly indices: Uint32Array | undefined
  readonly weights: Float32Array | undefined
}

/**
 * About `size` different rows with weight. A heavy row is always among them; of the others each comes with a chance in
 * proportion to its weight, and then counts as all those it stands for, so that sums over the sample are sums over all rows,
 * on average.
 */
export function sampleByWeight(random: Random, rows: number, weights: Float32Array | undefined, size: number): Sample {
  if (weights === undefined) {
    if (size >= rows) return { indices: undefined, weights }
    return { indices: sampleDistinct(random, rows, size).sort(), weights }
  }
  const weighted = Uint32Array.from(weights, (_, i) => i).filter((i) => weights[i] > 0)
  if (size >= weighted.length) {
    const all = weighted.length === rows
    return all
      ? { indices: undefined, weights }
      : { indices: weighted, weights: Float32Array.from(weighted, (i) => weights[i]) }
  }
  const step = stepOf(weights, weighted, size)
  const indices = weighted.filter((i) => weights[i] >= step || random.uniform() * step < weights[i])
  return { indices, weights: Float32Array.from(indices, (i) => Math.max(weights[i], step)) }
}

/** What a row must weigh to be taken in any case, so that `size` rows are taken on average. */
function stepOf(weights: Float32Array, weighted: Uint32Array, size: number): number {
  let total = 0
  for (const i of weighted) total += weights[i]
  let step = total / size
  // Rows above the step are taken whole, and leave fewer places for the rest; that settles after a few rounds.
  for (let round = 0; round < 32; round++) {
    let heavy = 0
    let rest = 0
    for (const i of weighted) {
      if (weights[i] >= step) heavy++
      else rest += weights[i]
    }
    const next = rest / Math.max(1, size - heavy)
    if (next >= step) break
    step = next
  }
  return step
}

/** A row in proportion to its weight. */
export function drawByWeight(random: Random, rows: number, weights: Float32Array | undefined): number {
  if (weights === undefined) return random.below(rows)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let left = random.uniform() * total
  for (let i = 0; i < rows; i++) {
    left -= weights[i]
    if (left < 0 && weights[i] > 0) return i
  }
  return weights.findIndex((weight) => weight > 0)
}

/** Rows with no more numbers than this between them are read in one go, if that takes no more than the other. */
const GAP_NUMBERS = 4096
const MOST_READ = 1_000_000

/** Rows of the points, by rising numbers, as the device holds them: a source in the points' frame, in memory. */
export async function sampleSource(
  points: PointStore,
  indices: Uint32Array,
  signal?: AbortSignal | undefined,
): Promise<VectorSource> {
  if (points.source.sparse) return points.pick(indices)
  const data = await readSample(points, indices, signal)
  return toSource(matrix(data, indices.length, points.cols) as Matrix)
}

/** The same, read from the points whenever it is asked for. */
export async function streamedSample(
  points: PointStore,
  indices: Uint32Array,
  signal?: AbortSignal | undefined,
): Promise<VectorSource> {
  if (points.source.sparse) return points.pick(indices)
  return {
    rows: indices.length,
    cols: points.cols,
    type: points.frame.type,
    name: points.source.name,
    read: (start, end) => readSample(points, indices.subarray(start, end), signal),
    readInto: async (start, into) => {
      await readSample(points, indices.subarray(start, start + into.length / points.cols), signal, into)
    },
  }
}

async function readSample(
  { cols, frame, source }: PointStore,
  indices: Uint32Array,
  signal: AbortSignal | undefined,
  data = rowsOfType(frame.type, indices.length * cols),
): Promise<VectorData> {
  const gap = Math.max(8, Math.floor(GAP_NUMBERS / cols))
  const buffer = new RowBuffer(source)
  for (let from = 0; from < indices.length; ) {
    let to = from + 1
    while (
      to < indices.length &&
      indices[to] - indices[to - 1] <= gap &&
      (indices[to] - indices[from] + 1) * cols <= MOST_READ
    )
      to++
    signal?.throwIfAborted()
    const read = await buffer.read(indices[from], indices[to - 1] + 1)
    for (let i = from; i < to; i++) {
      const at = (indices[i] - indices[from]) * cols
      data.set(intoFrame(read.subarray(at, at + cols), cols, frame), i * cols)
    }
    from = to
  }
  return data
}

function rowsOfType(type: ElementType, length: number): VectorData {
  return type === 'u8' ? new Uint8Array(length) : new Float32Array(length)
}

/**
 * Greedy k-means++ (Arthur and Vassilvitskii 2007, section 4.2.2; the start of scikit-learn): for each centre a few points are
 * drawn with a chance in proportion to their squared distance from the nearest centre so far, and the one that lowers the
 * potential most is kept. The cost grows with rows * k, so it runs on a sample of large data.
 */
import { readWide, type VectorSource } from '../core/matrix.ts'
import type { Random } from '../core/random.ts'
import { BufferScope, type Device, type RunControl } from '../device/contract.ts'
import { assign, assignWorkspaceBytes } from '../kernels/assign.ts'
import { plusPlus, plusPlusMostRows, plusPlusPartRows, plusPlusTrials } from '../kernels/plus-plus.ts'
import { allocateRows, paddedCols, writeRows } from '../kernels/rows.ts'
import { type Frame, intoFrame } from '../vectors/frame.ts'
import { PointStore } from '../vectors/points.ts'
import type { RunState } from './run-state.ts'
import { drawByWeight, sampleByWeight, sampleSource } from './sample.ts'

/** Few points choose badly; more than these hardly choose better. */
const LEAST_SAMPLE = 16_384
const SAMPLED_PER_CENTER = 20
/** Bytes of a sample on the device, whatever the memory given to vectors: the choice must not depend on that. */
const MOST_SAMPLE_BYTES = 256 * 2 ** 20

/** Distances to the first centre are taken on the host where points have no more numbers than this: asking takes longer. */
const HOST_NUMBERS = 2 ** 16

export interface Greedy {
  /** Centres in all, given ones included. */
  readonly k: number
  /** Centres there are already: k' x cols, in the points' frame. */
  readonly given?: Float32Array | undefined
  readonly random: Random
  readonly control: RunControl
}

/** Rows used by greedy k-means++, if the time allows. */
export function greedyRows({ device, points, k }: RunState): number {
  const { bindingBytes } = device.info.limits
  const rowBytes = Math.max(1, (points.numbers / points.rows) * (points.frame.type === 'u8' ? 1 : 4))
  const fitting = Math.min(
    Math.floor(MOST_SAMPLE_BYTES / rowBytes),
    plusPlusMostRows(bindingBytes, plusPlusTrials(k)) / 2,
  )
  return Math.min(points.rows, Math.max(k, Math.min(fitting, Math.max(LEAST_SAMPLE, SAMPLED_PER_CENTER * k))))
}

/** Numbers that are read when `rows` rows of such points choose k centres. */
export function greedyReads({ points, k }: RunState, rows: number): number {
  return rows * (points.numbers / points.rows) * k * plusPlusTrials(k)
}

/** Chooses among a sample of about `rows` of the points. Fewer than asked for if too few of those differ. */
export async function greedySample(
  { device, points }: RunState,
  rows: number,
  weights: Float32Array | undefined,
  greedy: Greedy,
): Promise<number[]> {
  const sample = sampleByWeight(greedy.random, points.rows, weights, rows)
  if (sample.indices === undefined) return greedyChoice(device, points.source, points.frame, weights, greedy)
  const { indices } = sample
  const source = await sampleSource(points, indices, greedy.control.signal)
  const frame: Frame = { shift: undefined, scale: 1, unit: false, type: points.frame.type }
  const chosen = await greedyChoice(device, source, frame, sample.weights, greedy)
  return chosen.map((row) => indices[row])
}

/** Numbers of the chosen rows, in the order they were chosen. */
export async function greedyChoice(
  device: Device,
  source: VectorSource,
  frame: Frame,
  weights: Float32Array | undefined,
  { k, given, random, control }: Greedy,
): Promise<number[]> {
  const { cols } = source
  const trials = plusPlusTrials(k)
  const first = given ? [] : [drawByWeight(random, source.rows, weights)]
  const count = k - (given ? given.length / cols : 1)
  // Drawn one by one, so that a seed means the same numbers on every device.
  const uniforms = new Float32Array(count * trials)
  for (let i = 0; i < uniforms.length; i++) uniforms[i] = random.uniform()
  if (count === 0) return first
  const { bindingBytes } = device.info.limits
  const store = await PointStore.open(device, source, {
    frame,
    weights,
    mostRows: plusPlusPartRows(bindingBytes, trials),
    partBytes: bindingBytes,
    resident: true,
    watch: { signal: control.signal },
  })
  try {
    if (given || source.sparse || store.numbers > HOST_NUMBERS) {
      await measureNearest(device, store, given ?? (await store.gather(first)), control)
    } else await measureOnHost(device, store, first[0])
    const parts = await Promise.all(
      store.parts.map(async (part) => ({
        points: await store.vectors(part),
        weights: part.weights,
        nearest: part.distances,
      })),
    )
    const chosen = await plusPlus(device, { parts, trials, uniforms }, control)
    return [...first, ...chosen]
  } finally {
    store.free()
  }
}

/** The distances of a store become those to one of its points. */
async function measureOnHost(
  device: Device,
  { source, frame, parts, cols }: PointStore,
  center: number,
): Promise<void> {
  const rows = intoFrame(await readWide(source, 0, source.rows), cols, frame)
  const distances = new Float32Array(source.rows)
  for (let i = 0; i < source.rows; i++) {
    let sum = 0
    for (let j = 0; j < cols; j++) sum += (rows[i * cols + j] - rows[center * cols + j]) ** 2
    distances[i] = sum
  }
  for (const { first, count, distances: out } of parts) device.write(out, distances.subarray(first, first + count))
}

/** The distances of a store become those to the nearest of some centres. */
async function measureNearest(
  device: Device,
  store: PointStore,
  centers: Float32Array,
  { signal }: RunControl,
): Promise<void> {
  const scope = new BufferScope(device)
  try {
    const stride = paddedCols(store.cols)
    const rows = allocateRows(scope, centers.length / store.cols, store.cols, 'f32', 'centres')
    writeRows(device, rows, centers)
    const sparse = store.source.sparse !== undefined
    const workspace = scope.allocate(assignWorkspaceBytes({ rows: rows.rows, stride }, sparse), 'prepared centres')
    for (const part of store.parts) {
      const points = await store.vectors(part)
      const { labels, distances } = part
      await assign(device, { points, centers: rows, labels, distances, workspace }, { signal })
    }
  } finally {
    scope.free()
  }
}

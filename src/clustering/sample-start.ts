/**
 * A start from a clustering of a sample, for many points per cluster: where the centres belong, some dozen points of each
 * cluster tell almost as well as all of them. The sample is clustered by the method of the run. Then all points get labels,
 * at a cost that does not depend on k: a partition tree cuts them into leaves large enough to hold several points of the
 * sample, and every point takes the nearest of the clusters that those have.
 */
import { stream, streamSeed } from '../core/streams.ts'
import { BufferScope } from '../device/contract.ts'
import { assignLeaves, createAssignLeavesWorkspace, prepareLeafCenters } from '../kernels/assign-leaves.ts'
import { assignLists, NO_LABEL } from '../kernels/assign-lists.ts'
import type { ClusterModel, SampleFacts } from '../models/model.ts'
import { growTree } from '../trees/partition-tree.ts'
import { RowSet } from '../vectors/distinct.ts'
import type { Frame } from '../vectors/frame.ts'
import { PointStore } from '../vectors/points.ts'
import { type RunState, writeCenters } from './run-state.ts'
import { sampleByWeight, sampleSource } from './sample.ts'

/** Points of the sample for each cluster. */
const PER_CLUSTER = 64
/** The least number of points worth taking a sample of. */
const MANY_POINTS = 2 ** 17
/** The largest sample is this share of the points: it must cost little against all of them. */
const MOST_SHARE = 1 / 4
/** Nor does it take more than this. */
const MOST_BYTES = 2 ** 29
/** Points of the sample in a leaf, about, and the most points of a leaf. */
const SAMPLED_IN_LEAF = 16
const LARGEST_LEAF = 256

/** Labels of all points; centres where points look at every centre first, or shards may be on other machines. */
export type SampledStart = { readonly sample: SampleFacts } & (
  | { readonly labels: Uint32Array }
  | { readonly centers: Float32Array }
)

/** A sample as a run of its own takes it. */
export interface SampledPoints {
  readonly points: PointStore
  readonly weights: Float32Array | undefined
}

/**
 * Whether a run begins from a sample if it is not told how to begin. Points in several domains have no tree in common, and
 * would have to look at every centre in their first round. Shards that may be on other machines do not depend on where
 * they are: labelling all their points here would mean bringing them all here.
 */
export function beginsFromSample({ points, k }: RunState): boolean {
  const { rows, layout } = points
  if (layout.separate) return false
  if (layout.domains.length > 1) return rows * MOST_SHARE >= 2 * k
  return rows >= MANY_POINTS && rows * MOST_SHARE >= PER_CLUSTER * k
}

/**
 * Undefined where the sample has fewer than k different points, or the run was stopped. `run` clusters the points that it is
 * given. `inLeaves`: points look at the clusters of their neighbours in the run, and so they can at its start.
 */
export async function sampleStart(
  state: RunState,
  restart: number,
  inLeaves: boolean,
  run: (sample: SampledPoints) => Promise<ClusterModel | undefined>,
): Promise<SampledStart | undefined> {
  const { points, k, seed, weights, control, device } = state
  const { unit, type } = points.frame
  const random = stream(seed, 'sample start', restart)
  const size = Math.min(sampleSize(state), roomFor(state))
  const { indices, weights: sampled } = sampleByWeight(random, points.rows, weights, size)
  if (indices === undefined || indices.length < k) return undefined
  const source = await sampleSource(points, indices, control.signal)
  const frame: Frame = { shift: undefined, scale: 1, unit, type }
  // One domain, whatever its size: clusterings of several domains begin from a sample themselves.
  const partBytes = device.info.limits.bindingBytes
  const store = await PointStore.open(device, source, { frame, weights: sampled, partBytes, resident: true })
  try {
    if (!(await hasDistinct(store, k))) return undefined
    const model = await run({ points: store, weights: sampled })
    if (model === undefined) return undefined
    const sample = { rows: indices.length, rounds: model.facts.iterations.length }
    const { centers } = model.state
    if (!inLeaves || points.layout.separate) return { centers, sample }
    const labels = await labelsOfAll(state, { indices, labels: model.labels, centers }, restart)
    return { labels, sample }
  } finally {
    store.free()
  }
}

/** Points of the sample. */
export function sampleSize({ points, k }: RunState): number {
  return Math.max(2 * k, Math.min(PER_CLUSTER * k, Math.floor(points.rows * MOST_SHARE)))
}

/** Results must not depend on the memory of a device: the limit is the same for all that can hold so much in a buffer. */
function roomFor({ device, points }: RunState): number {
  const rowBytes = points.stride * (points.frame.type === 'u8' ? 1 : 4)
  return Math.floor(Math.min(MOST_BYTES, device.info.limits.bindingBytes) / rowBytes)
}

async function hasDistinct({ source, frame, rows }: PointStore, k: number): Promise<boolean> {
  const seen = new RowSet(frame)
  for (let row = 0; row < rows && seen.size < k; row++) await seen.addFrom(source, row)
  return seen.size >= k
}

interface Clustered {
  /** Numbers of the points of the sample. */
  readonly indices: Uint32Array
  readonly labels: Uint32Array
  readonly centers: Float32Array
}

async function labelsOfAll(state: RunState, sample: Clustered, restart: number): Promise<Uint32Array> {
  const { device, centers, control } = state
  const points = await state.points.onFirstDevice()
  writeCenters(state, sample.centers)
  const labels = new Uint32Array(points.rows).fill(NO_LABEL)
  sample.indices.forEach((point, i) => {
    labels[point] = sample.labels[i]
  })
  const leafSize = Math.min(LARGEST_LEAF, Math.ceil((SAMPLED_IN_LEAF * points.rows) / sample.indices.length))
  const seed = streamSeed(state.seed, 'sample start', restart)
  const { largestPart } = points
  const scope = new BufferScope(device)
  try {
    const workspace = createAssignLeavesWorkspace(scope, largestPart, largestPart, centers)
    await prepareLeafCenters(device, centers, workspace)
    for (const part of points.parts) {
      control.signal?.throwIfAborted()
      const own = labels.subarray(part.first, part.first + part.count)
      const grown = new BufferScope(device)
      try {
        const tree = await growTree(device, grown, await points.sketch(part), leafSize, seed)
        if (!spreadAlong(own, new Uint32Array(await device.read(tree.members), 0, part.count))) continue
        const { previous, labels: found, distances } = part
        device.write(previous, own)
        const common = { points: await points.vectors(part), centers, labels: found, distances }
        await assignLists(device, { ...common, lists: previous, width: 1 })
        await assignLeaves(device, { ...common, ...tree, workspace })
        own.set(new Uint32Array(await device.read(found), 0, part.count))
      } finally {
        grown.free()
      }
    }
    return labels
  } finally {
    scope.free()
  }
}

/**
 * Points without a label get that of the last one before them in the order of the tree, which lies near them. False, and
 * nothing is done, if no point has one.
 */
export function spreadAlong(labels: Uint32Array, order: Uint32Array): boolean {
  let last = NO_LABEL
  for (const point of order) {
    if (labels[point] !== NO_LABEL) {
      last = labels[point]
      break
    }
  }
  if (last === NO_LABEL) return false
  for (const point of order) {
    if (labels[point] === NO_LABEL) labels[point] = last
    else last = labels[point]
  }
  return true
}

/**
 * Starts a run from a clustering of a sample. With many points per cluster, a few dozen of them place a centre almost as well
 * as all of them. The sample is clustered by the method of the run. Then all points get labels, at a cost that does not
 * depend on k: a partition tree divides the points into leaves that hold several points of the sample each, and every point
 * takes the nearest of the clusters found in its leaf.
 */
import { stream, streamSeed } from '../core/streams.ts'
import { BufferScope } from '../device/contract.ts'
import { assignLeaves, createAssignLeavesWorkspace, prepareLeafCenters } from '../kernels/assign-leaves.ts'
import { assignLists, NO_LABEL } from '../kernels/assign-lists.ts'
import type { SampleFacts } from '../models/facts.ts'
import type { ClusterModel } from '../models/model.ts'
import { growTree } from '../trees/partition-tree.ts'
import { DistinctRows } from '../vectors/distinct.ts'
import type { Frame } from '../vectors/frame.ts'
import { PointStore } from '../vectors/points.ts'
import { type RunState, writeCenters } from './run-state.ts'
import { sampleByWeight, streamedSample } from './sample.ts'

/** Points for each cluster of a sample that is clustered without another one. */
const PER_CLUSTER = 64
/** Fewer than this many are too few to begin with by default. */
const LEAST_PER_CLUSTER = 48
/** The least number of points worth taking a sample of. */
const MANY_POINTS = 2 ** 17
/** The largest sample is this share of the points: it must cost little against all of them. */
const MOST_SHARE = 1 / 4
/** With fewer points for each cluster, a sample does not pay off, even compared with all centres. */
const MOST_CLUSTERS = 4
/** The most bytes of a sample. */
const MOST_BYTES = 2 ** 29
/** About how many points of a leaf are in the sample, and the most points of a leaf. */
const SAMPLED_IN_LEAF = 16
const LARGEST_LEAF = 256

/** All points have labels; or centres, where the first round looks at every centre or shards may be on other machines. */
export type SampledStart = { readonly sample: SampleFacts } & (
  | { readonly labelled: true }
  | { readonly centers: Float32Array }
)

/** A sample as a run of its own takes it. */
export interface SampledPoints {
  readonly points: PointStore
  readonly weights: Float32Array | undefined
}

/**
 * Whether a run starts from a sample by default. Points in several domains share no tree: without a sample, their first round
 * would look at every centre. Shards that may be on other machines never start this way, because labelling their points
 * would mean reading them all on this machine, and results must not depend on where shards are.
 */
export function beginsFromSample({ points, k }: RunState): boolean {
  const { rows, layout } = points
  if (layout.separate) return false
  if (layout.domains.length > 1) return rows >= MOST_CLUSTERS * k
  return samplesPay(rows, k)
}

/** Whether this many points, in one domain, start from a sample by default. */
export function samplesPay(rows: number, k: number): boolean {
  return rows >= MANY_POINTS && rows * MOST_SHARE >= LEAST_PER_CLUSTER * k
}

/**
 * Undefined if the sample has fewer than k distinct points, or if the run was stopped. `run` clusters the sample. With
 * `inLeaves`, the method looks at the clusters of neighbours, and the points get their labels in the same way.
 */
export async function sampleStart(
  state: RunState,
  restart: number,
  inLeaves: boolean,
  run: (sample: SampledPoints) => Promise<ClusterModel | undefined>,
  onProgress?: (share: number) => void,
): Promise<SampledStart | undefined> {
  const { points, k, seed, weights, control, device } = state
  const { unit, type } = points.frame
  const random = stream(seed, 'sample start', restart)
  const size = Math.min(sampleSize(state, inLeaves), roomFor(state))
  const { indices, weights: sampled } = sampleByWeight(random, points.rows, weights, size)
  if (indices === undefined || indices.length < k) return undefined
  const source = await streamedSample(points, indices, control.signal)
  const frame: Frame = { shift: undefined, scale: 1, unit, type }
  // The sample must be a single domain: a run over several domains would start from a sample again.
  const partBytes = device.info.limits.bindingBytes
  const store = await PointStore.open(device, source, {
    frame,
    weights: sampled,
    partBytes,
    resident: true,
    held: true,
  })
  try {
    if (!(await new DistinctRows(store.source, store.frame).atLeast(k))) return undefined
    const model = await run({ points: store, weights: sampled })
    if (model === undefined) return undefined
    const sample = { rows: indices.length, rounds: model.facts.iterations.length }
    const { centers } = model.state
    if (!inLeaves || points.layout.separate) return { centers, sample }
    // All points need the memory of the sample.
    store.free()
    await labelAll(state, { indices, labels: model.labels, centers }, restart, onProgress)
    return { labelled: true, sample }
  } finally {
    store.free()
  }
}

/**
 * The number of points in the sample. `again`: the method begins from samples by default. Where a sample of the largest share is large enough to begin from a sample itself, that
 * one is taken: each sample then settles what it can tell, at the cost of a few rounds over a quarter of the points.
 */
function sampleSize({ points, k }: RunState, again: boolean): number {
  const most = Math.floor(points.rows * MOST_SHARE)
  return again && samplesPay(most, k) ? most : Math.max(2 * k, Math.min(PER_CLUSTER * k, most))
}

/**
 * The most points of a sample: it takes no more memory than a part of the points, so depends on the layout, and on the largest
 * buffer only; results must not depend on how much memory a device has.
 */
function roomFor({ device, points, k }: RunState): number {
  const rowBytes = points.stride * (points.frame.type === 'u8' ? 1 : 4)
  const most = Math.floor(Math.min(MOST_BYTES, device.info.limits.bindingBytes) / rowBytes)
  return points.layout.domains.length > 1 ? Math.min(most, Math.max(2 * k, points.largestDomain)) : most
}

interface Clustered {
  /** Numbers of the points of the sample. */
  readonly indices: Uint32Array
  readonly labels: Uint32Array
  readonly centers: Float32Array
}

/** Points keep NO_LABEL where nothing of the sample is in their part. */
async function labelAll(
  state: RunState,
  sample: Clustered,
  restart: number,
  onProgress: ((share: number) => void) | undefined,
): Promise<void> {
  const { device, centers, control } = state
  const points = await state.points.onFirstDevice()
  // Labels of all points take memory on the host: they are only collected where other devices own some of the points.
  const elsewhere = points === state.points ? undefined : new Uint32Array(points.rows).fill(NO_LABEL)
  writeCenters(state, sample.centers)
  const leafSize = Math.min(LARGEST_LEAF, Math.ceil((SAMPLED_IN_LEAF * points.rows) / sample.indices.length))
  const seed = streamSeed(state.seed, 'sample start', restart)
  const { largestPart } = points
  const scope = new BufferScope(device)
  try {
    const workspace = createAssignLeavesWorkspace(scope, largestPart, largestPart, centers)
    await prepareLeafCenters(device, centers, workspace)
    let next = 0
    for (const part of points.parts) {
      control.signal?.throwIfAborted()
      const own = new Uint32Array(part.count).fill(NO_LABEL)
      for (; next < sample.indices.length && sample.indices[next] < part.first + part.count; next++) {
        own[sample.indices[next] - part.first] = sample.labels[next]
      }
      const grown = new BufferScope(device)
      try {
        const tree = await growTree(device, grown, await points.sketch(part), leafSize, seed)
        if (!spreadAlong(own, new Uint32Array(await device.read(tree.members), 0, part.count))) {
          await points.writeLabelsOf(part, own)
          continue
        }
        const vectors = await points.vectors(part)
        const { previous, labels: found, distances } = part
        device.write(previous, own)
        const common = { points: vectors, centers, labels: found, distances }
        await assignLists(device, { ...common, lists: previous, width: 1 })
        await assignLeaves(device, { ...common, ...tree, workspace })
        elsewhere?.set(new Uint32Array(await device.read(found), 0, part.count), part.first)
        onProgress?.((part.first + part.count) / points.rows)
      } finally {
        grown.free()
      }
    }
    if (elsewhere) await state.points.writeLabels(elsewhere)
  } finally {
    scope.free()
  }
}

/**
 * Gives each point without a label the label of the last labelled point before it in tree order, which is close to it. Returns
 * false, and changes nothing, if no point has a label.
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

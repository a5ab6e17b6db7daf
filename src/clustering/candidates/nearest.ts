/**
 * A point looks at the clusters whose centres are nearest to that of its own (the k-means# paper's k0).
 * Only for updates that move points; a round that assigns looks at every centre. Cost a round: 2 k^2 d
 * for the lists, and 3 n d times their length.
 */
import { BufferScope, type DeviceBuffer } from '../../device/contract.ts'
import { assign } from '../../kernels/assign.ts'
import { DomainLabels } from '../domain-labels.ts'
import { moveBatch } from '../move-batch.ts'
import type { CandidateSource, RunState } from '../run-state.ts'
import { allCandidates } from './all.ts'
import { allocateGroups, type GroupBuffers, writeGroups } from './groups.ts'

/** Points of a cluster that share a pass over its list. */
const GROUP = 16

export function nearestCandidates(state: RunState, wanted: number): CandidateSource {
  const everything = allCandidates()
  // The own one is the nearest of all.
  const width = wanted + 1
  if (width >= state.k) return everything
  const domain = new DomainLabels(state)
  let buffers: GroupBuffers | undefined
  let lists: DeviceBuffer | undefined
  let listsFor = 0
  return {
    assign: (...args) => everything.assign(...args),
    async groups(_state, part) {
      const { device, scope, points, k } = state
      const labels = await domain.exchange(part, 'previous')
      const size = Math.min(GROUP, moveBatch(state.settings.batch as number, state.points.rows))
      const { members, offsets, clusters } = groupByLabel(labels, k, size)
      const near = await nearestClusters(state, width)
      if (lists === undefined || clusters.length > listsFor) {
        // Labels differ from round to round, and with them how many groups are not full.
        lists?.free()
        listsFor = Math.min(points.largestDomain, Math.ceil(points.largestDomain / size) + k)
        lists = scope.allocate(listsFor * width * 4, 'nearest clusters')
      }
      const words = new Uint32Array(clusters.length * width)
      clusters.forEach((cluster, group) => {
        words.set(near.subarray(cluster * width, (cluster + 1) * width), group * width)
      })
      device.write(lists, words)
      buffers ??= allocateGroups(state)
      return [writeGroups(state, buffers, members, offsets, { lists, width })]
    },
  }
}

/** For every cluster the `width` nearest, itself among them: u32 [k][width]. */
async function nearestClusters(state: RunState, width: number): Promise<Uint32Array> {
  const { device, centers, k, assignWorkspace: workspace } = state
  const scope = new BufferScope(device)
  try {
    const labels = scope.allocate(k * width * 4, 'nearest clusters')
    const distances = scope.allocate(k * width * 4, 'distances between clusters')
    await assign(device, { points: centers, centers, labels, distances, m: width, workspace })
    return new Uint32Array(await device.read(labels), 0, k * width)
  } finally {
    scope.free()
  }
}

/** Points sorted by label (counting sort), in groups of at most `size` of one cluster. */
export function groupByLabel(
  labels: Uint32Array,
  k: number,
  size: number,
): { members: Uint32Array; offsets: Uint32Array; clusters: Uint32Array } {
  const begins = new Uint32Array(k + 1)
  for (const label of labels) begins[label + 1]++
  for (let cluster = 0; cluster < k; cluster++) begins[cluster + 1] += begins[cluster]
  const next = begins.slice()
  const members = new Uint32Array(labels.length)
  labels.forEach((label, point) => {
    members[next[label]++] = point
  })
  const offsets: number[] = []
  const clusters: number[] = []
  for (let cluster = 0; cluster < k; cluster++) {
    for (let at = begins[cluster]; at < begins[cluster + 1]; at += size) {
      offsets.push(at)
      clusters.push(cluster)
    }
  }
  return { members, offsets: Uint32Array.from([...offsets, labels.length]), clusters: Uint32Array.from(clusters) }
}

/**
 * The candidates are those listed by a custom function, and the current centre, so the objective never rises. Cost a round:
 * the function on the host, and 3 n (width + 1) d operations.
 */
import { badArgument, badOption } from '../../core/errors.ts'
import { stream } from '../../core/streams.ts'
import type { DeviceBuffer } from '../../device/contract.ts'
import { assignLists, NO_LABEL } from '../../kernels/assign-lists.ts'
import type { PointPart } from '../../vectors/point-part.ts'
import type { CandidateRequest, CandidateTable, OwnMethod } from '../own-method.ts'
import type { CandidateSource, RunState } from '../run-state.ts'
import { wideCenters } from '../wide-centers.ts'

type Choose = Exclude<OwnMethod['candidates'], string | undefined>

export function givenCandidates(state: RunState, choose: Choose): CandidateSource {
  let room: { readonly lists: DeviceBuffer; readonly bytes: number } | undefined
  const upload = (words: Uint32Array): DeviceBuffer => {
    const { device, scope } = state
    if (room === undefined || room.bytes < words.byteLength) {
      room?.lists.free()
      room = { lists: scope.allocate(words.byteLength, 'candidates'), bytes: words.byteLength }
    }
    device.write(room.lists, words)
    return room.lists
  }
  return {
    async assign(_state, part, vectors, round) {
      const { device, centers, labelled, k } = state
      const { labels, distances, previous } = part
      const before = labelled ? new Uint32Array(await device.read(previous), 0, part.count).slice() : undefined
      const table = checkedTable(
        await choose(requestFor(state, part, round, before)),
        part,
        k,
        device.info.limits.bufferBytes,
      )
      if (before === undefined) requireCandidates(table, part)
      const { width, clusters } = table
      if (before) await assignLists(device, { points: vectors, centers, lists: previous, width: 1, labels, distances })
      const evaluated = clusters.reduce((sum, cluster) => sum + (cluster === NO_LABEL ? 0 : 1), 0)
      if (evaluated > 0) {
        const lists = upload(clusters)
        await assignLists(device, { points: vectors, centers, lists, width, labels, distances, merge: labelled })
      }
      return evaluated + (labelled ? part.count : 0)
    },
  }
}

function requestFor(
  state: RunState,
  { first, count }: PointPart,
  iteration: number,
  labels: Uint32Array | undefined,
): CandidateRequest {
  const { points, k, seed } = state
  return {
    iteration,
    first,
    count,
    k,
    labels,
    centers: () => wideCenters(state),
    vectors: () => points.source.read(first, first + count),
    random: stream(seed, 'given', iteration, first),
  }
}

function checkedTable(table: unknown, { count }: PointPart, k: number, bufferBytes: number): CandidateTable {
  const thing = 'the result of candidates'
  const { clusters, width } = (table ?? {}) as Partial<CandidateTable>
  if (!(clusters instanceof Uint32Array) || !Number.isInteger(width) || Number(width) < 1) {
    throw badArgument(
      thing,
      table,
      'return { clusters, width }: a Uint32Array, and the number of candidates of each vector.',
    )
  }
  if (clusters.length !== count * Number(width)) {
    throw badArgument(`${thing}.clusters`, clusters, `return ${count} x ${width} numbers, ${width} for each vector.`)
  }
  if (clusters.byteLength > bufferBytes) {
    throw badOption(
      'shards',
      undefined,
      `the lists of candidates exceed the largest buffer of the device; divide the vectors into shards.`,
    )
  }
  for (const cluster of clusters) {
    if (cluster >= k && cluster !== NO_LABEL) {
      throw badArgument(`a number in ${thing}`, cluster, `return clusters below ${k}, or 0xffffffff for none.`)
    }
  }
  return { clusters, width: Number(width) }
}

/** A vector that has no cluster yet gets one only from its list. */
function requireCandidates({ clusters, width }: CandidateTable, { first, count }: PointPart): void {
  for (let row = 0; row < count; row++) {
    let empty = true
    for (let j = 0; j < width; j++) if (clusters[row * width + j] !== NO_LABEL) empty = false
    if (empty) {
      throw badArgument(
        'the result of candidates',
        clusters,
        `vector ${first + row} has no candidates and no cluster yet; list at least one.`,
      )
    }
  }
}

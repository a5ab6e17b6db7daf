/** Runs the kernels of k-means# on the buffers of one case. */

import { expect } from 'vitest'
import { moveBatches } from '../../src/kernels/apply-moves.ts'
import { createMoveSchedule, type MoveBatch, type PointGroups } from '../../src/kernels/move-batch.ts'
import { moveGainsJobs, moveGainsPasses } from '../../src/kernels/move-gains.ts'
import { createMovingClusters, prepareMoves } from '../../src/kernels/moving-clusters.ts'
import { type DeviceRows, paddedCols, padRows } from '../../src/kernels/rows.ts'
import { type CaseBuffers, type OpenedDevice, type Output, unpadded } from './devices.ts'
import { candidatesOf, largestGroup, type MoveCase, MoveOracle, NONE } from './moves.ts'
import { countOf, longest } from './oracles.ts'
import { holds, rowsOf, type Window } from './windows.ts'

export interface PreparedCase {
  readonly batch: MoveBatch
  readonly centers: Output
  readonly labels: Output
  readonly proposals: Output
  readonly evaluated: Output
  readonly rows: DeviceRows
}

/**
 * Everything on the device, centres as the means of the labels, masses by prepareMoves. With a window the clusters are
 * those of all points, and the device holds only the points of the window.
 */
export async function prepareCase(buffers: CaseBuffers, given: MoveCase, window?: Window): Promise<PreparedCase> {
  const { x, k, unit, among } = given
  const { device } = buffers
  const d = x.cols
  const held = window ?? { from: 0, to: countOf(x) }
  const oracle = new MoveOracle(given)
  const measured = Array.from({ length: k }, (_, j) => oracle.measure(oracle.pointsOf(j)))
  const flat = (part: 'sum' | 'center'): Float32Array => Float32Array.from(measured.flatMap((one) => [...one[part]]))
  const type = x.data instanceof Uint8Array ? 'u8' : 'f32'
  const centers = buffers.output(k * paddedCols(d) * 4, padRows(flat('center'), k, d))
  const rows: DeviceRows = { buffer: centers.buffer, rows: k, cols: d, stride: paddedCols(d), type: 'f32' }
  const clusters = createMovingClusters(device, buffers.scope, rows, { type, unit, longest: longest(x) })
  await prepareMoves(device, {
    sums: buffers.rows(flat('sum'), d).buffer,
    totals: buffers.upload(Float32Array.from(measured, ({ total }) => total)),
    counts: buffers.upload(Uint32Array.from({ length: k }, (_, j) => oracle.pointsOf(j).size)),
    clusters,
  })
  const largest = largestGroup(given)
  const count = given.offsets.length - 1
  const groups: PointGroups = {
    members: buffers.upload(given.members),
    offsets: buffers.upload(given.offsets),
    groups: count,
    largest,
    among: typeof among === 'object' ? { lists: buffers.upload(among.lists), width: among.width } : among,
    around: window && { labels: buffers.upload(given.labels), from: held.from, rows: countOf(x) },
  }
  const labels = buffers.output((held.to - held.from) * 4, rowsOf(given.labels, held))
  const proposals = buffers.output(count * largest * 4)
  const evaluated = buffers.output(count * 4)
  const gpu =
    device.info.kind === 'webgpu'
      ? {
          batch: buffers.output(count * largest * 16).buffer,
          candidates: buffers.output(count * largest * 4).buffer,
        }
      : undefined
  const batch: MoveBatch = {
    points: buffers.rows(rowsOf(x.data, held, d), d),
    weights: given.weights && buffers.upload(rowsOf(given.weights, held)),
    labels: labels.buffer,
    clusters,
    groups,
    order: buffers.upload(given.order),
    firstGroup: 0,
    count,
    first: given.first,
    workspace: { proposals: proposals.buffer, evaluated: evaluated.buffer, ...(gpu ? { gpu } : {}) },
  }
  return { batch, centers, labels, proposals, evaluated, rows }
}

export interface Outcome {
  readonly labels: Uint32Array
  readonly proposals: Uint32Array
  readonly centers: Float32Array
  /** Mass and number of points, cluster by cluster. */
  readonly masses: Float32Array
  /** What is proposed next, with clusters as the moves left them. */
  readonly next: Uint32Array
}

/** Batches of `size` groups: all of them at once if there is none. With a window only its points are held, and moved. */
export async function runMoves(
  opened: OpenedDevice,
  given: MoveCase,
  batchGroups = given.order.length,
  window?: Window,
  scheduled = false,
): Promise<Outcome> {
  return opened.use(async (buffers) => {
    const { batch: prepared, proposals, labels, centers } = await prepareCase(buffers, given, window)
    const { device, scope } = buffers
    const schedule = scheduled ? createMoveSchedule(device, scope, countOf(given.x) * 9, given.k) : undefined
    const batch = { ...prepared, workspace: { ...prepared.workspace, ...(schedule && { schedule }) } }
    const batches: MoveBatch[] = []
    for (let first = 0; first < given.order.length; first += batchGroups)
      batches.push({ ...batch, firstGroup: first, count: Math.min(batchGroups, given.order.length - first) })
    await moveBatches(buffers.device, batches)
    const { masses } = batch.clusters
    const done = await proposals.words()
    await buffers.device.run({
      name: 'what comes next',
      webgpu: (gpu) => moveGainsPasses(gpu, batch),
      cpu: (memory) => moveGainsJobs(memory, batch),
    })
    const all = given.labels.slice()
    all.set(await labels.words(), window?.from)
    return {
      labels: all,
      proposals: done,
      next: await proposals.words(),
      centers: unpadded(await centers.floats(), given.k, given.x.cols),
      masses: new Float32Array(await buffers.device.read(masses), 0, given.k * 2),
    }
  })
}

export interface Place {
  readonly group: number
  readonly point: number
  /** Where its proposal stands. */
  readonly place: number
}

/** Places of a batch one after the other. */
export function* placesOf(given: MoveCase, firstGroup = 0, count = given.order.length): Generator<Place> {
  const largest = largestGroup(given)
  for (let g = 0; g < count; g++) {
    const group = given.order[firstGroup + g]
    for (let at = given.offsets[group]; at < given.offsets[group + 1]; at++)
      yield { group, point: given.members[at], place: g * largest + at - given.offsets[group] }
  }
}

/** Groups of a batch and how many of their points are held. */
export function heldInGroups(given: MoveCase, window: Window): number[] {
  const counts = new Array<number>(given.offsets.length - 1).fill(0)
  for (const { group, point } of placesOf(given)) if (holds(window, point)) counts[group]++
  return counts
}

/** The best move as clusters stand, or one that pays where the first is asked for; nothing only where nothing pays. */
export function expectProposals(
  given: MoveCase,
  oracle: MoveOracle,
  proposals: Uint32Array,
  places: Iterable<Place>,
): void {
  const wrong: string[] = []
  const candidates = new Map<number, Set<number>>()
  for (const { group, point, place } of places) {
    const own = oracle.labels[point]
    const leave = oracle.mayLeave(point)
    if (leave === 'perhaps') continue
    const among = candidates.get(group) ?? candidatesOf({ ...given, labels: oracle.labels }, group)
    candidates.set(group, among)
    const others = [...among].filter((candidate) => candidate !== own)
    const gains = others.map((candidate) => oracle.gainOf(point, candidate))
    const sure = leave === 'no' ? [] : gains.map(({ gain, slack }) => gain - slack)
    const best = Math.max(0, ...sure)
    const proposed = proposals[place]
    const found = gains[others.indexOf(proposed)]
    const needed = given.first ? 0 : best
    if (proposed === NONE ? best > 0 : leave === 'no' || !found || !(found.gain + found.slack >= needed))
      wrong.push(
        `point ${point} of cluster ${own}: ${proposed === NONE ? 'stays' : `to ${proposed}`}, ${JSON.stringify(found)}, surely to be had ${best}`,
      )
  }
  expect(wrong).toEqual([])
}

/** Runs the kernels of k-means# on the buffers of one case. */

import { prepareMoves } from '../../src/kernels/apply-moves.ts'
import { createMovingClusters, type MoveBatch, type PointGroups } from '../../src/kernels/move-gains.ts'
import { type DeviceRows, paddedCols, padRows } from '../../src/kernels/rows.ts'
import type { CaseBuffers, Output } from './devices.ts'
import { largestGroup, type MoveCase, MoveOracle } from './moves.ts'
import { countOf, longest } from './oracles.ts'

export interface PreparedCase {
  readonly batch: MoveBatch
  readonly centers: Output
  readonly labels: Output
  readonly proposals: Output
  readonly looked: Output
  readonly rows: DeviceRows
}

/** Everything on the device, centres as the means of the labels, masses by prepareMoves. */
export async function prepareCase(buffers: CaseBuffers, given: MoveCase): Promise<PreparedCase> {
  const { x, k, unit, among } = given
  const { device } = buffers
  const d = x.cols
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
  }
  const labels = buffers.output(countOf(x) * 4, given.labels)
  const proposals = buffers.output(count * largest * 4)
  const looked = buffers.output(count * 4)
  const gpu =
    device.info.kind === 'webgpu'
      ? {
          batch: buffers.output(count * largest * 16).buffer,
          candidates: buffers.output(count * largest * 4).buffer,
        }
      : undefined
  const batch: MoveBatch = {
    points: buffers.rows(x.data, d),
    weights: given.weights && buffers.upload(given.weights),
    labels: labels.buffer,
    clusters,
    groups,
    order: buffers.upload(given.order),
    firstGroup: 0,
    count,
    first: given.first,
    workspace: { proposals: proposals.buffer, looked: looked.buffer, ...(gpu ? { gpu } : {}) },
  }
  return { batch, centers, labels, proposals, looked, rows }
}

/** Places of a batch one after the other: the group, the point, and where its proposal stands. */
export function* placesOf(
  given: MoveCase,
  firstGroup = 0,
  count = given.order.length,
): Generator<{ group: number; point: number; place: number }> {
  const largest = largestGroup(given)
  for (let g = 0; g < count; g++) {
    const group = given.order[firstGroup + g]
    for (let at = given.offsets[group]; at < given.offsets[group + 1]; at++)
      yield { group, point: given.members[at], place: g * largest + at - given.offsets[group] }
  }
}

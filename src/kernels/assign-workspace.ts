/** How the hardware forms of assign divide the workspace and the centres. Pure. */

import { UNSURE } from '../../shaders/assign-pieces.ts'
import { SCALAR } from '../../shaders/assign-scalar.ts'

/** Workgroups that fill a large GPU. With fewer, centres are divided among several workgroups. */
const ENOUGH_GROUPS = 1024
/** Bindings begin at multiples of this in any adapter. */
const ALIGNMENT = 256
/** Lanes with fewer centres read points more often, which costs about this much. */
const PER_LANE = [
  { perLane: 4, cost: 1 },
  { perLane: 2, cost: 1.03 },
  { perLane: 1, cost: 1.1 },
]

/** From here on bytes are scored as integers, which then pays for a second packing. More columns could overflow. */
export const BYTES_FROM = { centers: 2 * SCALAR.threads + 1, stride: 16 }
export const BYTES_MOST_STRIDE = 65536

export interface PackedCenters {
  /** Centres of a lane. */
  readonly perLane: number
  /** Centres of a block: what all lanes own together. */
  readonly block: number
  /** Centres with padding, whole blocks. */
  readonly padded: number
}

/** Centres of a lane so that padding costs least. */
export function packedCenters(centers: number): PackedCenters {
  const choices = PER_LANE.map(({ perLane, cost }) => {
    const block = SCALAR.threads * perLane
    const padded = Math.ceil(centers / block) * block
    return { perLane, block, padded, cost: cost * padded }
  })
  return choices.reduce((best, choice) => (choice.cost < best.cost ? choice : best))
}

/** How many workgroups share the centres of a point, and how many centres each of them scores: whole blocks. */
export function splitCenters(
  rows: number,
  form: { readonly points: number; readonly centers: number; readonly block: number },
): { splits: number; each: number } {
  // Results of splits are kept for as many points as `ENOUGH_GROUPS` of the scalar form have.
  const wanted = Math.floor((ENOUGH_GROUPS * SCALAR.points) / (Math.ceil(rows / form.points) * form.points))
  const blocks = Math.ceil(form.centers / form.block)
  const each = Math.ceil(blocks / Math.max(1, Math.min(wanted, blocks)))
  return { splits: Math.ceil(blocks / each), each: each * form.block }
}

export interface WorkspaceRange {
  readonly offset: number
  readonly bytes: number
}

/** Where the parts of the workspace lie, for centres of this padding. */
export function packedLayout(padded: number, stride: number) {
  const [packed, starts, partials] = oneAfterAnother([
    padded * stride * 4,
    padded * 4,
    // Best score and centre of every point of each split.
    padded > SCALAR.threads ? ENOUGH_GROUPS * SCALAR.points * 8 : 8,
  ])
  return { packed, starts, partials, bytes: partials.offset + partials.bytes }
}

/** The same with centres as bytes: `starts` of both kinds, and a list of unsure points. */
export function bytesLayout(padded: number, stride: number) {
  const [packed, starts, bytePacked, byteStarts, mean, unsure] = oneAfterAnother([
    padded * stride * 4,
    padded * 4,
    padded * Math.ceil(stride / 16) * 16,
    padded * 4,
    stride * 4,
    (UNSURE.rows + unsureRows(padded)) * 4,
  ])
  return { packed, starts, bytePacked, byteStarts, mean, unsure, bytes: unsure.offset + unsure.bytes }
}

function oneAfterAnother(sizes: readonly number[]): WorkspaceRange[] {
  let end = 0
  return sizes.map((bytes) => {
    const offset = Math.ceil(end / ALIGNMENT) * ALIGNMENT
    end = offset + bytes
    return { offset, bytes }
  })
}

/** Points of a pass in bytes, all of which may be unsure. More where centres take more memory than the list. */
export function unsureRows(padded: number): number {
  return Math.min(2 ** 18, padded * 256)
}

/** Bytes of the workspace for up to `rows` centres, however they are cut. */
export function packedBytes({ rows, stride }: { rows: number; stride: number }): number {
  const { threads } = SCALAR
  const padded =
    rows <= 2 * threads ? Math.ceil(rows / threads) * threads : Math.ceil(rows / (4 * threads)) * 4 * threads
  const floats = packedLayout(padded, stride).bytes
  return rows < BYTES_FROM.centers || stride < BYTES_FROM.stride
    ? floats
    : Math.max(floats, bytesLayout(padded, stride).bytes)
}

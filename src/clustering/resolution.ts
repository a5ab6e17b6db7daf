/**
 * Centres are kept in the frame with more digits than 32-bit floats have in the input's units. Where that
 * difference counts against the distortion (vectors a few float steps apart), centres are rounded to what the
 * caller gets after every round, and the distortion is measured anew, so that it is that of the model's centres.
 */
import type { VectorSource } from '../core/matrix.ts'
import { BufferScope } from '../device/contract.ts'
import { assignLists } from '../kernels/assign-lists.ts'
import { stageTally, type TallyResult } from '../kernels/tally.ts'
import { type Frame, floatStep, type Inspection, intoFrame, isIdentity, outOfFrame } from '../vectors/frame.ts'
import type { PartShard, PointPart } from '../vectors/point-part.ts'
import { type ShardValue, sumOf } from './partial.ts'
import { type RunState, readCenters, writeCenters } from './run-state.ts'

/** Rounding that adds less than this share to the distortion is ignored. */
const IGNORED = 2 ** -20

/**
 * The most that rounding a centre to the input's units can add to a squared distance; 0 where it changes nothing. Vectors of
 * 64 bits may lie where 32-bit floats cannot tell them apart: their centres stay as they are in the frame.
 */
export function roundingError({ largest }: Inspection, frame: Frame, { cols, read64 }: VectorSource): number {
  return isIdentity(frame) || frame.unit || read64 ? 0 : cols * (floatStep(largest) / 2) ** 2
}

export function roundingCounts(error: number, distortion: number): boolean {
  return error > IGNORED * distortion
}

/** On the leading device; the others follow. */
export async function roundCenters(state: RunState): Promise<void> {
  const { frame, cols } = state.points
  const rounded = outOfFrame(await readCenters(state), cols, frame)
  writeCenters(state, intoFrame(rounded, cols, { ...frame, type: 'f32' }) as Float32Array)
  await state.team.shareCenters()
}

/** Mean squared distance in the input's units, from the sum in the frame. */
export function distortionOf({ points, totalWeight }: RunState, squares: number): number {
  const { scale } = points.frame
  return squares / totalWeight / (scale * scale)
}

/** Sum of weighted squared distances to the centres as they stand now, in the frame. */
export async function measureSquares({ team }: RunState): Promise<number> {
  const [remote, own] = await Promise.all([team.ask('squares', {}), team.everywhere(measureOwn)])
  return sumOf([...own, ...remote].flat())
}

/** Of the shards of one device. */
export async function measureOwn({ device, points, parts, centers }: RunState): Promise<ShardValue[]> {
  const scope = new BufferScope(device)
  const squares: ShardValue[] = []
  try {
    const own = scope.allocate(points.largestPart * 4, 'own labels')
    for (const part of parts) {
      const vectors = await points.vectors(part)
      const { labels, distances } = part
      const bytes = part.count * 4
      device.copy({ buffer: labels, offset: 0, bytes }, { buffer: own, offset: 0, bytes })
      await assignLists(device, { points: vectors, centers, lists: own, width: 1, labels, distances })
      for (const shard of part.shards)
        squares.push({ shard: shard.index, value: (await (await tallyShard(part, shard))()).sum })
    }
    return squares
  } finally {
    scope.free()
  }
}

/**
 * Sum of weighted squared distances of a shard, and how many of its labels differ from those of the round before: what is
 * returned reads that, see `Device.stage`.
 */
export function tallyShard(part: PointPart, { from, count }: PartShard): Promise<() => Promise<TallyResult>> {
  return stageTally(part.device, {
    count: part.count,
    values: part.distances,
    weights: part.weights,
    left: part.labels,
    right: part.previous,
    sums: part.sums,
    differences: part.differences,
    range: { from, count },
  })
}

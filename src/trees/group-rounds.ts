/**
 * The rounds of many small k-means at once: by Lloyd, or by moves of single points after a first round
 * of Lloyd. Every group of points has its own few centres, all groups share the passes.
 */
import type { Random } from '../core/random.ts'
import { BufferScope, type Device, type DeviceBuffer, type RunControl } from '../device/contract.ts'
import { accumulate, createAccumulateWorkspace } from '../kernels/accumulate.ts'
import { assignGroups } from '../kernels/assign-groups.ts'
import { assignLists, NO_LABEL } from '../kernels/assign-lists.ts'
import { means } from '../kernels/means.ts'
import type { PointGroups } from '../kernels/move-batch.ts'
import { type MeasuredPoints, measurePoints, moveThrough } from '../kernels/move-through.ts'
import { createMovingClusters, prepareMoves } from '../kernels/moving-clusters.ts'
import { allocateRows, type DeviceRows, readRows, writeRows } from '../kernels/rows.ts'
import type { TreePart, TreePoints } from '../vectors/tree-points.ts'

export interface GroupOptions {
  readonly rounds: number
  /** Lloyd (default), or moves of single points. */
  readonly splitMethod?: 'lloyd' | 'sharp' | undefined
  /** What `measurePoints` says of the points, where it is known already. */
  readonly measured?: MeasuredPoints | undefined
  /** 'spread': distances to the children's centres are measured. */
  readonly splitOrder?: 'size' | 'spread' | undefined
  /** Centres are brought to length one. */
  readonly unit?: boolean
  readonly control?: RunControl
}

export interface Groups {
  /** [groups][2]: first centre, and how many. */
  readonly groups: Uint32Array
  /** Centres of the largest group. */
  readonly width: number
  /** Centres to begin with. */
  readonly start: Float32Array
  /** The group of each point, NO_LABEL for none. */
  readonly places: Uint32Array
}

export interface SplitGroups {
  /** The centre of each point that is in a group. */
  readonly labels: Uint32Array
  readonly centers: Float32Array
  /** Squared, of each point that is in a group, where they were asked for. */
  readonly distances: Float32Array | undefined
}

/** Points that share a pass over their candidates when they move. */
const MOVING_TOGETHER = 16
/** Points whose moves are proposed at a time: a node must not change under too many of its own. */
const BATCH = 4096

interface HeldPart {
  readonly part: TreePart
  readonly places: DeviceBuffer
  readonly labels: DeviceBuffer
}

export async function runGroups(
  device: Device,
  points: TreePoints,
  given: Groups,
  random: Random,
  { rounds, splitMethod, splitOrder, measured, unit = false, control }: GroupOptions,
): Promise<SplitGroups> {
  const { groups, width, start, places } = given
  const { cols, stride } = points
  const k = start.length / cols
  const scope = new BufferScope(device)
  try {
    const centers = allocateRows(scope, k, cols, 'f32', 'centres of children')
    writeRows(device, centers, start)
    const table = scope.upload(groups, 'groups')
    const sums = scope.allocate(k * stride * 4, 'sums of children')
    const totals = scope.allocate(k * 4, 'weights of children')
    const counts = scope.allocate(k * 4, 'sizes of children')
    const gains = scope.allocate(k * 4, 'gains of children')
    const largest = points.parts.reduce((most, { count }) => Math.max(most, count), 0)
    const sparse = points.sparse !== undefined
    const workspace = createAccumulateWorkspace(device, scope, largest, stride, k, sparse)
    const held: HeldPart[] = points.parts.map((part) => ({
      part,
      places: scope.upload(places.subarray(part.first, part.first + part.count), 'groups of points'),
      labels: scope.allocate(part.count * 4, 'children of points'),
    }))
    /** Lets the points choose, part by part, then gives every child its mean. */
    const round = async (choose: (held: HeldPart, vectors: DeviceRows) => Promise<void>): Promise<void> => {
      for (const one of held) {
        const vectors = await one.part.vectors()
        await choose(one, vectors)
        const add = one.part.first > 0
        const { labels } = one
        const { weights } = one.part
        await accumulate(device, { points: vectors, labels, weights, k, sums, totals, counts, add, workspace })
      }
      await means(device, { sums, totals, centers, gains, unit })
      control?.signal?.throwIfAborted()
    }
    const lloyd = ({ places: at, labels }: HeldPart, vectors: DeviceRows): Promise<void> =>
      assignGroups(
        device,
        { points: vectors, centers, groups: table, width, places: at, labels },
        { signal: control?.signal },
      )
    if (splitMethod === 'sharp') {
      await round(lloyd)
      const clusters = createMovingClusters(device, scope, centers, {
        ...(measured ?? (await measurePoints(device, points))),
        unit,
      })
      const moving = held.map(({ part }) => groupsOfPart(scope, part, given))
      for (let turn = 0; turn < rounds; turn++) {
        await prepareMoves(device, { sums, totals, counts, clusters })
        await round(async (one, vectors) => {
          const among = moving[held.indexOf(one)]
          if (among === undefined) return
          const { weights } = one.part
          const work = { points: vectors, weights, labels: one.labels, clusters, groups: among, first: false }
          await moveThrough(device, work, BATCH, random, { signal: control?.signal })
        })
      }
    } else {
      for (let turn = 0; turn < rounds; turn++) await round(lloyd)
    }
    const labels = new Uint32Array(points.rows)
    for (const { part, labels: own } of held) {
      labels.set(new Uint32Array(await device.read(own), 0, part.count), part.first)
    }
    const distances = splitOrder === 'spread' ? await measureOwn(device, points, centers, held) : undefined
    return { labels, centers: await readRows(device, centers), distances }
  } finally {
    scope.free()
  }
}

/** The part's points by group, in small runs, each with the centres of its group. Undefined if none is in a group. */
function groupsOfPart(
  scope: BufferScope,
  { first, count }: TreePart,
  { groups, width, places }: Groups,
): PointGroups | undefined {
  const members: number[][] = Array.from({ length: groups.length / 2 }, () => [])
  for (let point = 0; point < count; point++) {
    const group = places[first + point]
    if (group !== NO_LABEL) members[group].push(point)
  }
  const order: number[] = []
  const offsets: number[] = []
  const lists: number[] = []
  members.forEach((points, group) => {
    for (let at = 0; at < points.length; at += MOVING_TOGETHER) {
      offsets.push(order.length)
      for (const point of points.slice(at, at + MOVING_TOGETHER)) order.push(point)
      // A group with fewer children than others names its last one again.
      for (let i = 0; i < width; i++) lists.push(groups[group * 2] + Math.min(i, groups[group * 2 + 1] - 1))
    }
  })
  if (order.length === 0) return undefined
  offsets.push(order.length)
  return {
    members: scope.upload(Uint32Array.from(order), 'points by group'),
    offsets: scope.upload(Uint32Array.from(offsets), 'runs of points'),
    groups: offsets.length - 1,
    largest: Math.min(MOVING_TOGETHER, order.length),
    among: { lists: scope.upload(Uint32Array.from(lists), 'centres of runs'), width },
  }
}

async function measureOwn(
  device: Device,
  points: TreePoints,
  centers: DeviceRows,
  held: readonly HeldPart[],
): Promise<Float32Array> {
  const all = new Float32Array(points.rows)
  const scope = new BufferScope(device)
  try {
    for (const { part, labels } of held) {
      const again = scope.allocate(part.count * 4, 'labels again')
      const distances = scope.allocate(part.count * 4, 'distances')
      const vectors = await part.vectors()
      await assignLists(device, { points: vectors, centers, lists: labels, width: 1, labels: again, distances })
      all.set(new Float32Array(await device.read(distances), 0, part.count), part.first)
    }
    return all
  } finally {
    scope.free()
  }
}

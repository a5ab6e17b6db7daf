/**
 * halve-groups: rounds of many 2-means at once, group by group: `assign-groups` and `accumulate` in one pass, in which the two
 * centres of a group are at hand and each row is read once. CPU only, for dense rows.
 * Bytes are divided by the plane between the centres, in integers: points very near to it may go to either side.
 * Cost: 8 n d operations a round, 4 n d of bytes, whatever the number of groups.
 */
import type { BufferScope, Device, DeviceBuffer } from '../device/contract.ts'
import { elements, mayRead, reads, writes } from '../device/fields.ts'
import { sortByLabelKernel } from './accumulate.ts'
import { declareKernel } from './declared-kernel.ts'
import { DENSE_VECTORS, READ_ROWS } from './kernel-fields.ts'
import type { DeviceRows } from './rows.ts'

/** What both steps take. */
const GROUP_FIELDS = {
  points: DENSE_VECTORS,
  order: reads('u32'),
  offsets: reads('u32'),
  groups: 'host',
  centers: READ_ROWS,
} as const

const groupsOf = ({ groups }: { readonly groups: number }): number => groups
const grain = ({ points, groups }: { readonly points: DeviceRows; readonly groups: number }): number =>
  Math.min(groups, Math.max(1, Math.round((1e5 * groups) / (points.rows * points.stride))))

export const halveGroupsKernel = declareKernel('halve-groups', {
  args: {
    ...GROUP_FIELDS,
    weights: mayRead('f32'),
    sums: writes('f32'),
    totals: writes('f32'),
    labels: writes('u32'),
  },
  items: groupsOf,
  cpu: {
    entry: 'halveGroups',
    scratch: {
      /** Sums of both halves. */
      partial: ({ points }) => 2 * points.stride * 4,
      /** From one centre to the other, in integers and in floats. */
      plane: ({ points }) => Math.ceil(points.stride / 8) * 16 + points.stride * 4,
    },
    grain,
  },
})

export const measureHalvesKernel = declareKernel('measure-halves', {
  args: { ...GROUP_FIELDS, labels: reads('u32'), distances: writes('f32') },
  items: groupsOf,
  cpu: { entry: 'measureHalves', scratch: { touched: () => 4 }, grain },
})

/** Points by group. */
export interface ListedGroups {
  /** u32: numbers of the points that are in a group. */
  readonly order: DeviceBuffer
  /** u32 [groups + 1] */
  readonly offsets: DeviceBuffer
  readonly groups: number
}

/** Lists `count` points by group. `places`: u32, the group of each; numbers beyond the groups stand for none. */
export async function listGroups(
  device: Device,
  scope: BufferScope,
  places: DeviceBuffer,
  count: number,
  groups: number,
): Promise<ListedGroups> {
  const order = scope.allocate(count * 4, 'points by group')
  const offsets = scope.allocate((groups + 1) * 4, 'where groups begin')
  const pieces = scope.allocate((groups + 1) * 4, 'pieces of groups')
  await sortByLabelKernel.run(device, {
    ...{ labels: elements(places, count), from: 0, n: count, k: groups },
    ...{ offsets: elements(offsets), pieces: elements(pieces), order: elements(order) },
  })
  pieces.free()
  return { order, offsets, groups }
}

export interface HalvingArgs {
  readonly points: DeviceRows
  readonly weights?: DeviceBuffer | undefined
  readonly listed: ListedGroups
  /** Two rows for each group. */
  readonly centers: DeviceRows
  /** f32 [2 groups][stride] and f32 [2 groups]: sums and weights of the halves, on top of what is there. */
  readonly sums: DeviceBuffer
  readonly totals: DeviceBuffer
  /** u32 [n]: the half of each point that is in a group. */
  readonly labels: DeviceBuffer
}

/** Every point of a group goes to the nearer half; of two that are equally near, to the first. */
export function halveGroupsOnce(device: Device, args: HalvingArgs): Promise<void> {
  const { points, weights, centers, sums, totals } = args
  return halveGroupsKernel.run(device, {
    ...groupArgs(args),
    weights: elements(weights, points.rows),
    sums: elements(sums, centers.rows * centers.stride),
    totals: elements(totals, centers.rows),
  })
}

/** distances: f32 [n], squared, of each point that is in a group to the centre of its half. */
export function measureHalves(
  device: Device,
  { distances, ...args }: Omit<HalvingArgs, 'sums' | 'totals' | 'weights'> & { readonly distances: DeviceBuffer },
): Promise<void> {
  return measureHalvesKernel.run(device, {
    ...groupArgs(args),
    distances: elements(distances, args.points.rows),
  })
}

function groupArgs({ points, listed, centers, labels }: Omit<HalvingArgs, 'sums' | 'totals' | 'weights'>) {
  const { order, offsets, groups } = listed
  return {
    ...{ points, centers, groups },
    order: elements(order),
    offsets: elements(offsets),
    labels: elements(labels, points.rows),
  }
}

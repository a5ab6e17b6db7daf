/** Points that are part of something larger: a tree, or groups, over rows of which this device holds only some. */
import type { CpuMemory, DeviceBuffer } from '../device/contract.ts'
import type { DeviceRows } from './rows.ts'

/**
 * The domain that trees and groups are made of: members are numbers of its rows. The points of a kernel are rows `from` to
 * `from + points.rows` of it, and whatever goes with them (labels, distances, weights) begins there too. All members of a leaf
 * or group lend their labels as candidates; only those that are points of this device are processed. What comes of a point does
 * not depend on which others are.
 */
export interface Around {
  /** u32 [rows]: labels of the whole domain, those of the points themselves included. */
  readonly labels: DeviceBuffer
  /** Where the points begin in the domain. */
  readonly from: number
  /** Rows of the domain. */
  readonly rows: number
}

/** Without anything around them, points are their own domain. */
export function domainOf(points: DeviceRows, labels: DeviceBuffer, around?: Around): Around {
  return around ?? { labels, from: 0, rows: points.rows }
}

/** Share of the domain's rows that are points of this device. */
export function shareOf(points: DeviceRows, { rows }: Around): number {
  return rows > 0 ? points.rows / rows : 0
}

/** Rows held where nothing is around them, as WebAssembly kernels know it: they need not look who is here. */
const ALL = 0xffffffff

/** As WebAssembly kernels take it: labels of the domain, the first row that is here, how many are. */
export function domainArgs(memory: CpuMemory, points: DeviceRows, labels: DeviceBuffer, around?: Around): number[] {
  const domain = domainOf(points, labels, around)
  return [memory.address(domain.labels, domain.rows * 4), domain.from, around ? points.rows : ALL]
}

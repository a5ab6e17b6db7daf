/** Points that are part of something larger: a tree, or groups, over rows of which this device holds only some. */
import type { DeviceBuffer } from '../device/contract.ts'
import { elements, reads } from '../device/fields.ts'
import { SharedConstants } from './declared-function.ts'
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

/** `held` of WebAssembly functions where every member is a point of this device, so that none has to be checked. */
const ALL_HELD = 0xffffffff

export const aroundConstants = new SharedConstants({ ALL_HELD: { type: 'u32', value: ALL_HELD } })

/** Arguments of WebAssembly functions that process some of the members of a domain. */
export const DOMAIN_FIELDS = {
  /** Labels of all rows of the domain. */
  domainLabels: reads('u32'),
  /** Where the points of this device begin in the domain. */
  domainFrom: 'u32',
  /** How many rows of the domain are points of this device; ALL_HELD if all are. */
  held: 'u32',
} as const

/** Values of DOMAIN_FIELDS. */
export function domainValues(points: DeviceRows, labels: DeviceBuffer, around?: Around) {
  const domain = domainOf(points, labels, around)
  return {
    domainLabels: elements(domain.labels, domain.rows),
    domainFrom: domain.from,
    held: around ? points.rows : ALL_HELD,
  }
}

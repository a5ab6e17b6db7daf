/** What both searches of trees over centres take: search-tree.ts and search-quantized.ts. */
import { mayRead, reads, writes } from '../device/fields.ts'
import { DENSE_VECTORS, READ_ROWS } from './kernel-fields.ts'
import type { DeviceRows } from './rows.ts'

/** Words of a node: first, count (with LEAF), column, threshold; or, with centres of nodes, its discount. */
export const NODE_WORDS = 4

export const SEARCH_FIELDS = {
  points: DENSE_VECTORS,
  centers: READ_ROWS,
  nodes: reads('vec4u'),
  /** Numbers of centres, leaf by leaf. */
  items: reads('u32'),
  checks: 'u32',
  /** Above 0: list all centres measured; a full list ends the search. */
  width: 'u32',
  merge: 'bool',
  labels: writes('u32'),
  distances: writes('f32'),
  evaluated: writes('f32'),
} as const

/** The order in which the CPU takes rows. */
export const ORDER_FIELD = { order: mayRead('u32') } as const

interface Search {
  readonly points: DeviceRows
  readonly centers: { readonly rows: number }
  readonly checks: number
}

/** Inner nodes are measured too, at most about as many as leaves hold. */
export function searchOperations({ points, centers, checks }: Search): number {
  return 3 * points.stride * (2 * Math.min(checks, centers.rows) + 64)
}

export function searchGrain(search: Search): number {
  return Math.max(16, Math.round(1e6 / searchOperations(search)))
}

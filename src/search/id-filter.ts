/** Which ids a search may find, as callers say it. */
import { badData, numberSet } from '../core/arguments.ts'
import { show } from '../core/errors.ts'
import type { CodeStore } from './code-store.ts'
import type { ListStore } from './list-store.ts'

/** Ids, or a bit for each: bit i % 8 of byte i / 8 stands for id i. */
export type IdFilter = Iterable<number> | { readonly bits: Uint8Array }

/** An IdFilter that a caller gave. Arrays and Sets stay the same object, so that searches with the same one come together. */
export function allowedIds(value: unknown, thing: string): IdFilter {
  const { bits } = (typeof value === 'object' && value !== null ? value : {}) as { bits?: unknown }
  if (bits !== undefined) {
    if (bits instanceof Uint8Array) return value as IdFilter
    throw badData(`The bits of ${thing} are ${show(bits)}: give a Uint8Array.`)
  }
  if (value instanceof Uint32Array) return value
  const known = numberSet(value, thing)
  return Array.isArray(value) || value instanceof Set ? (value as IdFilter & Iterable<number>) : known
}

/** A bit for each slot that may be found. */
export function allowedSlots(filter: IdFilter, store: ListStore): Uint8Array {
  const mask = new Uint8Array(Math.ceil(store.slots / 32) * 4)
  if ('bits' in filter) {
    const { bits } = filter
    store.forEach((id, slot) => {
      if ((bits[id >>> 3] >> (id & 7)) & 1) mask[slot >> 3] |= 1 << (slot & 7)
    })
    return mask
  }
  for (const id of filter) {
    const slot = store.slotOf(id)
    if (slot !== undefined) mask[slot >> 3] |= 1 << (slot & 7)
  }
  return mask
}

/** Rows that may be found, rising. */
export function allowedRows(filter: IdFilter, { ids }: Pick<CodeStore, 'ids'>): Uint32Array {
  if ('bits' in filter) {
    const { bits } = filter
    return rowsWhere(ids, (id) => ((bits[id >>> 3] >> (id & 7)) & 1) === 1)
  }
  const wanted = filter instanceof Set ? filter : new Set(filter)
  return rowsWhere(ids, (id) => wanted.has(id))
}

function rowsWhere(ids: Uint32Array, isAllowed: (id: number) => boolean): Uint32Array {
  const rows = new Uint32Array(ids.length)
  let count = 0
  for (let row = 0; row < ids.length; row++) if (isAllowed(ids[row])) rows[count++] = row
  return rows.slice(0, count)
}

/**
 * scan-lists: the nearest codes of queries in lists of an inverted file. A query has one look-up table for all its lists; the
 * distance of what is found is measured by differences. On a GPU that takes several steps: see list-steps.ts.
 *
 * projected: f32 [q][width], the queries along the directions of the quantizer. lists: u32 [q][probe], bases: f32 [q][probe], as
 * nearest-lists writes them. extents: u32 [k][2], first slot and number of codes of a list. codes: of slots, row by row as in
 * scan-codes, or on the CPU with `blocked` u8 [slots / 16][cells][16]; then lists begin at multiples of 16. terms: f32 [slots], |y|^2 + 2 C.y of
 * the codewords y and the centre C, or 0 with `inner`. ids: u32 [slots]. centers: f32 [k][width], centres along the directions.
 * allowed, if given: u8 [slots / 8], a bit for each slot. outIds: u32, outDistances: f32, both [q][most], nearest first, ties to
 * the lower id, NO_QUERY where there are fewer within `within`. Cost: m look-ups for each code and query, a sixteenth of the
 * instructions in blocks.
 */

import { countOf, mayRead, reads, writes } from '../device/fields.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { BOOK_FIELDS, codeLayout, ROW_CODE_FIELDS } from './scan-codes.ts'

/** Vectors of a block. */
export const SCAN_BLOCK = 16

export const scanListsConstants = new SharedConstants({ SCAN_BLOCK: { type: 'u32', value: SCAN_BLOCK } })

/** Sums of rounded entries, up to 254 for each cell, must fit 16 bits. */
const MOST_BLOCK_CELLS = 256

export const scanListsKernel = declareKernel('scan-lists', {
  args: {
    projected: reads('f32'),
    width: 'u32',
    lists: reads('u32'),
    bases: reads('f32'),
    probe: 'u32',
    extents: reads('u32'),
    ...BOOK_FIELDS,
    ...ROW_CODE_FIELDS,
    blocked: 'bool',
    terms: reads('f32'),
    ids: reads('u32'),
    centers: reads('f32'),
    allowed: mayRead('u8'),
    /** Nothing farther is found. */
    within: 'f32',
    inner: 'bool',
    /** Whether the directions span the whole space. */
    whole: 'bool',
    /** Length of the lists that are found. */
    most: 'u32',
    outIds: writes('u32'),
    outDistances: writes('f32'),
  },
  items: ({ lists, probe }) => countOf(lists) / probe,
  cpu: {
    entry: 'scanLists',
    scratch: {
      table: ({ m, h, bits, blocked }) =>
        blocked ? (m + (m % 2)) * 64 : bits === 32 ? m * h * 4 : Math.ceil((m * bits) / 8) * 1024,
      /** A subspace of the query. */
      part: ({ bookStride }) => bookStride * 4,
      /** Step, sum of the lowest entries; then entries in bytes, u8 [m][16]. */
      rounded: ({ m, blocked }) => (blocked ? 16 + (m + (m % 2)) * 16 : 0),
      /** The nearest codes so far: a CodeHeap. */
      heap: () => 32,
      /** Which of the query's lists a code was found in. */
      owners: ({ most }) => most * 4,
    },
    grain({ ids, extents, probe, m, h }) {
      const codes = (2 * ids.count * probe) / extents.count
      return Math.max(1, Math.round(2e5 / (codes * m + m * h * 8)))
    },
  },
})

/** Whether codes of this shape lie in blocks. */
export function isBlocked(m: number, codewords: number): boolean {
  const { bits, cells } = codeLayout(m, codewords)
  return bits === 4 && cells <= MOST_BLOCK_CELLS
}

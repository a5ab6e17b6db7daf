/**
 * The `most` nearest of a range of codes for each query, with look-up tables.
 *
 * The squared distance of a query to a decoded code is a sum over subspaces, so it is a sum of table entries. Four queries share a
 * table, so that one load returns the entries of all four:
 *
 *     code of a vector:   cell 0     cell 1     cell 2    ...         a cell is one byte
 *                           |          |          |
 *     table:           [256][4]   [256][4]   [256][4]                 f32 of 4 queries, 4096 bytes per cell
 *                           |          |          |
 *     distances:         f32x4  +   f32x4  +   f32x4  +  ...      =   4 distances
 *
 * A cell contains one code of up to 8 bits, two of 4, four of 2, or eight of 1. Its 256 entries are the sums for every combination
 * of these codes, so the number of loads depends only on the bytes of a code. Above 256 codewords a cell is a 32-bit word, and its
 * table has h entries.
 *
 * A code is inserted into the sorted list of a query only if its distance is below the last one in the list. All four distances
 * are compared with these limits at once, and after the first codes hardly any passes.
 *
 * An item is a task of SCAN_TASK_WORDS words: four rows of `queries` (NO_QUERY: none), the first and the last code, and the
 * number of this part. The list of query row q and part p is written to slot q * parts + p: `most` ids and distances, nearest
 * first, ties in order of ids.
 */
import { MergeRankedArgs, NO_QUERY, SCAN_TASK_WORDS, ScanCodesArgs } from './build/assembly/arguments'
import { madd } from './simd'

// The state of four queries, in fields of four words each. The first field contains the limits of the lists.
const LIST_IDS: usize = 16
const LIST_DISTANCES: usize = 32
const LIST_SUMS: usize = 48

export function scanCodes(start: u32, end: u32, scratch: usize, args: ScanCodesArgs): void {
  const m = args.m
  const h = args.h
  const bits = args.bits
  const codes = args.codes
  const codeStride = args.codeStride
  const parts = args.parts
  const most = args.most
  const ids = args.ids
  const distances = args.distances
  const lists = scratch + args.listsAt
  const packed = scratch + args.packedAt
  const cellSums = scratch + args.cellSumsAt
  const table = scratch + args.tableAt
  for (let item = start; item < end; item++) {
    const task = args.tasks + ((<usize>item * SCAN_TASK_WORDS) << 2)
    const part = load<u32>(task, 24)
    for (let lane: usize = 0; lane < 4; lane++) {
      const row = load<u32>(task + (lane << 2))
      store<f32>(lists + (lane << 2), row === NO_QUERY ? -Infinity : Infinity)
      if (row === NO_QUERY) continue
      const slot = (<usize>row * parts + part) * most
      store<u32>(lists + LIST_IDS + (lane << 2), <u32>(ids + (slot << 2)))
      store<u32>(lists + LIST_DISTANCES + (lane << 2), <u32>(distances + (slot << 2)))
      memory.fill(ids + (slot << 2), 0xff, (<usize>most) << 2)
      for (let place: usize = 0; place < <usize>most; place++) store<f32>(distances + ((slot + place) << 2), Infinity)
    }
    buildTable(task, args, packed, cellSums, table)
    const from = load<u32>(task, 16)
    const to = load<u32>(task, 20)
    if (bits === 32) scanWords(codes, codeStride, m, h, from, to, table, lists, most)
    else scanBytes(codes, codeStride, (m * bits + 7) / 8, from, to, table, lists, most)
  }
}

/** Distances of four queries to every codeword; for packed codes, to every combination that a byte can hold. */
function buildTable(task: usize, args: ScanCodesArgs, packed: usize, sums: usize, table: usize): void {
  const queries = args.queries
  const stride = args.stride
  const ranges = args.ranges
  const m = args.m
  const books = args.books
  const bookStride = args.bookStride
  const h = args.h
  const bits = args.bits
  const perCell: u32 = bits >= 8 ? 1 : 8 / bits
  for (let s: u32 = 0; s < m; s++) {
    const first = load<u32>(ranges + ((<usize>s) << 2))
    const width = load<u32>(ranges + ((<usize>s) << 2), 4) - first
    packQueries(task, queries, stride, first, width, packed)
    const inCell = s % perCell
    const out = perCell === 1 ? table : sums + ((<usize>inCell) << (4 + bits))
    const book = books + ((<usize>s * h * bookStride) << 2)
    for (let j: usize = 0; j < <usize>h; j++) {
      let word = book + ((j * bookStride) << 2)
      let sum = f32x4.splat(0)
      for (let point = packed; point < packed + ((<usize>width) << 4); point += 16) {
        const gap = f32x4.sub(v128.load(point), v128.load32_splat(word))
        sum = madd(gap, gap, sum)
        word += 4
      }
      v128.store(out + (j << 4), sum)
    }
    if (perCell > 1 && (inCell + 1 === perCell || s + 1 === m)) {
      for (let entry: usize = 0; entry < (<usize>1) << ((inCell + 1) * bits); entry++) {
        let sum = v128.load(sums + ((entry & ((1 << bits) - 1)) << 4))
        for (let other: usize = 1; other <= <usize>inCell; other++) {
          const code = (entry >> (other * bits)) & ((1 << bits) - 1)
          sum = f32x4.add(sum, v128.load(sums + (other << (4 + bits)) + (code << 4)))
        }
        v128.store(table + (entry << 4), sum)
      }
      table += 4096
    } else if (perCell === 1) {
      table += bits === 32 ? (<usize>h) << 4 : 4096
    }
  }
}

/** Columns of the task's four queries side by side; where there is no query, those of the first. */
function packQueries(task: usize, queries: usize, stride: u32, first: u32, width: u32, out: usize): void {
  const only = load<u32>(task)
  for (let lane: usize = 0; lane < 4; lane++) {
    const given = load<u32>(task + (lane << 2))
    const row = queries + ((<usize>(given === NO_QUERY ? only : given) * stride + first) << 2)
    for (let column: usize = 0; column < <usize>width; column++) {
      store<f32>(out + (column << 4) + (lane << 2), load<f32>(row + (column << 2)))
    }
  }
}

function scanBytes(
  codes: usize,
  codeStride: u32,
  cells: u32,
  from: u32,
  to: u32,
  table: usize,
  lists: usize,
  most: u32,
): void {
  let limits = v128.load(lists)
  let code = codes + <usize>from * codeStride
  const fours = <usize>cells & ~3
  for (let i = from; i < to; i++) {
    let sum = f32x4.splat(0)
    let entries = table
    let cell: usize = 0
    for (; cell < fours; cell += 4) {
      const four = load<u32>(code + cell)
      sum = f32x4.add(sum, v128.load(entries + ((<usize>four & 255) << 4)))
      sum = f32x4.add(sum, v128.load(entries + (<usize>(four >> 4) & 0xff0), 4096))
      sum = f32x4.add(sum, v128.load(entries + (<usize>(four >> 12) & 0xff0), 8192))
      sum = f32x4.add(sum, v128.load(entries + (<usize>(four >> 20) & 0xff0), 12288))
      entries += 16384
    }
    for (; cell < <usize>cells; cell++) {
      sum = f32x4.add(sum, v128.load(entries + ((<usize>load<u8>(code + cell)) << 4)))
      entries += 4096
    }
    if (v128.any_true(f32x4.lt(sum, limits))) limits = insertFour(sum, i, lists, most)
    code += codeStride
  }
}

function scanWords(
  codes: usize,
  codeStride: u32,
  m: u32,
  h: u32,
  from: u32,
  to: u32,
  table: usize,
  lists: usize,
  most: u32,
): void {
  let limits = v128.load(lists)
  for (let i = from; i < to; i++) {
    let sum = f32x4.splat(0)
    for (let s: u32 = 0; s < m; s++) {
      const code = load<u32>(codes + ((<usize>i * codeStride + s) << 2))
      sum = f32x4.add(sum, v128.load(table + ((<usize>s * h + code) << 4)))
    }
    if (v128.any_true(f32x4.lt(sum, limits))) limits = insertFour(sum, i, lists, most)
  }
}

/** Inserts a code into the lists of the queries whose limit it is below; returns the new limits. */
function insertFour(sum: v128, id: u32, lists: usize, most: u32): v128 {
  v128.store(lists + LIST_SUMS, sum)
  for (let lane: usize = 0; lane < 4; lane++) {
    const distance = load<f32>(lists + LIST_SUMS + (lane << 2))
    if (!(distance < load<f32>(lists + (lane << 2)))) continue
    const ids = <usize>load<u32>(lists + LIST_IDS + (lane << 2))
    const distances = <usize>load<u32>(lists + LIST_DISTANCES + (lane << 2))
    insertAt(placeFor(distance, id, ids, distances, most), distance, id, ids, distances, most)
    store<f32>(lists + (lane << 2), load<f32>(distances + ((<usize>most - 1) << 2)))
  }
  return v128.load(lists)
}

/** The first position in a sorted list with a larger distance, or with the same distance and a higher id. */
function placeFor(distance: f32, id: u32, ids: usize, distances: usize, most: u32): u32 {
  let low: u32 = 0
  let high = most
  while (low < high) {
    const middle = (low + high) >> 1
    const other = load<f32>(distances + ((<usize>middle) << 2))
    const before = other < distance || (other === distance && load<u32>(ids + ((<usize>middle) << 2)) < id)
    if (before) low = middle + 1
    else high = middle
  }
  return low
}

function insertAt(place: u32, distance: f32, id: u32, ids: usize, distances: usize, most: u32): void {
  const at = (<usize>place) << 2
  const moved = (<usize>(most - 1 - place)) << 2
  memory.copy(ids + at + 4, ids + at, moved)
  memory.copy(distances + at + 4, distances + at, moved)
  store<u32>(ids + at, id)
  store<f32>(distances + at, distance)
}

/** Items are queries: the `lists` sorted lists of each become one of the same length. */
export function mergeRanked(start: u32, end: u32, _scratch: usize, args: MergeRankedArgs): void {
  const lists = args.lists
  const most = args.most
  const ids = args.partIds
  const distances = args.partDistances
  const outIds = args.ids
  const outDistances = args.distances
  const bytes = (<usize>most) << 2
  for (let query = start; query < end; query++) {
    const toIds = outIds + <usize>query * bytes
    const toDistances = outDistances + <usize>query * bytes
    const first = <usize>query * lists * bytes
    memory.copy(toIds, ids + first, bytes)
    memory.copy(toDistances, distances + first, bytes)
    for (let list: usize = 1; list < <usize>lists; list++) {
      for (let place: usize = 0; place < <usize>most; place++) {
        const at = first + list * bytes + (place << 2)
        const id = load<u32>(ids + at)
        const distance = load<f32>(distances + at)
        if (id === NO_QUERY) break
        const to = placeFor(distance, id, toIds, toDistances, most)
        // Lists are sorted: later entries are not nearer.
        if (to === most) break
        insertAt(to, distance, id, toIds, toDistances, most)
      }
    }
  }
}

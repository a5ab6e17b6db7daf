/**
 * Codes in order of distance from queries, in three steps: a table of distances for each query (`tables`), the nearest codes of
 * each part of the codes (`tasks`), and one list from those of the parts (`merge`). Cost: h d for the tables of a query, then
 * one look-up for each cell and code.
 *
 * `tasks` has two forms with the same results. `scanSharedBody` (shaders/scan-codes-shared.ts) is for hardware. `scanTasksBody`
 * is for software adapters, and for tables or lists too large for workgroup memory: a thread per query and part, its sorted
 * list in the result.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { FAR, threadBuiltins, threadNumber } from './snippets.ts'

/** A row that is no query, and the id of no code. */
export const NO_QUERY = 0xffffffff
/** A task: up to four rows of queries, first and last code, number of the part, 0. */
export const SCAN_TASK_WORDS = 8

export const NONE_AND_FAR = wgsl`
const NONE = ${NO_QUERY}u;
${FAR}
`

/** `products`: -2 q.y, or with another factor, in place of squared distances. */
export const scanTablesBody = (products: boolean): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let entry = number % params.entries;
  let cell = (number / params.entries) % params.cells;
  let here = number / (params.entries * params.cells);
  if (here >= params.count) { return; }
  let query = params.firstQuery + here;
  let perCell = select(8u / params.bits, 1u, params.bits >= 8u);
  var total = 0.0;
  for (var k = 0u; k < perCell; k++) {
    let space = cell * perCell + k;
    if (space >= params.m) { break; }
    // Bit patterns that are no code are never looked up.
    let code = min(select((entry >> (k * params.bits)) & ((1u << params.bits) - 1u), entry, perCell == 1u), params.h - 1u);
    let begin = ranges[space];
    let width = ranges[space + 1u] - begin;
    let word = (space * params.h + code) * params.bookStride;
    var sum = 0.0;
    for (var t = 0u; t < width; t++) {
      let asked = queries[query * params.stride + begin + t];
#if ${products}
      sum += params.factor * asked * books[word + t];
#else
      let gap = asked - books[word + t];
      sum += gap * gap;
#endif
    }
    total += sum;
  }
  tables[(query * params.cells + cell) * params.entries + entry] = total;
}
`

/** Ties go to the lower id. */
export const NEARER_BY_ID = wgsl`
fn isNearer(distance: f32, id: u32, otherDistance: f32, otherId: u32) -> bool {
  return distance < otherDistance || (distance == otherDistance && id < otherId);
}
`

/** Sorted insertion into `distances` and the array `ids`, in place of the last; needs `isNearer`. */
export const sortedList = (ids: string): string => wgsl`
fn insert(base: u32, most: u32, id: u32, distance: f32) {
  var place = most - 1u;
  while (place > 0u) {
    let other = distances[base + place - 1u];
    if (!isNearer(distance, id, other, ${ids}[base + place - 1u])) { break; }
    distances[base + place] = other;
    ${ids}[base + place] = ${ids}[base + place - 1u];
    place--;
  }
  distances[base + place] = distance;
  ${ids}[base + place] = id;
}
`
const lists = wgsl`
${NEARER_BY_ID}
${sortedList('ids')}
`

export const scanTasksBody = (wide: boolean): string => wgsl`
${NONE_AND_FAR}
${threadNumber}
${lists}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let here = number / 4u;
  if (here >= params.count) { return; }
  let task = (params.firstTask + here) * ${SCAN_TASK_WORDS}u;
  let query = tasks[task + number % 4u];
  if (query == NONE) { return; }
  let most = params.most;
  let base = (query * params.parts + tasks[task + 6u]) * most;
  for (var place = 0u; place < most; place++) {
    ids[base + place] = NONE;
    distances[base + place] = FAR;
  }
  let table = query * params.cells * params.entries;
  var limit = FAR;
  for (var i = tasks[task + 4u]; i < tasks[task + 5u]; i++) {
    var sum = 0.0;
    for (var cell = 0u; cell < params.cells; cell++) {
      let at = i * params.codeStride + cell;
#if ${wide}
      let code = codes[at];
#else
      let code = (codes[at / 4u] >> (8u * (at % 4u))) & 255u;
#endif
      sum += tables[table + cell * params.entries + code];
    }
    if (sum < limit) {
      insert(base, most, i, sum);
      limit = distances[base + most - 1u];
    }
  }
}
`

/** One thread for each query. */
export const scanMergeBody = (): string => wgsl`
${threadNumber}
${NONE_AND_FAR}
${lists}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let query = threadNumber(workgroup, groups, local);
  if (query >= params.queries) { return; }
  let most = params.most;
  let base = query * most;
  for (var place = 0u; place < most; place++) {
    ids[base + place] = NONE;
    distances[base + place] = FAR;
  }
  for (var list = 0u; list < params.lists; list++) {
    for (var place = 0u; place < most; place++) {
      let at = (query * params.lists + list) * most + place;
      let id = partIds[at];
      let distance = partDistances[at];
      let worst = distances[base + most - 1u];
      // Lists are sorted: what follows is no nearer.
      if (id == NONE || distance > worst || (distance == worst && ids[base + most - 1u] < id)) { break; }
      insert(base, most, id, distance);
    }
  }
}
`

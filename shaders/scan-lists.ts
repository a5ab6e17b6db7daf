/**
 * The nearest codes of queries in lists of an inverted file, with one look-up table of a query for all its lists, in five
 * steps (the tables are those of shaders/scan-codes.ts, of products):
 *
 *   runs     which slots a query looks into
 *   scan     the nearest codes of each part of them, by sums of table entries
 *   merge    one list from those of the parts
 *   measure  the distances of what was found again, by differences
 *   order    ids in order of these distances
 *
 * Codes are known by positions: the codes of the lists of a query, counted in the order of its lists. runs: [q][probe + 1] of
 * first position, first slot, bits of the base, and list; the last of a query holds the number of its positions. `scan` has
 * two forms with the same results, as in scan-codes: a workgroup for each query and part, with table and list in workgroup
 * memory, or a thread. Cost: one look-up for each cell, code and query.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { NONE_AND_FAR, sortedList } from './scan-codes.ts'
import { SCAN_THREADS, SCAN_TILE, SHARED_ENTRIES, SUM_NUMBERS, sharedList, sharedTable } from './scan-codes-shared.ts'
import { groupNumber, threadBuiltins, threadNumber } from './snippets.ts'

/** Words of a run. */
export const RUN_WORDS = 4

/** A thread for each query and run. */
export const listRunsBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let here = number / (params.probe + 1u);
  if (here >= params.count) { return; }
  let query = params.firstQuery + here;
  let place = number % (params.probe + 1u);
  var start = 0u;
  for (var i = 0u; i < place; i++) { start += extents[2u * lists[query * params.probe + i] + 1u]; }
  var run = vec4u(start, 0u, 0u, 0u);
  if (place < params.probe) {
    let list = lists[query * params.probe + place];
    var base = 0.0;
    for (var t = 0u; t < params.stride; t++) {
      let asked = queries[query * params.stride + t];
      let center = centers[list * params.stride + t];
      base += select((asked - center) * (asked - center), -asked * center, params.inner == 1u);
    }
    run = vec4u(start, extents[2u * list], bitcast<u32>(base), list);
  }
  runs[query * (params.probe + 1u) + place] = run;
}
`

/** Where the codes of a query are. Callers set `runsAt` first. */
const positions = wgsl`
/** The first run of the query. */
var<private> runsAt: u32;

/** The run that holds a position: the last that does not begin behind it. */
fn runOf(position: u32) -> u32 {
  var low = 0u;
  var high = params.probe;
  while (high - low > 1u) {
    let middle = (low + high) / 2u;
    if (runs[runsAt + middle].x <= position) { low = middle; } else { high = middle; }
  }
  return runsAt + low;
}

fn slotOf(position: u32) -> u32 {
  let run = runs[runOf(position)];
  return run.y + position - run.x;
}
`

/** Ties go to the lower id; no code is behind all others. */
const nearerByIdOfPosition = wgsl`
${positions}

fn isNearer(distance: f32, position: u32, otherDistance: f32, other: u32) -> bool {
  if (distance != otherDistance) { return distance < otherDistance; }
  if (position == NONE || other == NONE) { return position != NONE; }
  return ids[slotOf(position)] < ids[slotOf(other)];
}
`

const partOfPositions = wgsl`
/** First position of a part; that of the part after the last is the number of positions. */
fn partStart(part: u32) -> u32 {
  let all = runs[runsAt + params.probe].x;
  return min(all, part * ((all + params.parts - 1u) / params.parts));
}

fn isAllowed(slot: u32) -> bool {
  return params.hasAllowed == 0u || ((allowed[slot / 32u] >> (slot % 32u)) & 1u) == 1u;
}
`

/** A thread for each query and part, its sorted list in the result. */
export const scanRowsBody = (wide: boolean): string => wgsl`
${NONE_AND_FAR}
${threadNumber}
${nearerByIdOfPosition}
${partOfPositions}
${sortedList('found')}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let here = number / params.parts;
  if (here >= params.count) { return; }
  let query = params.firstQuery + here;
  let part = number % params.parts;
  runsAt = query * (params.probe + 1u);
  let most = params.most;
  let base = (query * params.parts + part) * most;
  for (var place = 0u; place < most; place++) {
    found[base + place] = NONE;
    distances[base + place] = FAR;
  }
  let table = query * params.cells * params.entries;
  let last = partStart(part + 1u);
  var at = runOf(partStart(part));
  for (var position = partStart(part); position < last; position++) {
    while (position >= runs[at + 1u].x) { at++; }
    let run = runs[at];
    let slot = run.y + position - run.x;
    if (!isAllowed(slot)) { continue; }
    var sum = bitcast<f32>(run.z) + terms[slot];
    for (var cell = 0u; cell < params.cells; cell++) {
      let place = slot * params.codeStride + cell;
#if ${wide}
      let code = codes[place];
#else
      let code = (codes[place / 4u] >> (8u * (place % 4u))) & 255u;
#endif
      sum += tables[table + cell * params.entries + code];
    }
    if (isNearer(sum, position, distances[base + most - 1u], found[base + most - 1u])) {
      insert(base, most, position, sum);
    }
  }
}
`

/** A workgroup for each query and part. */
export function scanSharedListsBody(wide: boolean): string {
  const numberOf = (i: number): string => `tile + ${i * SCAN_THREADS}u + local`
  return wgsl`
${NONE_AND_FAR}
${groupNumber}
${nearerByIdOfPosition}
${partOfPositions}
${sharedTable(wide)}
${sharedList}

/** The slot of a code, and its sum without the cells: beyond all where it may not be found. */
struct Begun { slot: u32, sum: f32 }

fn begin(position: u32, last: u32) -> Begun {
  let run = runs[runOf(min(position, last - 1u))];
  let slot = run.y + min(position, last - 1u) - run.x;
  if (position >= last || !isAllowed(slot)) { return Begun(slot, FAR); }
  return Begun(slot, bitcast<f32>(run.z) + terms[slot]);
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = groupNumber(workgroup, groups);
  if (number / params.parts >= params.count) { return; }
  let query = params.firstQuery + number / params.parts;
  let part = number % params.parts;
  runsAt = query * (params.probe + 1u);
  let all = runs[query * (params.probe + 1u) + params.probe].x;
  let size = (all + params.parts - 1u) / params.parts;
  let first = min(all, part * size);
  let last = min(all, first + size);
  let cellsAtOnce = ${SHARED_ENTRIES}u / params.entries;
  let tableStart = query * params.cells * params.entries;
  listDistance[local] = FAR;
  listId[local] = NONE;
  workgroupBarrier();

  for (var tile = first; tile < last; tile += ${SCAN_TILE}u) {
${SUM_NUMBERS.map((i) => `    let code${i} = begin(${numberOf(i)}, last);\n    var sum${i} = code${i}.sum;`).join('\n')}
    for (var cell = 0u; cell < params.cells; cell += cellsAtOnce) {
      let end = min(cell + cellsAtOnce, params.cells);
      // A table that fits as a whole is read once.
      if (params.cells > cellsAtOnce || tile == first) { fetchCells(local, tableStart, cell, end); }
${SUM_NUMBERS.map((i) => `      sum${i} = addCells(sum${i}, code${i}.slot, cell, end);`).join('\n')}
    }
${SUM_NUMBERS.map((i) => `    keepNearest(local, sum${i}, ${numberOf(i)}, code${i}.sum < FAR);`).join('\n')}
  }

  workgroupBarrier();
  if (local < params.most) {
    let base = (query * params.parts + part) * params.most;
    found[base + local] = listId[local];
    distances[base + local] = listDistance[local];
  }
}
`
}

/**
 * A thread for each entry of a part's list, which counts the entries of the other lists that come before it. Empty entries come
 * last, so that all places of the result are written.
 */
export const mergeListsBody = (): string => wgsl`
${NONE_AND_FAR}
${threadNumber}
${nearerByIdOfPosition}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let most = params.most;
  let here = number / (params.parts * most);
  if (here >= params.count) { return; }
  let query = params.firstQuery + here;
  runsAt = query * (params.probe + 1u);
  let part = (number / most) % params.parts;
  let own = (query * params.parts + part) * most + number % most;
  let distance = partDistances[own];
  let position = partFound[own];
  var rank = number % most;
  for (var other = 0u; other < params.parts; other++) {
    if (other == part) { continue; }
    let base = (query * params.parts + other) * most;
    var low = 0u;
    var high = most;
    while (low < high) {
      let middle = (low + high) / 2u;
      let isBefore = isNearer(partDistances[base + middle], partFound[base + middle], distance, position);
      // Equals, which are empty, come in the order of the parts.
      let isEqual = other < part && position == NONE && partFound[base + middle] == NONE;
      if (isBefore || isEqual) { low = middle + 1u; } else { high = middle; }
    }
    rank += low;
  }
  if (rank < most) {
    found[query * most + rank] = position;
    distances[query * most + rank] = distance;
  }
}
`

/** A thread for each place of the result. Distances of empty places stay. */
export const measureListsBody = (): string => wgsl`
${NONE_AND_FAR}
${threadNumber}
${positions}

fn codeOf(slot: u32, space: u32) -> u32 {
  if (params.bits == 32u) { return codes[slot * params.codeStride + space]; }
  let bit = space * params.bits;
  let at = slot * params.codeStride + bit / 8u;
  return (codes[at / 4u] >> (8u * (at % 4u) + bit % 8u)) & ((1u << params.bits) - 1u);
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let here = number / params.most;
  if (here >= params.count) { return; }
  let query = params.firstQuery + here;
  let place = query * params.most + number % params.most;
  let position = found[place];
  if (position == NONE) { return; }
  runsAt = query * (params.probe + 1u);
  let run = runs[runOf(position)];
  let slot = run.y + position - run.x;
  var sum = 0.0;
  var seen = 0.0;
  for (var space = 0u; space < params.m; space++) {
    let begin = ranges[space];
    let word = (space * params.h + codeOf(slot, space)) * params.bookStride;
    for (var t = begin; t < ranges[space + 1u]; t++) {
      let rest = queries[query * params.stride + t] - centers[run.w * params.width + t];
      let gap = rest - books[word + t - begin];
      sum += gap * gap;
      seen += rest * rest;
    }
  }
  // The part of the squared distance in the dimensions that the codes leave out.
  if (params.whole == 0u) { sum += max(0.0, bitcast<f32>(run.z) - seen); }
  distances[place] = sum;
}
`

/** A thread for each place of the result, which counts what comes before it. What is farther than `within` is left out. */
export const orderListsBody = (): string => wgsl`
${NONE_AND_FAR}
${threadNumber}
${nearerByIdOfPosition}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let most = params.most;
  let here = number / most;
  if (here >= params.count) { return; }
  let query = params.firstQuery + here;
  runsAt = query * (params.probe + 1u);
  let base = query * most;
  let own = number % most;
  let position = found[base + own];
  let distance = distances[base + own];
  var rank = 0u;
  for (var i = 0u; i < most; i++) {
    let isEqual = i < own && position == NONE && found[base + i] == NONE;
    if (isEqual || isNearer(distances[base + i], found[base + i], distance, position)) { rank++; }
  }
  let isFound = position != NONE && distance <= params.within;
  outIds[base + rank] = NONE;
  outDistances[base + rank] = FAR;
  if (isFound) {
    outIds[base + rank] = ids[slotOf(position)];
    outDistances[base + rank] = distance;
  }
}
`

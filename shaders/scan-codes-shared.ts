/**
 * Scanning codes on hardware: a workgroup for each query and part of the codes, with table and list in workgroup memory.
 * `sharedTable` and `sharedList` are what scan-codes and scan-lists have in common; `scanSharedBody` is the scan of
 * scan-codes, with the tasks and results of `scanTasksBody` (shaders/scan-codes.ts).
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { NEARER_BY_ID, NONE_AND_FAR, SCAN_TASK_WORDS } from './scan-codes.ts'
import { groupNumber, threadBuiltins } from './snippets.ts'

/** Threads of a workgroup, each with one code at a time and one entry of the list. */
export const SCAN_THREADS = 256
/** Longest list. */
export const MOST_SHARED_NEAREST = SCAN_THREADS
/** Entries of tables in workgroup memory: 8 KiB. Tables with more are taken some cells at a time. */
export const SHARED_ENTRIES = 2048
/** Codes whose sums a thread keeps while the cells of a large table pass. */
const SUMS = 8

/** The numbers of these codes, to write out a line for each. */
export const SUM_NUMBERS: readonly number[] = Array.from({ length: SUMS }, (_, i) => i)
/** Codes that a workgroup takes at a time. */
export const SCAN_TILE = SUMS * SCAN_THREADS

/** Some cells of the table of a query; needs `tables`, `codes`, and the parameters `cells`, `entries` and `codeStride`. */
export const sharedTable = (wide: boolean): string => wgsl`
#if ${wide}
var<workgroup> table: array<f32, ${SHARED_ENTRIES}>;
#else
var<workgroup> table: array<array<f32, 256>, ${SHARED_ENTRIES / 256}>;  // an index below 256 needs no clamping
#endif

/** Fetches the cells from \`begin\` to \`end\` of a table that begins at \`start\`. Called by all threads. */
fn fetchCells(local: u32, start: u32, begin: u32, end: u32) {
  workgroupBarrier();
  for (var i = local; i < ${SHARED_ENTRIES}u; i += ${SCAN_THREADS}u) {
    var entry = 0.0;
    if (i < (end - begin) * params.entries) { entry = tables[start + begin * params.entries + i]; }
#if ${wide}
    table[i] = entry;
#else
    table[i / 256u][i % 256u] = entry;
#endif
  }
  workgroupBarrier();
}

/** Adds the cells from \`begin\` to \`end\` of a code, whose entries the table holds, in rising order. */
fn addCells(start: f32, code: u32, begin: u32, end: u32) -> f32 {
  var sum = start;
#if ${wide}
  for (var cell = begin; cell < end; cell++) {
    sum += table[(cell - begin) * params.entries + codes[code * params.codeStride + cell]];
  }
#else
  // The table holds zeros after the last cell.
  let at = (code * params.codeStride + begin) / 4u;
  let word = codes[at];
  sum += table[0][word & 255u];
  sum += table[1][(word >> 8u) & 255u];
  sum += table[2][(word >> 16u) & 255u];
  sum += table[3][word >> 24u];
  if (begin + 4u < end) {
    let next = codes[at + 1u];
    sum += table[4][next & 255u];
    sum += table[5][(next >> 8u) & 255u];
    sum += table[6][(next >> 16u) & 255u];
    sum += table[7][next >> 24u];
  }
#endif
  return sum;
}
`

/** The nearest so far in a sorted list of `params.most`; needs `isNearer`, a total order. */
export const sharedList = wgsl`
var<workgroup> listDistance: array<f32, ${SCAN_THREADS}>;
var<workgroup> listId: array<u32, ${SCAN_THREADS}>;
/** Codes nearer than the last of the list, in any order. */
var<workgroup> newDistance: array<f32, ${SCAN_THREADS}>;
var<workgroup> newId: array<u32, ${SCAN_THREADS}>;
var<workgroup> newCount: atomic<u32>;
var<workgroup> knownCount: u32;

/** How many of the new codes are nearer. */
fn nearerNew(distance: f32, id: u32, count: u32) -> u32 {
  var rank = 0u;
  for (var i = 0u; i < count; i++) {
    rank += select(0u, 1u, isNearer(newDistance[i], newId[i], distance, id));
  }
  return rank;
}

/** How many entries of the list are nearer. */
fn nearerListed(distance: f32, id: u32) -> u32 {
  var low = 0u;
  var high = params.most;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (isNearer(listDistance[middle], listId[middle], distance, id)) { low = middle + 1u; } else { high = middle; }
  }
  return low;
}

/** Brings one code of each thread into the list. Called by all threads. */
fn keepNearest(local: u32, distance: f32, id: u32, isThere: bool) {
  let most = params.most;
  if (isThere && isNearer(distance, id, listDistance[most - 1u], listId[most - 1u])) {
    let place = atomicAdd(&newCount, 1u);
    newDistance[place] = distance;
    newId[place] = id;
  }
  workgroupBarrier();
  if (local == 0u) {
    knownCount = atomicLoad(&newCount);
    atomicStore(&newCount, 0u);
  }
  let count = workgroupUniformLoad(&knownCount);
  if (count == 0u) { return; }
  // Every entry computes its position in the merged list; all entries are read before any is written.
  let oldEntryDistance = listDistance[local];
  let oldEntryId = listId[local];
  let newEntryDistance = newDistance[local];
  let newEntryId = newId[local];
  var oldPlace = most;
  var newPlace = most;
  if (local < most) { oldPlace = local + nearerNew(oldEntryDistance, oldEntryId, count); }
  if (local < count) {
    newPlace = nearerNew(newEntryDistance, newEntryId, count) + nearerListed(newEntryDistance, newEntryId);
  }
  workgroupBarrier();
  if (oldPlace < most) {
    listDistance[oldPlace] = oldEntryDistance;
    listId[oldPlace] = oldEntryId;
  }
  if (newPlace < most) {
    listDistance[newPlace] = newEntryDistance;
    listId[newPlace] = newEntryId;
  }
  workgroupBarrier();
}
`

export function scanSharedBody(wide: boolean): string {
  const numberOf = (i: number): string => `tile + ${i * SCAN_THREADS}u + local`
  return wgsl`
${NONE_AND_FAR}
${groupNumber}
${NEARER_BY_ID}
${sharedTable(wide)}
${sharedList}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = groupNumber(workgroup, groups);
  if (number / 4u >= params.count) { return; }
  let task = (params.firstTask + number / 4u) * ${SCAN_TASK_WORDS}u;
  let query = tasks[task + number % 4u];
  if (query == NONE) { return; }
  let last = tasks[task + 5u];
  let cellsAtOnce = ${SHARED_ENTRIES}u / params.entries;
  let tableStart = query * params.cells * params.entries;
  listDistance[local] = FAR;
  listId[local] = NONE;

  for (var tile = tasks[task + 4u]; tile < last; tile += ${SCAN_TILE}u) {
${SUM_NUMBERS.map((i) => `    var sum${i} = 0.0;`).join('\n')}
    for (var begin = 0u; begin < params.cells; begin += cellsAtOnce) {
      let end = min(begin + cellsAtOnce, params.cells);
      // A table that fits as a whole is read once.
      if (params.cells > cellsAtOnce || tile == tasks[task + 4u]) {
        fetchCells(local, tableStart, begin, end);
      }
${SUM_NUMBERS.map((i) => `      sum${i} = addCells(sum${i}, min(${numberOf(i)}, last - 1u), begin, end);`).join('\n')}
    }
${SUM_NUMBERS.map((i) => `    keepNearest(local, sum${i}, ${numberOf(i)}, ${numberOf(i)} < last);`).join('\n')}
  }

  workgroupBarrier();
  if (local < params.most) {
    let base = (query * params.parts + tasks[task + 6u]) * params.most;
    ids[base + local] = listId[local];
    distances[base + local] = listDistance[local];
  }
}
`
}

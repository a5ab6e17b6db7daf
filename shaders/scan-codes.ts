/**
 * Codes in order of distance from queries, in three steps: a table of distances for each query (`tables`), the nearest codes of
 * each part of the codes (`tasks`), and one list from those of the parts (`merge`). Cost: h d for the tables of a query, then
 * one look-up for each cell and code.
 *
 * `tasks` has two forms with the same results. `scanTasksShared` is for hardware: a workgroup per query and part, with
 * table and list in workgroup memory. `scanTasksShader` is for software adapters, and for tables or lists too large for
 * workgroup memory: a thread per query and part, its sorted list in the result.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { declareShader } from '../src/device/declared-shader.ts'
import { reads, writes } from '../src/device/fields.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

/** A row that is no query, and the id of no code. */
export const NO_QUERY = 0xffffffff
/** A task: up to four rows of queries, first and last code, number of the part, 0. */
export const SCAN_TASK_WORDS = 8

const NONE_AND_FAR = wgsl`
const NONE = ${NO_QUERY}u;
const FAR = 3.4e38f;
`

/** tables[query][cell][entries]; a cell holds `perCell` codes of `bits` bits, or one word. */
export const scanTablesShader = declareShader({
  name: 'scan-codes-tables',
  params: {
    firstQuery: 'u32',
    /** Queries of this pass. */
    count: 'u32',
    stride: 'u32',
    m: 'u32',
    h: 'u32',
    bookStride: 'u32',
    cells: 'u32',
    entries: 'u32',
    bits: 'u32',
  },
  buffers: { queries: reads('f32'), ranges: reads('u32'), books: reads('f32'), tables: writes('f32') },
  workgroup: THREADS,
  body: () => wgsl`
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
      let gap = queries[query * params.stride + begin + t] - books[word + t];
      sum += gap * gap;
    }
    total += sum;
  }
  tables[(query * params.cells + cell) * params.entries + entry] = total;
}
`,
})

const lists = wgsl`
/** Sorted insertion; ties go to the lower id. */
fn insert(base: u32, most: u32, id: u32, distance: f32) {
  var place = most - 1u;
  while (place > 0u) {
    let other = distances[base + place - 1u];
    if (other < distance || (other == distance && ids[base + place - 1u] < id)) { break; }
    distances[base + place] = other;
    ids[base + place] = ids[base + place - 1u];
    place--;
  }
  distances[base + place] = distance;
  ids[base + place] = id;
}
`

const TASK_FIELDS = {
  params: {
    firstTask: 'u32',
    /** Tasks of this pass. */
    count: 'u32',
    cells: 'u32',
    entries: 'u32',
    codeStride: 'u32',
    parts: 'u32',
    /** Length of the lists. */
    most: 'u32',
  },
  buffers: {
    tables: reads('f32'),
    codes: reads('u32'),
    /** [task][SCAN_TASK_WORDS] */
    tasks: reads('u32'),
    ids: writes('u32'),
    distances: writes('f32'),
  },
} as const

/** Threads of `scanTasksShared`, each with one code at a time and one entry of the list. */
export const SCAN_THREADS = 256
/** Longest list that `scanTasksShared` keeps. */
export const MOST_SHARED_NEAREST = SCAN_THREADS
/** Entries of tables in workgroup memory: 8 KiB. Tables with more are taken some cells at a time. */
export const SHARED_ENTRIES = 2048
/** Codes whose sums a thread keeps while the cells of a large table pass. */
const SUMS = 8

export const scanTasksShared = (wide: boolean) =>
  declareShader({
    name: `scan-codes-shared${wide ? '-wide' : ''}`,
    ...TASK_FIELDS,
    workgroup: SCAN_THREADS,
    body: () => {
      const sums = Array.from({ length: SUMS }, (_, i) => i)
      return wgsl`
${NONE_AND_FAR}

#if ${wide}
var<workgroup> table: array<f32, ${SHARED_ENTRIES}>;
#else
var<workgroup> table: array<array<f32, 256>, ${SHARED_ENTRIES / 256}>;  // an index below 256 needs no clamping
#endif
/** The nearest so far, sorted by distance and then id. */
var<workgroup> listDistance: array<f32, ${SCAN_THREADS}>;
var<workgroup> listId: array<u32, ${SCAN_THREADS}>;
/** Codes nearer than the last of the list, in any order. */
var<workgroup> newDistance: array<f32, ${SCAN_THREADS}>;
var<workgroup> newId: array<u32, ${SCAN_THREADS}>;
var<workgroup> newCount: atomic<u32>;
var<workgroup> knownCount: u32;

fn isNearer(distance: f32, id: u32, otherDistance: f32, otherId: u32) -> bool {
  return distance < otherDistance || (distance == otherDistance && id < otherId);
}

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
fn keepNearest(local: u32, distance: f32, id: u32, last: u32) {
  let most = params.most;
  if (id < last && distance < listDistance[most - 1u]) {
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
  // Every entry finds its place in the joint list; nothing is written before all have read.
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

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = workgroup.y * groups.x + workgroup.x;
  if (number / 4u >= params.count) { return; }
  let task = (params.firstTask + number / 4u) * ${SCAN_TASK_WORDS}u;
  let query = tasks[task + number % 4u];
  if (query == NONE) { return; }
  let last = tasks[task + 5u];
  let cellsAtOnce = ${SHARED_ENTRIES}u / params.entries;
  let tableStart = query * params.cells * params.entries;
  listDistance[local] = FAR;
  listId[local] = NONE;

  for (var tile = tasks[task + 4u]; tile < last; tile += ${SUMS * SCAN_THREADS}u) {
${sums.map((i) => `    var sum${i} = 0.0;`).join('\n')}
    for (var begin = 0u; begin < params.cells; begin += cellsAtOnce) {
      let end = min(begin + cellsAtOnce, params.cells);
      // A table that fits as a whole is read once.
      if (params.cells > cellsAtOnce || tile == tasks[task + 4u]) {
        workgroupBarrier();
        for (var i = local; i < ${SHARED_ENTRIES}u; i += ${SCAN_THREADS}u) {
          var entry = 0.0;
          if (i < (end - begin) * params.entries) { entry = tables[tableStart + begin * params.entries + i]; }
#if ${wide}
          table[i] = entry;
#else
          table[i / 256u][i % 256u] = entry;
#endif
        }
        workgroupBarrier();
      }
${sums.map((i) => `      sum${i} = addCells(sum${i}, min(tile + ${i * SCAN_THREADS}u + local, last - 1u), begin, end);`).join('\n')}
    }
${sums.map((i) => `    keepNearest(local, sum${i}, tile + ${i * SCAN_THREADS}u + local, last);`).join('\n')}
  }

  workgroupBarrier();
  if (local < params.most) {
    let base = (query * params.parts + tasks[task + 6u]) * params.most;
    ids[base + local] = listId[local];
    distances[base + local] = listDistance[local];
  }
}
`
    },
  })

export const scanTasksShader = (wide: boolean) =>
  declareShader({
    name: `scan-codes-tasks${wide ? '-wide' : ''}`,
    ...TASK_FIELDS,
    workgroup: THREADS,
    body: () => wgsl`
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
`,
  })

/** One thread for each query. */
export const scanMergeShader = declareShader({
  name: 'scan-codes-merge',
  params: { queries: 'u32', lists: 'u32', most: 'u32' },
  buffers: {
    partIds: reads('u32'),
    partDistances: reads('f32'),
    ids: writes('u32'),
    distances: writes('f32'),
  },
  workgroup: THREADS,
  body: () => wgsl`
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
`,
})

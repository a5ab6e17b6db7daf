/**
 * Codes in order of distance from queries, in three steps: a table of distances for every query
 * (`tables`), the nearest codes of each part of the codes (`tasks`, one thread a query and part, its
 * sorted list in the result), and one list from those of the parts (`merge`).
 * Cost: h d a query for the tables, then one look-up a cell and code.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { Shader } from '../src/device/contract.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

/** tables[query][cell][entries]; a cell holds `perCell` codes of `bits` bits, or one word. */
export const scanTablesShader: Shader = {
  name: 'scan-codes-tables',
  code: () => wgsl`
struct Params {
  firstQuery: u32,
  queries: u32,
  stride: u32,
  m: u32,
  h: u32,
  bookStride: u32,
  cells: u32,
  entries: u32,
  bits: u32,
}
@group(0) @binding(0) var<storage, read> queries: array<f32>;
@group(0) @binding(1) var<storage, read> ranges: array<u32>;
@group(0) @binding(2) var<storage, read> books: array<f32>;
@group(0) @binding(3) var<storage, read_write> tables: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;
${threadNumber}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let entry = number % params.entries;
  let cell = (number / params.entries) % params.cells;
  let here = number / (params.entries * params.cells);
  if (here >= params.queries) { return; }
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
}

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

export const scanTasksShader = (wide: boolean): Shader => ({
  name: `scan-codes-tasks${wide ? '-wide' : ''}`,
  code: () => wgsl`
struct Params {
  firstTask: u32,
  tasks: u32,
  cells: u32,
  entries: u32,
  codeStride: u32,
  parts: u32,
  most: u32,
}
@group(0) @binding(0) var<storage, read> tables: array<f32>;
@group(0) @binding(1) var<storage, read> codes: array<u32>;
@group(0) @binding(2) var<storage, read> tasks: array<u32>;   // [task][8]
@group(0) @binding(3) var<storage, read_write> ids: array<u32>;
@group(0) @binding(4) var<storage, read_write> distances: array<f32>;
@group(0) @binding(5) var<uniform> params: Params;
${threadNumber}

const NONE = 0xffffffffu;
const FAR = 3.4e38f;
${lists}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let here = number / 4u;
  if (here >= params.tasks) { return; }
  let task = (params.firstTask + here) * 8u;
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

/** One thread a query. */
export const scanMergeShader: Shader = {
  name: 'scan-codes-merge',
  code: () => wgsl`
struct Params { queries: u32, lists: u32, most: u32 }
@group(0) @binding(0) var<storage, read> partIds: array<u32>;
@group(0) @binding(1) var<storage, read> partDistances: array<f32>;
@group(0) @binding(2) var<storage, read_write> ids: array<u32>;
@group(0) @binding(3) var<storage, read_write> distances: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;
${threadNumber}

const NONE = 0xffffffffu;
const FAR = 3.4e38f;
${lists}

@compute @workgroup_size(${THREADS})
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
}

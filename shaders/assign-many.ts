/**
 * The m nearest of all centres, best first; absent places hold 0xffffffff and a huge distance. One thread per point.
 * Scores choose m centres, which are then sorted by distance. Hardware keeps the best scores in heaps in a storage
 * buffer (`assignManyHeaps`), software adapters in sorted lists in private memory (`assignManyPrivate`).
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { bestHeap, heapAccess } from './row-heaps.ts'
import { rowDistance } from './rows.ts'
import { FAR, LOWEST, NONE, threadBuiltins, threadNumber } from './snippets.ts'

/** Inserts into a sorted list of params.m distances in the result; ties go to the lowest label. */
export const distanceList = wgsl`
${FAR}

fn clearDistances(base: u32) {
  for (var place = 0u; place < params.m; place++) {
    labels[base + place] = NONE;
    distances[base + place] = FAR;
  }
}

fn insertDistance(base: u32, label: u32, distance: f32) {
  var place = params.m;
  while (place > 0u) {
    let other = distances[base + place - 1u];
    if (other < distance || (other == distance && labels[base + place - 1u] < label)) { break; }
    if (place < params.m) {
      labels[base + place] = labels[base + place - 1u];
      distances[base + place] = other;
    }
    place--;
  }
  if (place < params.m) {
    labels[base + place] = label;
    distances[base + place] = distance;
  }
}
`

/** Sorted lists of up to `capacity` scores in private memory. Needs params.m. */
export const privateLists = (capacity: number): string => wgsl`
${LOWEST}
${NONE}

var<private> listScore: array<f32, ${capacity}>;
var<private> listIndex: array<u32, ${capacity}>;

fn insertScore(score: f32, index: u32) {
  if (score <= listScore[params.m - 1u]) { return; }
  var place = params.m - 1u;
  while (place > 0u && listScore[place - 1u] < score) {
    listScore[place] = listScore[place - 1u];
    listIndex[place] = listIndex[place - 1u];
    place--;
  }
  listScore[place] = score;
  listIndex[place] = index;
}
`

const scoring = (type: ElementType): string => wgsl`
${threadNumber}
${distanceList}
${rowDistance(type)}

/** Scores of four centres from j on; those behind the last repeat it. */
fn scoreFour(row: u32, j: u32) -> vec4f {
  let quads = params.quads;
  let end = params.centerCount - 1u;
  let r0 = j * quads;
  let r1 = min(j + 1u, end) * quads;
  let r2 = min(j + 2u, end) * quads;
  let r3 = min(j + 3u, end) * quads;
  var scores = vec4f();
  for (var t = 0u; t < quads; t++) {
    let v = xPart(row, t, quads);
    scores += vec4f(dot(v, centers[r0 + t]), dot(v, centers[r1 + t]), dot(v, centers[r2 + t]), dot(v, centers[r3 + t]));
  }
  return scores;
}
`

export const assignManyHeaps = (type: ElementType): string => wgsl`
${scoring(type)}
${heapAccess}
${bestHeap}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  heapThread = number;
  clearBest();
  for (var j = 0u; j < params.centerCount; j += 4u) {
    let scores = scoreFour(row, j);
    for (var c = 0u; c < min(4u, params.centerCount - j); c++) { offerBest(scores[c] + starts[j + c], j + c); }
  }
  sortBest();
  let base = row * params.m;
  if (params.merge == 0u) { clearDistances(base); }
  for (var place = 0u; place < params.m; place++) {
    let index = heapEntry(place).number;
    if (index == NONE) { break; }
    insertDistance(base, params.firstLabel + index, distanceTo(row, index));
  }
}
`

export const assignManyPrivate = (type: ElementType, capacity: number): string => wgsl`
${scoring(type)}
${privateLists(capacity)}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  for (var place = 0u; place < params.m; place++) {
    listScore[place] = LOWEST;
    listIndex[place] = NONE;
  }
  for (var j = 0u; j < params.centerCount; j += 4u) {
    let scores = scoreFour(row, j);
    for (var c = 0u; c < min(4u, params.centerCount - j); c++) { insertScore(scores[c] + starts[j + c], j + c); }
  }
  let base = row * params.m;
  if (params.merge == 0u) { clearDistances(base); }
  for (var place = 0u; place < params.m; place++) {
    let index = listIndex[place];
    if (index == NONE) { break; }
    insertDistance(base, params.firstLabel + index, distanceTo(row, index));
  }
}
`

/**
 * Nearest centres of sparse rows, one thread a row, without barriers. Centres are dense and packed in
 * panels of 8: 8 starting values, then [column][8], so that an entry meets 8 centres with two reads
 * side by side. A panel begins where a binding may.
 *
 * Scores x . c - |c|^2 / 2 choose. The distance of the winner is the squared differences at the entries
 * plus what the centre has elsewhere, |c|^2 less its squares at the entries.
 * Cost: 2 k operations for each entry.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { Shader } from '../src/device/contract.ts'
import { distanceList, privateLists } from './assign-many.ts'
import { squareSum } from './center-squares.ts'
import { sparseBindings, THREADS, threadBuiltins, threadNumber } from './pieces.ts'
import { bestHeap, heapsBinding } from './row-heaps.ts'
import { ROUNDING } from './rows.ts'

/** The starting values of the panels, one thread a place: -|c|^2 / 2, or lower than all where no centre is. */
export const panelStarts: Shader = {
  name: 'panel-starts',
  code: () => wgsl`
struct Params { centers: u32, quads: u32, panelQuads: u32, places: u32 }
@group(0) @binding(0) var<storage, read> centers: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> panels: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
${threadNumber}
${squareSum}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let index = threadNumber(workgroup, groups, local);
  if (index >= params.places) { return; }
  var value = -3.4e38f;
  if (index < params.centers) { value = -0.5 * squareSum(index * params.quads, params.quads); }
  panels[(index / 8u) * params.panelQuads * 4u + index % 8u] = value;
}
`,
}

/** The columns of the panels, one thread for every 4 columns of a panel. */
export const panelColumns: Shader = {
  name: 'panel-columns',
  code: () => wgsl`
struct Params { centers: u32, quads: u32, panelQuads: u32, panels: u32 }
@group(0) @binding(0) var<storage, read> centers: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> panels: array<vec4f>;
@group(0) @binding(2) var<uniform> params: Params;
${threadNumber}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let panel = number / params.quads;
  let t = number % params.quads;
  if (panel >= params.panels) { return; }
  var rows = array<vec4f, 8>();
  for (var lane = 0u; lane < 8u; lane++) {
    let index = panel * 8u + lane;
    if (index < params.centers) { rows[lane] = centers[index * params.quads + t]; }
  }
  let out = panel * params.panelQuads + 2u + t * 8u;
  for (var i = 0u; i < 4u; i++) {
    panels[out + 2u * i] = vec4f(rows[0][i], rows[1][i], rows[2][i], rows[3][i]);
    panels[out + 2u * i + 1u] = vec4f(rows[4][i], rows[5][i], rows[6][i], rows[7][i]);
  }
}
`,
}

const panelHeader = (heaps = false): string => wgsl`
struct Params {
  firstRow: u32,
  rows: u32,
  columnsAt: u32,
  panelQuads: u32,
  panels: u32,
  firstCenter: u32,
  merge: u32,      // 1: keep what is there unless strictly nearer
  m: u32,
  heapStride: u32,
}
${sparseBindings(0)}
@group(0) @binding(2) var<storage, read> panels: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> labels: array<u32>;
@group(0) @binding(4) var<storage, read_write> distances: array<f32>;
@group(0) @binding(${heaps ? 6 : 5}) var<uniform> params: Params;
${threadNumber}
${ROUNDING}

struct Eight { left: vec4f, right: vec4f }

fn scoreEight(panel: u32, begin: u32, end: u32) -> Eight {
  let base = panel * params.panelQuads;
  var scores = Eight(panels[base], panels[base + 1u]);
  for (var entry = begin; entry < end; entry++) {
    let value = values[entry];
    let at = base + 2u + 2u * places[params.columnsAt + entry];
    scores.left += value * panels[at];
    scores.right += value * panels[at + 1u];
  }
  return scores;
}

fn distanceTo(index: u32, begin: u32, end: u32) -> f32 {
  let base = (index / 8u) * params.panelQuads + (index % 8u) / 4u;
  let lane = index % 4u;
  let square = -2.0 * panels[base][lane];
  var apart = 0.0;
  var inside = 0.0;
  for (var entry = begin; entry < end; entry++) {
    let other = panels[base + 2u + 2u * places[params.columnsAt + entry]][lane];
    let gap = values[entry] - other;
    apart += gap * gap;
    inside += other * other;
  }
  let elsewhere = square - inside;
  return apart + select(0.0, elsewhere, elsewhere > square * ROUNDING);
}
`

/** The nearest of the centres in the panels. */
export const assignSparseShader: Shader = {
  name: 'assign-sparse',
  code: () => wgsl`
${panelHeader()}

struct Best { score: f32, index: u32 }

fn keep(best: Best, scores: vec4f, first: u32) -> Best {
  var result = best;
  // Strictly greater, in rising order of index: a tie keeps the lowest.
  if (scores.x > result.score) { result = Best(scores.x, first); }
  if (scores.y > result.score) { result = Best(scores.y, first + 1u); }
  if (scores.z > result.score) { result = Best(scores.z, first + 2u); }
  if (scores.w > result.score) { result = Best(scores.w, first + 3u); }
  return result;
}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  let begin = places[row];
  let end = places[row + 1u];
  var best = Best(-3.4e38f, 0u);
  for (var panel = 0u; panel < params.panels; panel++) {
    let scores = scoreEight(panel, begin, end);
    best = keep(best, scores.left, panel * 8u);
    best = keep(best, scores.right, panel * 8u + 4u);
  }
  let distance = distanceTo(best.index, begin, end);
  if (params.merge == 0u || distance < distances[row]) {
    labels[row] = params.firstCenter + best.index;
    distances[row] = distance;
  }
}
`,
}

/** The m nearest of them, best first, as in assign-many.ts: the form for hardware. */
export const assignSparseMany: Shader = {
  name: 'assign-sparse-many',
  code: () => wgsl`
${panelHeader(true)}
${distanceList}
${heapsBinding(5)}
${bestHeap}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  let begin = places[row];
  let end = places[row + 1u];
  heapThread = number;
  clearBest();
  // Places of a panel without a centre score lowest and never get in.
  for (var panel = 0u; panel < params.panels; panel++) {
    let scores = scoreEight(panel, begin, end);
    for (var lane = 0u; lane < 4u; lane++) { offerBest(scores.left[lane], panel * 8u + lane); }
    for (var lane = 0u; lane < 4u; lane++) { offerBest(scores.right[lane], panel * 8u + 4u + lane); }
  }
  sortBest();
  let base = row * params.m;
  if (params.merge == 0u) { clearDistances(base); }
  for (var place = 0u; place < params.m; place++) {
    let index = heapEntry(place).number;
    if (index == NONE) { break; }
    insertDistance(base, params.firstCenter + index, distanceTo(index, begin, end));
  }
}
`,
}

/** The same for software adapters, with lists in private memory. */
export const assignSparseManyPrivate = (capacity: number): Shader => ({
  name: `assign-sparse-many-private-${capacity}`,
  code: () => wgsl`
${panelHeader()}
${distanceList}
${privateLists(capacity)}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  let begin = places[row];
  let end = places[row + 1u];
  for (var place = 0u; place < params.m; place++) {
    listScore[place] = LOWEST;
    listIndex[place] = NONE;
  }
  // Places of a panel without a centre score lowest and never get in.
  for (var panel = 0u; panel < params.panels; panel++) {
    let scores = scoreEight(panel, begin, end);
    for (var lane = 0u; lane < 4u; lane++) { insertScore(scores.left[lane], panel * 8u + lane); }
    for (var lane = 0u; lane < 4u; lane++) { insertScore(scores.right[lane], panel * 8u + 4u + lane); }
  }
  let base = row * params.m;
  if (params.merge == 0u) { clearDistances(base); }
  for (var place = 0u; place < params.m; place++) {
    let index = listIndex[place];
    if (index == NONE) { break; }
    insertDistance(base, params.firstCenter + index, distanceTo(index, begin, end));
  }
}
`,
})

/**
 * Nearest centres of sparse rows, one thread a row, without barriers. Apart from the dense kernel because scores are taken
 * entry by entry instead of column by column. Centres are dense, and packed besides in
 * panels of 8: 8 starting values, then [column][8], so that an entry meets 8 centres with two reads
 * side by side. A panel begins where a binding may.
 *
 * Scores x . c - |c|^2 / 2 choose. The distance of the winner is that of rows.ts.
 * Cost: 2 k operations for each entry.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { distanceList, privateLists } from './assign-many.ts'
import { bestScore, preferFour } from './assign-pieces.ts'
import { squareSum } from './center-squares.ts'
import { bestHeap, heapAccess } from './row-heaps.ts'
import { rowDistance } from './rows.ts'
import { LOWEST, threadBuiltins, threadNumber } from './snippets.ts'

/** The starting values of the panels, one thread a place: -|c|^2 / 2, or lower than all where no centre is. */
export const panelStartsBody = (): string => wgsl`
${threadNumber}
${squareSum}
${LOWEST}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let index = threadNumber(workgroup, groups, local);
  if (index >= params.places) { return; }
  var value = LOWEST;
  if (index < params.centerCount) { value = -0.5 * squareSum(index * params.quads, params.quads); }
  panels[(index / 8u) * params.panelQuads * 4u + index % 8u] = value;
}
`

/** The columns of the panels, one thread for every 4 columns of a panel. */
export const panelColumnsBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let panel = number / params.quads;
  let t = number % params.quads;
  if (panel >= params.panelCount) { return; }
  var rows = array<vec4f, 8>();
  for (var lane = 0u; lane < 8u; lane++) {
    let index = panel * 8u + lane;
    if (index < params.centerCount) { rows[lane] = centers[index * params.quads + t]; }
  }
  let out = panel * params.panelQuads + 2u + t * 8u;
  for (var i = 0u; i < 4u; i++) {
    panels[out + 2u * i] = vec4f(rows[0][i], rows[1][i], rows[2][i], rows[3][i]);
    panels[out + 2u * i + 1u] = vec4f(rows[4][i], rows[5][i], rows[6][i], rows[7][i]);
  }
}
`

/** |c|^2 from the starting values. */
const SQUARE = '-2.0 * panels[(center / 8u) * params.panelQuads + (center % 8u) / 4u][center % 4u]'

const scoring = wgsl`
${threadNumber}
${rowDistance('csr', SQUARE)}

struct Eight { left: vec4f, right: vec4f }

fn scoreEight(panel: u32, row: u32) -> Eight {
  let base = panel * params.panelQuads;
  var scores = Eight(panels[base], panels[base + 1u]);
  let end = offsets[row + 1u];
  for (var entry = offsets[row]; entry < end; entry++) {
    let value = x[entry];
    let at = base + 2u + 2u * offsets[params.columnsAt + entry];
    scores.left += value * panels[at];
    scores.right += value * panels[at + 1u];
  }
  return scores;
}
`

/** The nearest of the centres in the panels. */
export const assignSparseBody = (): string => wgsl`
${scoring}
${bestScore}
${preferFour}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  var best = Best(LOWEST, 0u);
  for (var panel = 0u; panel < params.panelCount; panel++) {
    let scores = scoreEight(panel, row);
    best = preferFour(best, scores.left, panel * 8u);
    best = preferFour(best, scores.right, panel * 8u + 4u);
  }
  let distance = distanceTo(row, best.index);
  if (params.merge == 0u || distance < distances[row]) {
    labels[row] = params.firstLabel + best.index;
    distances[row] = distance;
  }
}
`

/** The m nearest of them, best first, as in assign-many.ts: the form for hardware. */
export const assignSparseHeaps = (): string => wgsl`
${scoring}
${distanceList}
${heapAccess}
${bestHeap}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  heapThread = number;
  clearBest();
  // Places of a panel without a centre score lowest and never get in.
  for (var panel = 0u; panel < params.panelCount; panel++) {
    let scores = scoreEight(panel, row);
    for (var lane = 0u; lane < 4u; lane++) { offerBest(scores.left[lane], panel * 8u + lane); }
    for (var lane = 0u; lane < 4u; lane++) { offerBest(scores.right[lane], panel * 8u + 4u + lane); }
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

/** The same for software adapters, with lists in private memory. */
export const assignSparsePrivate = (capacity: number): string => wgsl`
${scoring}
${distanceList}
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
  // Places of a panel without a centre score lowest and never get in.
  for (var panel = 0u; panel < params.panelCount; panel++) {
    let scores = scoreEight(panel, row);
    for (var lane = 0u; lane < 4u; lane++) { insertScore(scores.left[lane], panel * 8u + lane); }
    for (var lane = 0u; lane < 4u; lane++) { insertScore(scores.right[lane], panel * 8u + 4u + lane); }
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

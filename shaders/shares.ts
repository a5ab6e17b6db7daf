/**
 * Responsibilities from logs: share = exp(log - evidence) times the weight of the point, 0 below LEAST_SHARE. One thread for
 * each point of lists, one for each pair where all components are asked.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { FAR, NONE, threadBuiltins, threadNumber } from './snippets.ts'

const shareOf = wgsl`
${NONE}
${FAR}

fn shareOf(gap: f32) -> f32 {
  let share = exp(clamp(gap, -80.0, 1.0));
  return select(share, 0.0, share < LEAST_SHARE);
}
`

export const sharesOfListsBody = (): string => wgsl`
${threadNumber}
${shareOf}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  let quads = params.quads;
  let base = row * params.m;
  let label = best[base];
  labels[row] = label;
  if (label == NONE) {
    for (var place = 0u; place < params.m; place++) { logs[base + place] = 0.0; }
    distances[row] = FAR;
    evidence[row] = -FAR;
    return;
  }
  var distance = 0.0;
  for (var t = 0u; t < quads; t++) {
    let gap = xPart(row, t, quads) - centers[label * quads + t];
    distance += dot(gap, gap);
  }
  distances[row] = distance;
  if (params.given == 0u) {
    let top = logs[base];
    var sum = 0.0;
    for (var place = 0u; place < params.m; place++) { sum += exp(max(logs[base + place] - top, -80.0)); }
    evidence[row] = top + log(sum);
  }
  let total = evidence[row];
  var weight = 1.0;
  if (params.hasWeights == 1u) { weight = weights[row]; }
  for (var place = 0u; place < params.m; place++) { logs[base + place] = shareOf(logs[base + place] - total) * weight; }
}
`

export const sharesOfAllBody = (): string => wgsl`
${threadNumber}
${shareOf}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let here = number / params.count;
  if (here >= params.rows) { return; }
  let row = params.firstRow + here;
  let quads = params.quads;
  let component = params.first + number % params.count;
  var distance = 0.0;
  for (var t = 0u; t < quads; t++) {
    let gap = xPart(row, t, quads) - centers[component * quads + t];
    distance += dot(gap, gap);
  }
  let share = shareOf(scales[component].x - distance * scales[component].y - evidence[row]);
  var weight = 1.0;
  if (params.hasWeights == 1u) { weight = weights[row]; }
  let out = row * params.count + number % params.count;
  pairs[out] = select(component, NONE, share == 0.0);
  shares[out] = share * weight;
}
`

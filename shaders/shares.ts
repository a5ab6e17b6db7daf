/**
 * Responsibilities from logs: share = exp(log - evidence) times the weight of the point, 0 below LEAST.
 * One thread a point for lists, one for each pair where all components are asked.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { rowsBinding, THREADS, threadBuiltins, threadNumber } from './pieces.ts'

const shareOf = wgsl`
const NONE = 0xffffffffu;
const FAR = 3.4e38f;
const LEAST = 7.7037198e-34f;  // 2^-110: smaller ones would soon round to zero

fn shareOf(gap: f32) -> f32 {
  let share = exp(clamp(gap, -80.0, 1.0));
  return select(share, 0.0, share < LEAST);
}
`

export const sharesOfListsShader = (type: ElementType): Shader => ({
  name: `shares-of-lists-${type}`,
  code: () => wgsl`
struct Params { firstRow: u32, rows: u32, quads: u32, m: u32, weighted: u32, given: u32 }
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> centers: array<vec4f>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;
@group(0) @binding(3) var<storage, read> best: array<u32>;
@group(0) @binding(4) var<storage, read_write> logs: array<f32>;
@group(0) @binding(5) var<storage, read_write> evidence: array<f32>;
@group(0) @binding(6) var<storage, read_write> labels: array<u32>;
@group(0) @binding(7) var<storage, read_write> distances: array<f32>;
@group(0) @binding(8) var<uniform> params: Params;
${threadNumber}
${shareOf}

@compute @workgroup_size(${THREADS})
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
  if (params.weighted == 1u) { weight = weights[row]; }
  for (var place = 0u; place < params.m; place++) { logs[base + place] = shareOf(logs[base + place] - total) * weight; }
}
`,
})

export const sharesOfAllShader = (type: ElementType): Shader => ({
  name: `shares-of-all-${type}`,
  code: () => wgsl`
struct Params { firstRow: u32, rows: u32, quads: u32, first: u32, count: u32, weighted: u32 }
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> centers: array<vec4f>;
@group(0) @binding(2) var<storage, read> scales: array<vec2f>;
@group(0) @binding(3) var<storage, read> weights: array<f32>;
@group(0) @binding(4) var<storage, read> evidence: array<f32>;
@group(0) @binding(5) var<storage, read_write> pairs: array<u32>;   // [n][count]
@group(0) @binding(6) var<storage, read_write> shares: array<f32>;  // [n][count]
@group(0) @binding(7) var<uniform> params: Params;
${threadNumber}
${shareOf}

@compute @workgroup_size(${THREADS})
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
  if (params.weighted == 1u) { weight = weights[row]; }
  let out = row * params.count + number % params.count;
  pairs[out] = select(component, NONE, share == 0.0);
  shares[out] = share * weight;
}
`,
})

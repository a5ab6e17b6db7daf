/**
 * Nearest among explicit candidates: `width` labels a point, 0xffffffff for none. With `merge` the
 * label and distance already there stay unless a candidate is nearer, or equally near with a lower
 * index. One thread a point.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { rowsBinding, THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const assignListsShader = (type: ElementType): Shader => ({
  name: `assign-lists-${type}`,
  code: () => wgsl`
struct Params {
  firstRow: u32,
  rows: u32,
  quads: u32,
  width: u32,
  merge: u32,
}
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> centers: array<vec4f>;
@group(0) @binding(2) var<storage, read> lists: array<u32>;
@group(0) @binding(3) var<storage, read_write> labels: array<u32>;
@group(0) @binding(4) var<storage, read_write> distances: array<f32>;
@group(0) @binding(5) var<uniform> params: Params;
${threadNumber}

const NONE = 0xffffffffu;
const FAR = 3.4e38f;

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  let quads = params.quads;
  var best = FAR;
  var label = NONE;
  if (params.merge == 1u) {
    best = distances[row];
    label = labels[row];
  }
  for (var place = 0u; place < params.width; place++) {
    let candidate = lists[row * params.width + place];
    if (candidate == NONE || candidate == label) { continue; }
    var distance = 0.0;
    for (var t = 0u; t < quads; t++) {
      let gap = xPart(row, t, quads) - centers[candidate * quads + t];
      distance += dot(gap, gap);
    }
    if (distance < best || (distance == best && candidate < label)) {
      best = distance;
      label = candidate;
    }
  }
  labels[row] = label;
  distances[row] = best;
}
`,
})

/**
 * Nearest among the centres of the point's group, a range of centres. A point in no group, or in an
 * empty one, gets no label. One thread a point.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { rowsBinding, THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const assignGroupsShader = (type: ElementType): Shader => ({
  name: `assign-groups-${type}`,
  code: () => wgsl`
struct Params {
  firstRow: u32,
  rows: u32,
  quads: u32,
}
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> centers: array<vec4f>;
@group(0) @binding(2) var<storage, read> ranges: array<vec2u>;
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(4) var<storage, read_write> labels: array<u32>;
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
  let place = places[row];
  var label = NONE;
  if (place != NONE) {
    let range = ranges[place];
    var best = FAR;
    for (var center = range.x; center < range.x + range.y; center++) {
      var distance = 0.0;
      for (var t = 0u; t < quads; t++) {
        let gap = xPart(row, t, quads) - centers[center * quads + t];
        distance += dot(gap, gap);
      }
      if (distance < best) {
        best = distance;
        label = center;
      }
    }
  }
  labels[row] = label;
}
`,
})

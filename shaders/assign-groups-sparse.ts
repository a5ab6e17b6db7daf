/** assign-groups.ts for sparse rows; distances as in assign-sparse.ts. One thread a row. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { Shader } from '../src/device/contract.ts'
import { ROUNDING } from './assign-sparse.ts'
import { sparseBindings, THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const assignGroupsSparse: Shader = {
  name: 'assign-groups-sparse',
  code: () => wgsl`
struct Params { firstRow: u32, rows: u32, columnsAt: u32, stride: u32 }
${sparseBindings(0)}
@group(0) @binding(2) var<storage, read> centers: array<f32>;
@group(0) @binding(3) var<storage, read> squares: array<f32>;
@group(0) @binding(4) var<storage, read> ranges: array<vec2u>;
@group(0) @binding(5) var<storage, read> groupOf: array<u32>;
@group(0) @binding(6) var<storage, read_write> labels: array<u32>;
@group(0) @binding(7) var<uniform> params: Params;
${threadNumber}
${ROUNDING}
const NONE = 0xffffffffu;

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  let group = groupOf[row];
  var label = NONE;
  if (group != NONE) {
    let range = ranges[group];
    var best = 3.4e38f;
    for (var center = range.x; center < range.x + range.y; center++) {
      var apart = 0.0;
      var inside = 0.0;
      for (var entry = places[row]; entry < places[row + 1u]; entry++) {
        let other = centers[center * params.stride + places[params.columnsAt + entry]];
        let gap = values[entry] - other;
        apart += gap * gap;
        inside += other * other;
      }
      let elsewhere = squares[center] - inside;
      let distance = apart + select(0.0, elsewhere, elsewhere > squares[center] * ROUNDING);
      if (distance < best) {
        best = distance;
        label = center;
      }
    }
  }
  labels[row] = label;
}
`,
}

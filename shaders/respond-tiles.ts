/**
 * respondAll of shaders/respond.ts in two passes, for hardware: ranks of all components for some rows, in register tiles,
 * then the list and the evidence of each row, one thread per row. Cost: 3 n k d.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { rowsBinding, THREADS, threadBuiltins, threadNumber } from './pieces.ts'
import { answerList } from './respond.ts'
import { PRODUCT_TILE, tileDeclarations, tileLoop } from './tile-product.ts'
import { unroll } from './unroll.ts'

const { rows: ROWS, threads: GROUP, each: EACH, side: SIDE } = PRODUCT_TILE

/** ranks[component][row of this pass]: neighbouring threads of both passes have neighbouring rows. */
export const rankTilesShader = (type: ElementType): Shader => ({
  name: `respond-rank-tiles-${type}`,
  code: () => wgsl`
struct Params {
  firstRow: u32,
  rows: u32,
  quads: u32,
  first: u32,  // number of the first component of this pass
  count: u32,
}
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> centers: array<vec4f>;  // [components of this pass][quads]
@group(0) @binding(2) var<storage, read> scales: array<vec2f>;   // of all components
@group(0) @binding(3) var<storage, read_write> ranks: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;
${tileDeclarations}

fn leftRow(index: u32) -> u32 { return min(index, params.count - 1u); }
fn rightRow(index: u32) -> u32 { return params.firstRow + min(index, params.rows - 1u); }
fn leftPart(row: u32, t: u32) -> vec4f {
  return select(vec4f(), centers[row * params.quads + min(t, params.quads - 1u)], t < params.quads);
}
fn rightPart(row: u32, t: u32) -> vec4f {
  return select(vec4f(), xPart(row, min(t, params.quads - 1u), params.quads), t < params.quads);
}

@compute @workgroup_size(${GROUP})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let quads = params.quads;
  let across = (params.rows + ${ROWS - 1}u) / ${ROWS}u;
  let tile = workgroup.y * groups.x + workgroup.x;
  let firstLeft = tile / across * ${ROWS}u;
  let firstRight = tile % across * ${ROWS}u;
${tileLoop('differences')}
${unroll(
  EACH,
  (i) => `  {
    let component = firstLeft + ty + ${SIDE * i}u;
    if (component < params.count) {
      let scale = scales[params.first + component];
      let at = component * params.rows;
${unroll(EACH, (j) => `      { let row = firstRight + tx + ${SIDE * j}u; if (row < params.rows) { ranks[at + row] = scale.x - s${i}_${j} * scale.y; } }`)}
    }
  }`,
)}
}
`,
})

/** The m best of the ranks, and the log of the sum over all of them. With `merge` on top of what is there. */
export const listRanksShader = (capacity: number): Shader => ({
  name: `respond-list-ranks-${capacity}`,
  code: () => wgsl`
struct Params { firstRow: u32, rows: u32, m: u32, first: u32, count: u32, merge: u32 }
@group(0) @binding(0) var<storage, read> ranks: array<f32>;  // [component][row of this pass]
@group(0) @binding(1) var<storage, read_write> best: array<u32>;
@group(0) @binding(2) var<storage, read_write> logs: array<f32>;
@group(0) @binding(3) var<storage, read_write> evidence: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;
${threadNumber}
${answerList(capacity)}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  beginList(row, params.merge == 1u);
  for (var j = 0u; j < params.count; j++) { answer(ranks[j * params.rows + number], params.first + j); }
  writeList(row * params.m);
  evidence[row] = top + log(sum);
}
`,
})

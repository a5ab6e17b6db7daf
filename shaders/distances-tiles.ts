/** The n x k matrix of squared distances, by differences, in register tiles, for hardware. Cost: 3 n k d. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { rowsBinding } from './pieces.ts'
import { PRODUCT_TILE, tileDeclarations, tileLoop } from './tile-product.ts'
import { unroll } from './unroll.ts'

const { rows: ROWS, threads: GROUP, each: EACH, side: SIDE } = PRODUCT_TILE

export const distancesTilesShader = (type: ElementType): Shader => ({
  name: `distances-tiles-${type}`,
  code: () => wgsl`
struct Params {
  firstRow: u32,
  rows: u32,
  quads: u32,
  centers: u32,
}
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> centers: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;  // [rows of this pass][centers]
@group(0) @binding(3) var<uniform> params: Params;
${tileDeclarations}

fn leftRow(index: u32) -> u32 { return params.firstRow + min(index, params.rows - 1u); }
fn rightRow(index: u32) -> u32 { return min(index, params.centers - 1u); }
fn leftPart(row: u32, t: u32) -> vec4f {
  return select(vec4f(), xPart(row, min(t, params.quads - 1u), params.quads), t < params.quads);
}
fn rightPart(row: u32, t: u32) -> vec4f {
  return select(vec4f(), centers[row * params.quads + min(t, params.quads - 1u)], t < params.quads);
}

@compute @workgroup_size(${GROUP})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let quads = params.quads;
  let across = (params.centers + ${ROWS - 1}u) / ${ROWS}u;
  let tile = workgroup.y * groups.x + workgroup.x;
  let firstLeft = tile / across * ${ROWS}u;
  let firstRight = tile % across * ${ROWS}u;
${tileLoop('differences')}
${unroll(
  EACH,
  (i) => `  {
    let row = firstLeft + ty + ${SIDE * i}u;
    if (row < params.rows) {
      let at = row * params.centers;
${unroll(EACH, (j) => `      { let column = firstRight + tx + ${SIDE * j}u; if (column < params.centers) { out[at + column] = s${i}_${j}; } }`)}
    }
  }`,
)}
}
`,
})

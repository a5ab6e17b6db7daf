/** The n x k matrix of squared distances in register tiles, for hardware: by differences, or by products (tile-distances.ts). */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { rowsBinding } from './pieces.ts'
import { distanceDeclarations, shiftBindings, tileDistances } from './tile-distances.ts'
import { PRODUCT_TILE, tileDeclarations, tileLoop } from './tile-product.ts'
import { unroll } from './unroll.ts'

const { rows: ROWS, threads: GROUP, each: EACH, side: SIDE } = PRODUCT_TILE

const bindings = (type: ElementType): string => wgsl`
struct Params {
  firstRow: u32,
  rows: u32,
  quads: u32,
  centers: u32,
}
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> centers: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;  // [rows of this pass][centers]
`

const rowFunctions = `
fn leftRow(index: u32) -> u32 { return params.firstRow + min(index, params.rows - 1u); }
fn rightRow(index: u32) -> u32 { return min(index, params.centers - 1u); }
fn leftRaw(row: u32, t: u32) -> vec4f { return xPart(row, t, params.quads); }
fn rightRaw(row: u32, t: u32) -> vec4f { return centers[row * params.quads + t]; }
fn emit(left: u32, right: u32, distance: f32) { out[left * params.centers + right] = distance; }
`

const beginTile = `
  let quads = params.quads;
  let across = (params.centers + ${ROWS - 1}u) / ${ROWS}u;
  let tile = workgroup.y * groups.x + workgroup.x;
  let firstLeft = tile / across * ${ROWS}u;
  let firstRight = tile % across * ${ROWS}u;
`

const main = `
@compute @workgroup_size(${GROUP})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
)`

/** By differences: 2 operations a column. With `marked` only the tiles that `distancesProductsShader` left. */
export const distancesTilesShader = (type: ElementType, marked = false): Shader => ({
  name: `distances-tiles-${type}${marked ? '-marked' : ''}`,
  code: () => wgsl`
${bindings(type)}
#if ${marked}
@group(0) @binding(3) var<storage, read> marks: array<u32>;
@group(0) @binding(4) var<uniform> params: Params;
#else
@group(0) @binding(3) var<uniform> params: Params;
#endif
${tileDeclarations}
${rowFunctions}
fn leftPart(row: u32, t: u32) -> vec4f {
  return select(vec4f(), leftRaw(row, min(t, params.quads - 1u)), t < params.quads);
}
fn rightPart(row: u32, t: u32) -> vec4f {
  return select(vec4f(), rightRaw(row, min(t, params.quads - 1u)), t < params.quads);
}

${main} {
${beginTile}
#if ${marked}
  if (tile >= arrayLength(&marks) || marks[tile] == 0u) { return; }
#endif
${tileLoop('differences')}
${unroll(
  EACH,
  (i) => `  {
    let row = firstLeft + ty + ${SIDE * i}u;
    if (row < params.rows) {
${unroll(EACH, (j) => `      { let column = firstRight + tx + ${SIDE * j}u; if (column < params.centers) { emit(row, column, s${i}_${j}); } }`)}
    }
  }`,
)}
}
`,
})

/** By products: 1.1 operations a column. */
export const distancesProductsShader = (type: ElementType): Shader => ({
  name: `distances-products-${type}`,
  code: () => wgsl`
${bindings(type)}
${shiftBindings(3, 4)}
@group(0) @binding(5) var<uniform> params: Params;
${distanceDeclarations}
${rowFunctions}
fn leftPart(row: u32, t: u32) -> vec4f {
  let at = min(t, params.quads - 1u);
  return select(vec4f(), leftRaw(row, at) - shift[at], t < params.quads);
}
fn rightPart(row: u32, t: u32) -> vec4f {
  let at = min(t, params.quads - 1u);
  return select(vec4f(), rightRaw(row, at) - shift[at], t < params.quads);
}

${main} {
${beginTile}
  let lefts = params.rows;
  let rights = params.centers;
${tileDistances}
}
`,
})

/** The n x k matrix of squared distances in register tiles, for hardware: by differences, or by products (tile-distances.ts). */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { distanceDeclarations, tileDistances } from './tile-distances.ts'
import { PRODUCT_TILE, tileDeclarations, tileLoop } from './tile-product.ts'
import { unroll } from './unroll.ts'

const { rows: ROWS, each: EACH, side: SIDE } = PRODUCT_TILE

const rowFunctions = `
fn leftRow(index: u32) -> u32 { return params.firstRow + min(index, params.rows - 1u); }
fn rightRow(index: u32) -> u32 { return min(index, params.count - 1u); }
fn leftRaw(row: u32, t: u32) -> vec4f { return xPart(row, t, params.quads); }
fn rightRaw(row: u32, t: u32) -> vec4f { return centers[row * params.quads + t]; }
fn emit(left: u32, right: u32, distance: f32) { out[left * params.count + right] = distance; }
`

const beginTile = `
  let quads = params.quads;
  let across = (params.count + ${ROWS - 1}u) / ${ROWS}u;
  let tile = workgroup.y * groups.x + workgroup.x;
  let firstLeft = tile / across * ${ROWS}u;
  let firstRight = tile % across * ${ROWS}u;
`

const main = `
@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
)`

/** By differences: 2 operations a column. With `marked` only the tiles that `distancesProducts` left. */
export const distancesTiles = (marked: boolean): string => wgsl`
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
${unroll(EACH, (j) => `      { let column = firstRight + tx + ${SIDE * j}u; if (column < params.count) { emit(row, column, s${i}_${j}); } }`)}
    }
  }`,
)}
}
`

/** By products: 1.1 operations a column. */
export const distancesProducts = (): string => wgsl`
${distanceDeclarations}
${rowFunctions}

${main} {
${beginTile}
  let lefts = params.rows;
  let rights = params.count;
${tileDistances}
}
`

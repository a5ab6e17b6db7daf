/**
 * respondAll of shaders/respond.ts in two passes, for hardware: ranks of all components for some rows, in register tiles,
 * then the list and the evidence of each row, one thread per row. Cost: 3 n k d by
 * differences, 2.2 n k d by products.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { answerList } from './respond.ts'
import { threadBuiltins, threadNumber } from './snippets.ts'
import { distanceDeclarations, tileDistances } from './tile-distances.ts'
import { PRODUCT_TILE, tileDeclarations, tileLoop } from './tile-product.ts'
import { unroll } from './unroll.ts'

const { rows: ROWS, each: EACH, side: SIDE } = PRODUCT_TILE

/** centers: [components of this pass][quads], scales: of all components. */
const rowFunctions = `
fn leftRow(index: u32) -> u32 { return min(index, params.count - 1u); }
fn rightRow(index: u32) -> u32 { return params.firstRow + min(index, params.rows - 1u); }
fn leftRaw(row: u32, t: u32) -> vec4f { return centers[row * params.quads + t]; }
fn rightRaw(row: u32, t: u32) -> vec4f { return xPart(row, t, params.quads); }
fn emit(component: u32, row: u32, distance: f32) {
  let scale = scales[params.first + component];
  ranks[component * params.rows + row] = scale.x - distance * scale.y;
}
`

const beginTile = `
  let quads = params.quads;
  let across = (params.rows + ${ROWS - 1}u) / ${ROWS}u;
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

/**
 * ranks[component][row of this pass]: neighbouring threads of both passes have neighbouring rows. By differences: 2
 * operations a column. With `marked` only the tiles that `rankProducts` left.
 */
export const rankTiles = (marked: boolean): string => wgsl`
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
    let component = firstLeft + ty + ${SIDE * i}u;
    if (component < params.count) {
${unroll(EACH, (j) => `      { let row = firstRight + tx + ${SIDE * j}u; if (row < params.rows) { emit(component, row, s${i}_${j}); } }`)}
    }
  }`,
)}
}
`

/** The same by products (tile-distances.ts): 1.1 operations a column. */
export const rankProducts = (): string => wgsl`
${distanceDeclarations}
${rowFunctions}

${main} {
${beginTile}
  let lefts = params.count;
  let rights = params.rows;
${tileDistances}
}
`

/** ranks: [component][row of this pass]. The m best of the ranks, and the log of the sum over all of them. With `merge` on top of what is there. */
export const listRanksBody = ({ capacity }: { readonly capacity: number }): string => wgsl`
${threadNumber}
${answerList(capacity)}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  beginList(row, params.merge == 1u);
  for (var j = 0u; j < params.count; j++) { answer(ranks[j * params.rows + number], params.first + j); }
  writeList(row * params.m);
  evidence[row] = top + log(sum);
}
`

/** The products of shaders/matmul.ts in register tiles, for hardware. Cost: 2 n p q each. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { PRODUCT_TILE, tileDeclarations, tileLoop } from './tile-product.ts'
import { COMPONENTS, unroll } from './unroll.ts'

const { rows: ROWS, each: EACH, side: SIDE } = PRODUCT_TILE

/** out = A B', a workgroup for each tile of 128 x 128 results. */
export const matmulTiles = (): string => wgsl`
${tileDeclarations}

fn leftRow(index: u32) -> u32 { return params.firstRow + min(index, params.rows - 1u); }
fn rightRow(index: u32) -> u32 { return min(index, params.count - 1u); }
fn leftPart(row: u32, t: u32) -> vec4f {
  return select(vec4f(), aPart(row, min(t, params.quads - 1u), params.quads), t < params.quads);
}
fn rightPart(row: u32, t: u32) -> vec4f {
  return select(vec4f(), b[row * params.quads + min(t, params.quads - 1u)], t < params.quads);
}

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let quads = params.quads;
  let width = params.outQuads * 4u;
  let across = (width + ${ROWS - 1}u) / ${ROWS}u;
  let tile = workgroup.y * groups.x + workgroup.x;
  let firstLeft = tile / across * ${ROWS}u;
  let firstRight = tile % across * ${ROWS}u;
${tileLoop('products')}
  // Columns past the last row of B are padding and become zero.
${unroll(
  EACH,
  (i) => `  {
    let row = firstLeft + ty + ${SIDE * i}u;
    if (row < params.rows) {
      let at = (params.firstRow + row) * width;
${unroll(EACH, (j) => `      { let column = firstRight + tx + ${SIDE * j}u; if (column < width) { out[at + column] = select(0.0, s${i}_${j}, column < params.count); } }`)}
    }
  }`,
)}
}
`

/** Rows of a step of the Gram matrix: 256 threads fetch one quad each of both matrices. */
const STEP = 8
const WIDTH = 32 // quads of columns in a tile

/** A' B over a slab of rows, a workgroup for each tile of 128 x 128 results and each slab. */
export const gramTiles = (): string => wgsl`

var<workgroup> leftTile: array<array<vec4f, ${STEP * WIDTH}>, 2>;   // [half][row, quad]
var<workgroup> rightTile: array<array<vec4f, ${STEP * WIDTH}>, 2>;  // [half][row, quad]

fn leftPart(row: u32, end: u32, quad: u32) -> vec4f {
  let inside = row < end && quad < params.quadsA;
  return select(vec4f(), aPart(min(row, params.n - 1u), min(quad, params.quadsA - 1u), params.quadsA), inside);
}
fn rightPart(row: u32, end: u32, quad: u32) -> vec4f {
  let inside = row < end && quad < params.quadsB;
  return select(vec4f(), bPart(min(row, params.n - 1u), min(quad, params.quadsB - 1u), params.quadsB), inside);
}

// Thread (tx, ty) of 16 x 16 owns quads ty and ty + 16 of A, and tx and tx + 16 of B.
@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let across = (params.quadsB + ${WIDTH - 1}u) / ${WIDTH}u;
  let down = (params.quadsA + ${WIDTH - 1}u) / ${WIDTH}u;
  let number = workgroup.y * groups.x + workgroup.x;
  // Workgroups past the last slab find no rows and write nothing.
  let slab = params.firstSlab + number / (across * down);
  let wanted = number / (across * down) < params.slabs;
  let tile = number % (across * down);
  let firstA = tile / across * ${WIDTH}u;
  let firstB = tile % across * ${WIDTH}u;
  let begin = slab * params.slabRows;
  let end = min(begin + params.slabRows, params.n);
  let tx = local % ${SIDE}u;
  let ty = local / ${SIDE}u;
  let fetchRow = local / ${WIDTH}u;
  let fetchQuad = local % ${WIDTH}u;
${unroll(EACH, (i) => `  var s${i}_0 = vec4f(); var s${i}_1 = vec4f();`)}
  leftTile[0][local] = leftPart(begin + fetchRow, end, firstA + fetchQuad);
  rightTile[0][local] = rightPart(begin + fetchRow, end, firstB + fetchQuad);
  workgroupBarrier();
  let steps = (params.slabRows + ${STEP - 1}u) / ${STEP}u;
  for (var step = 0u; step < steps; step++) {
    let next = begin + (step + 1u) * ${STEP}u + fetchRow;
    let nextLeft = leftPart(next, end, firstA + fetchQuad);
    let nextRight = rightPart(next, end, firstB + fetchQuad);
    let half = step & 1u;
${unroll(
  STEP,
  (row) => `    {
      let y0 = rightTile[half][${row * WIDTH}u + tx];
      let y1 = rightTile[half][${row * WIDTH + SIDE}u + tx];
${unroll(
  2,
  (h) => `      let x${h} = leftTile[half][${row * WIDTH + SIDE * h}u + ty];
${COMPONENTS.map((l, i) => unroll(2, (j) => `      s${4 * h + i}_${j} = fma(vec4f(x${h}.${l}), y${j}, s${4 * h + i}_${j});`, ' ')).join('\n')}`,
)}
    }`,
)}
    leftTile[(step + 1u) & 1u][local] = nextLeft;
    rightTile[(step + 1u) & 1u][local] = nextRight;
    workgroupBarrier();
  }
  if (!wanted) { return; }
${unroll(2, (h) =>
  unroll(
    2,
    (j) => `  {
    let quadA = firstA + ty + ${SIDE * h}u;
    let quadB = firstB + tx + ${SIDE * j}u;
    if (quadA < params.quadsA && quadB < params.quadsB) {
      let at = (slab * params.quadsA + quadA) * 4u * params.quadsB + quadB;
${unroll(4, (i) => `      partials[at + ${i}u * params.quadsB] = s${4 * h + i}_${j};`)}
    }
  }`,
  ),
)}
}
`

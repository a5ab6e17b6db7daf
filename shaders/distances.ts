/** The n x k matrix of squared distances, by differences. One thread takes a point and 4 centres. Cost: 3 n k d. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { rowsBinding, THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const distancesShader = (type: ElementType): Shader => ({
  name: `distances-${type}`,
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
${threadNumber}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let perRow = (params.centers + 3u) / 4u;
  let row = number / perRow;
  if (row >= params.rows) { return; }
  let j = (number % perRow) * 4u;
  let quads = params.quads;
  let end = params.centers - 1u;
  let r1 = min(j + 1u, end) * quads;
  let r2 = min(j + 2u, end) * quads;
  let r3 = min(j + 3u, end) * quads;
  var sums = vec4f();
  for (var t = 0u; t < quads; t++) {
    let v = xPart(params.firstRow + row, t, quads);
    let a = v - centers[j * quads + t];
    let b = v - centers[r1 + t];
    let c = v - centers[r2 + t];
    let d = v - centers[r3 + t];
    sums += vec4f(dot(a, a), dot(b, b), dot(c, c), dot(d, d));
  }
  let at = row * params.centers + j;
  for (var c = 0u; c < min(4u, params.centers - j); c++) { out[at + c] = sums[c]; }
}
`,
})

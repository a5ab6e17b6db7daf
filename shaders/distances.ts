/** The n x k matrix of squared distances, by differences. One thread takes a point and 4 centres. Cost: 3 n k d. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

/** out: [rows of this pass][centers]. */
export const distancesBlocks = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let perRow = (params.count + 3u) / 4u;
  let row = number / perRow;
  if (row >= params.rows) { return; }
  let j = (number % perRow) * 4u;
  let quads = params.quads;
  let end = params.count - 1u;
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
  let at = row * params.count + j;
  for (var c = 0u; c < min(4u, params.count - j); c++) { out[at + c] = sums[c]; }
}
`

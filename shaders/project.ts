/** out[i] = x_i . directions[node[i]], one direction per tree node. One thread a point. Cost: 2 n d. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

export const projectBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  let base = nodes[row] * params.quads;
  var sum = 0.0;
  for (var t = 0u; t < params.quads; t++) { sum += dot(xPart(row, t, params.quads), directions[base + t]); }
  out[row] = sum;
}
`

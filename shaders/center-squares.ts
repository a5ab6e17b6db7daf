/** |c|^2, one thread for each centre. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

/** Squares are summed in runs of 64 quads, so that errors stay small over very many columns. */
export const squareSum = wgsl`
fn squareSum(first: u32, quads: u32) -> f32 {
  var total = 0.0;
  for (var begin = 0u; begin < quads; begin += 64u) {
    var sum = vec4f();
    for (var t = begin; t < min(begin + 64u, quads); t++) {
      let value = centers[first + t];
      sum += value * value;
    }
    total += (sum.x + sum.y) + (sum.z + sum.w);
  }
  return total;
}
`

export const centerSquaresBody = (): string => wgsl`
${threadNumber}
${squareSum}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let index = threadNumber(workgroup, groups, local);
  if (index >= params.count) { return; }
  squares[index] = squareSum(index * params.quads, params.quads);
}
`

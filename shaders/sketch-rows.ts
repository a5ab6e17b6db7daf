/** out = bytes of A B' + shifts: rows projected on a few directions. One thread for 4 columns of a row. Cost: 2 n d q. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

export const sketchRowsBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let column = number % params.outQuads;
  let offset = number / params.outQuads;
  if (offset >= params.rows) { return; }
  let row = params.firstRow + offset;
  let quads = params.quads;
  // Columns past the last direction are padding: they compute the last one again, and become zero.
  let last = vec4u(params.count - 1u);
  let j = min(vec4u(column * 4u) + vec4u(0u, 1u, 2u, 3u), last);
  let base = j * quads;
  var sum = vec4f();
  for (var t = 0u; t < quads; t++) {
    let value = xPart(row, t, quads);
    sum += vec4f(
      dot(value, directions[base.x + t]),
      dot(value, directions[base.y + t]),
      dot(value, directions[base.z + t]),
      dot(value, directions[base.w + t]),
    );
  }
  sum += vec4f(shifts[j.x], shifts[j.y], shifts[j.z], shifts[j.w]);
  let steps = vec4u(clamp(round(sum), vec4f(0.0), vec4f(255.0)));
  let inside = vec4u(column * 4u) + vec4u(0u, 1u, 2u, 3u) <= last;
  out[row * params.outQuads + column] = pack4xU8(select(vec4u(), steps, inside));
}
`

/**
 * Centres prepared for the hardware forms of assign, once per call. Cost: k d.
 *
 * Centres are transposed to [quad][centre], so that neighbouring lanes, which own neighbouring centres, read
 * neighbouring addresses. The number of centres is padded to whole blocks: padding has zero coordinates and the
 * lowest start, so it never wins.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { LOWEST, threadBuiltins, threadNumber } from './snippets.ts'

/** One thread per centre, padding included. The sums are those of `centerStarts`, in the same order. */
export const packCentersBody = (): string => wgsl`
${threadNumber}
${LOWEST}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let index = threadNumber(workgroup, groups, local);
  if (index >= params.padded) { return; }
  let inside = index < params.centerCount;
  var sum = vec4f();
  for (var t = 0u; t < params.quads; t++) {
    var value = vec4f();
    if (inside) { value = centers[index * params.quads + t]; }
    packed[t * params.padded + index] = value;
    sum += value * value;
  }
  starts[index] = select(LOWEST, -0.5 * (sum.x + sum.y + sum.z + sum.w), inside);
}
`

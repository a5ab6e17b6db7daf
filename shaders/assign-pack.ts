/**
 * Centres prepared for the hardware forms of assign, once per call. Cost: k d.
 *
 * Centres are transposed to [quad][centre], so that neighbouring lanes, which own neighbouring centres, read
 * neighbouring addresses. The number of centres is padded to whole blocks: padding has zero coordinates and the
 * lowest start, so it never wins.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { Shader } from '../src/device/contract.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

/** One thread per centre, padding included. The sums are those of `centerStarts`, in the same order. */
export const packCenters: Shader = {
  name: 'assign-pack-centers',
  code: () => wgsl`
struct Params { centers: u32, quads: u32, padded: u32 }
@group(0) @binding(0) var<storage, read> centers: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> packed: array<vec4f>;  // [quads][padded]
@group(0) @binding(2) var<storage, read_write> starts: array<f32>;    // -|c|^2 / 2, [padded]
@group(0) @binding(3) var<uniform> params: Params;
${threadNumber}

const LOWEST = -3.4e38f;

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let index = threadNumber(workgroup, groups, local);
  if (index >= params.padded) { return; }
  let inside = index < params.centers;
  var sum = vec4f();
  for (var t = 0u; t < params.quads; t++) {
    var value = vec4f();
    if (inside) { value = centers[index * params.quads + t]; }
    packed[t * params.padded + index] = value;
    sum += value * value;
  }
  starts[index] = select(LOWEST, -0.5 * (sum.x + sum.y + sum.z + sum.w), inside);
}
`,
}

/**
 * What the host reads of a round: for every block of 256 items the sum of values (times weights) and
 * the number of places where two lists differ, or where one is zero. One thread a block; the first begins
 * at place `firstPlace` of the lists.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { Shader } from '../src/device/contract.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const TALLY_BLOCK = 256

export const tallyShader: Shader = {
  name: 'tally',
  code: () => wgsl`
struct Params {
  firstPlace: u32,
  n: u32,
  weighted: u32,
  zeros: u32,  // 1: count the zeros of left instead of the differences
}
@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> left: array<u32>;
@group(0) @binding(3) var<storage, read> right: array<u32>;
@group(0) @binding(4) var<storage, read_write> sums: array<f32>;
@group(0) @binding(5) var<storage, read_write> differences: array<u32>;
@group(0) @binding(6) var<uniform> params: Params;
${threadNumber}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let block = threadNumber(workgroup, groups, local);
  let begin = block * ${TALLY_BLOCK}u;
  if (begin >= params.n) { return; }
  var sum = 0.0;
  var different = 0u;
  let end = params.firstPlace + min(begin + ${TALLY_BLOCK}u, params.n);
  for (var i = params.firstPlace + begin; i < end; i++) {
    var value = values[i];
    if (params.weighted == 1u) { value *= weights[i]; }
    sum += value;
    if (params.zeros == 1u) {
      different += u32(left[i] == 0u);
    } else {
      different += u32(left[i] != right[i]);
    }
  }
  sums[block] = sum;
  differences[block] = different;
}
`,
}

/**
 * Exclusive prefix sums of u32 in place, without barriers: every thread sums a block of 256, the
 * block sums are scanned the same way, and the blocks then run through once more.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { Shader } from '../src/device/contract.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const SCAN_BLOCK = 256

const header = wgsl`
struct Params { count: u32 }
@group(0) @binding(0) var<storage, read_write> values: array<u32>;
@group(0) @binding(1) var<storage, read_write> blockSums: array<u32>;
@group(0) @binding(2) var<uniform> params: Params;
${threadNumber}
`

/** blockSums[b] = sum of block b. */
export const scanBlockSums: Shader = {
  name: 'scan-block-sums',
  code: () => wgsl`${header}
@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let block = threadNumber(workgroup, groups, local);
  let begin = block * ${SCAN_BLOCK}u;
  if (begin >= params.count) { return; }
  var sum = 0u;
  for (var i = begin; i < min(begin + ${SCAN_BLOCK}u, params.count); i++) { sum += values[i]; }
  blockSums[block] = sum;
}
`,
}

/** values become exclusive sums that start at their block's (already scanned) sum. */
export const scanWithinBlocks: Shader = {
  name: 'scan-within-blocks',
  code: () => wgsl`${header}
@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let block = threadNumber(workgroup, groups, local);
  let begin = block * ${SCAN_BLOCK}u;
  if (begin >= params.count) { return; }
  var sum = blockSums[block];
  for (var i = begin; i < min(begin + ${SCAN_BLOCK}u, params.count); i++) {
    let value = values[i];
    values[i] = sum;
    sum += value;
  }
}
`,
}

/** The few values of the last level, by one thread. */
export const scanSingle: Shader = {
  name: 'scan-single',
  code: () => wgsl`
struct Params { count: u32 }
@group(0) @binding(0) var<storage, read_write> values: array<u32>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(1)
fn main() {
  var sum = 0u;
  for (var i = 0u; i < params.count; i++) {
    let value = values[i];
    values[i] = sum;
    sum += value;
  }
}
`,
}

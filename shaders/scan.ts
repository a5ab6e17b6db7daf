/**
 * Exclusive prefix sums of u32 in place, without barriers: each thread sums a block of 256 values, the block sums are
 * scanned the same way, and a last pass over the blocks adds their start to each value.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { declareShader } from '../src/device/declared-shader.ts'
import { writes } from '../src/device/fields.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const SCAN_BLOCK = 256

const FIELDS = {
  params: { count: 'u32' },
  buffers: {
    values: writes('u32'),
    // Bound for writing in both passes: values and block sums can lie in one buffer, which WebGPU lets a dispatch either
    // read or write.
    blockSums: writes('u32'),
  },
  workgroup: THREADS,
} as const

/** blockSums[b] = sum of block b. */
export const scanBlockSums = declareShader({
  name: 'scan-block-sums',
  ...FIELDS,
  body: () => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let block = threadNumber(workgroup, groups, local);
  let begin = block * ${SCAN_BLOCK}u;
  if (begin >= params.count) { return; }
  var sum = 0u;
  for (var i = begin; i < min(begin + ${SCAN_BLOCK}u, params.count); i++) { sum += values[i]; }
  blockSums[block] = sum;
}
`,
})

/** values become exclusive sums that start at their block's (already scanned) sum. */
export const scanWithinBlocks = declareShader({
  name: 'scan-within-blocks',
  ...FIELDS,
  body: () => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
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
})

/** The few values of the last level, by one thread. */
export const scanSingle = declareShader({
  name: 'scan-single',
  params: { count: 'u32' },
  buffers: { values: writes('u32') },
  workgroup: 1,
  body: () => wgsl`
@compute @workgroup_size(WORKGROUP)
fn main() {
  var sum = 0u;
  for (var i = 0u; i < params.count; i++) {
    let value = values[i];
    values[i] = sum;
    sum += value;
  }
}
`,
})

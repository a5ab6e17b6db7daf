/**
 * Exclusive prefix sums of u32 in place. Without barriers: each thread sums a block of 256 values, the block sums are
 * scanned the same way, and a last pass over the blocks adds their start to each value. With barriers: one workgroup scans
 * all of them.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

export const SCAN_BLOCK = 256

/** Threads of the form with barriers, and the values that each of them adds up at a time. */
export const SCAN_THREADS = 256
const SCAN_VALUES = 8

/** blockSums[b] = sum of block b. */
export const blockSumsBody = (): string => wgsl`
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
`

/** values become exclusive sums that start at their block's (already scanned) sum. */
export const withinBlocksBody = (): string => wgsl`
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
`

/** The few values of the last level, by one thread. */
export const scanSingleBody = (): string => wgsl`
@compute @workgroup_size(WORKGROUP)
fn main() {
  var sum = 0u;
  for (var i = 0u; i < params.count; i++) {
    let value = values[i];
    values[i] = sum;
    sum += value;
  }
}
`

/** Up to some hundred thousand values, by one workgroup. */
export const scanWholeBody = (): string => wgsl`
var<workgroup> sums: array<u32, ${SCAN_THREADS}>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
  var before = 0u;
  for (var begin = 0u; begin < params.count; begin += ${SCAN_THREADS * SCAN_VALUES}u) {
    let first = begin + local * ${SCAN_VALUES}u;
    var own = array<u32, ${SCAN_VALUES}>();
    var total = 0u;
    for (var i = 0u; i < ${SCAN_VALUES}u; i++) {
      if (first + i < params.count) { own[i] = values[first + i]; }
      total += own[i];
    }
    sums[local] = total;
    workgroupBarrier();
    for (var step = 1u; step < ${SCAN_THREADS}u; step *= 2u) {
      var sum = sums[local];
      if (local >= step) { sum += sums[local - step]; }
      workgroupBarrier();
      sums[local] = sum;
      workgroupBarrier();
    }
    var next = before + sums[local] - total;
    before += sums[${SCAN_THREADS - 1}];
    for (var i = 0u; i < ${SCAN_VALUES}u; i++) {
      if (first + i < params.count) { values[first + i] = next; }
      next += own[i];
    }
    workgroupBarrier();
  }
}
`

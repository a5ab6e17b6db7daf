/**
 * One pass of a stable radix sort by 8 bits, without barriers: each thread counts the digits of a run of 256 keys, a prefix sum
 * turns the counts into places, and each thread writes its keys to their places in order. `first`: keys are labels, from that
 * of `firstPoint` on, and values are the numbers of the points.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

/** Keys that a thread sorts. */
export const RUN = 256
export const DIGITS = 256

export const sortKey = (first: boolean): string => wgsl`
fn keyAt(i: u32) -> u32 {
#if ${first}
  return min(keys[params.firstPoint + i], params.none);
#else
  return keys[i];
#endif
}

fn digitOf(key: u32) -> u32 {
  return (key >> params.shift) & ${DIGITS - 1}u;
}
`

const sortPlace = wgsl`
fn place(key: u32, run: u32) -> u32 {
  return digitOf(key) * params.runs + run;
}
`

export const countRuns = (first: boolean): string => wgsl`
${threadNumber}
${sortKey(first)}
${sortPlace}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let run = threadNumber(workgroup, groups, local);
  if (run >= params.runs) { return; }
  for (var digit = 0u; digit < ${DIGITS}u; digit++) { counts[digit * params.runs + run] = 0u; }
  for (var i = run * ${RUN}u; i < min((run + 1u) * ${RUN}u, params.n); i++) { counts[place(keyAt(i), run)]++; }
}
`

export const scatterRuns = (first: boolean): string => wgsl`
${threadNumber}
${sortKey(first)}
${sortPlace}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let run = threadNumber(workgroup, groups, local);
  if (run >= params.runs) { return; }
  for (var i = run * ${RUN}u; i < min((run + 1u) * ${RUN}u, params.n); i++) {
    let key = keyAt(i);
    let slot = place(key, run);
    let to = counts[slot];
    counts[slot] = to + 1u;
    sortedKeys[to] = key;
#if ${first}
    sortedValues[to] = params.firstPoint + i;
#else
    sortedValues[to] = values[i];
#endif
  }
}
`

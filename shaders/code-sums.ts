/**
 * Sums of points by codeword, for each subspace. Rows are divided into slabs; a thread sums four columns of a slab for one
 * subspace into a table of its own, so nothing is added atomically and rows are added in order. Afterwards the slabs are added
 * up. Cost: n m d.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

export const codeSumsBody = ({ wide }: { readonly wide: boolean }): string => wgsl`
${threadNumber}

fn codeOf(row: u32, space: u32) -> u32 {
  let at = row * params.codeStride + space;
#if ${wide}
  return codes[at];
#else
  return (codes[at / 4u] >> (8u * (at % 4u))) & 255u;
#endif
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let quad = number % params.quads;
  let space = (number / params.quads) % params.m;
  let slab = number / (params.quads * params.m);
  if (slab >= params.slabs) { return; }
  let begin = slab * params.slabRows + params.offset;
  let end = min(min(begin + params.rows, (slab + 1u) * params.slabRows), params.n);
  let table = (slab * params.m + space) * params.h;
  for (var row = begin; row < end; row++) {
    let place = table + codeOf(row, space);
    partials[place * params.quads + quad] += xPart(row, quad, params.quads);
    if (quad == 0u) { partialCounts[place]++; }
  }
}
`

/** Adds the slabs to what is there, in order. One thread for four numbers of a sum and for a count. */
export const codeSumsTotalBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number < params.size) {
    var sum = sums[number];
    for (var slab = 0u; slab < params.slabs; slab++) { sum += partials[slab * params.size + number]; }
    sums[number] = sum;
  }
  if (number < params.countSize) {
    var count = counts[number];
    for (var slab = 0u; slab < params.slabs; slab++) { count += partialCounts[slab * params.countSize + number]; }
    counts[number] = count;
  }
}
`

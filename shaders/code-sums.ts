/**
 * Sums of points by codeword, for every subspace. Rows are cut into slabs; a thread owns a slab, a
 * subspace and four columns, and adds to a table of its own, so nothing is added atomically and the
 * order of additions is that of the rows. Afterwards the slabs are added up. Cost: n m d.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { rowsBinding, THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const codeSumsShader = (type: ElementType, wide: boolean): Shader => ({
  name: `code-sums-${type}${wide ? '-wide' : ''}`,
  code: () => wgsl`
struct Params {
  n: u32,
  slabRows: u32,
  slabs: u32,
  offset: u32,      // rows of each slab that earlier passes took
  rows: u32,        // rows of each slab that this pass takes
  quads: u32,
  m: u32,
  h: u32,
  codeStride: u32,
}
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> codes: array<u32>;
@group(0) @binding(2) var<storage, read_write> partials: array<vec4f>;      // [slab][m][h][quads]
@group(0) @binding(3) var<storage, read_write> partialCounts: array<u32>;   // [slab][m][h]
@group(0) @binding(4) var<uniform> params: Params;
${threadNumber}

fn codeOf(row: u32, space: u32) -> u32 {
  let at = row * params.codeStride + space;
#if ${wide}
  return codes[at];
#else
  return (codes[at / 4u] >> (8u * (at % 4u))) & 255u;
#endif
}

@compute @workgroup_size(${THREADS})
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
`,
})

/** Adds the slabs to what is there, in order. One thread for four numbers of a sum and for a count. */
export const codeSumsTotal: Shader = {
  name: 'code-sums-total',
  code: () => wgsl`
struct Params { slabs: u32, size: u32, countSize: u32 }  // vec4f of all sums, and counts
@group(0) @binding(0) var<storage, read> partials: array<vec4f>;
@group(0) @binding(1) var<storage, read> partialCounts: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> counts: array<u32>;
@group(0) @binding(4) var<uniform> params: Params;
${threadNumber}

@compute @workgroup_size(${THREADS})
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
`,
}

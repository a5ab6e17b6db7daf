/**
 * Sums of points by codeword, for each subspace. Rows are divided into slabs; a thread sums four columns of a slab for one
 * subspace into a table of its own, so nothing is added atomically and rows are added in order. Afterwards the slabs are added
 * up. Cost: n m d.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { declareShader, rowsOf } from '../src/device/declared-shader.ts'
import { reads, writes } from '../src/device/fields.ts'
import { shaderForms } from '../src/device/shader-forms.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const codeSumsShader = shaderForms(
  [
    ['f32', false],
    ['f32', true],
    ['u8', false],
  ],
  (type: ElementType, wide: boolean) =>
    declareShader({
      name: `code-sums-${type}${wide ? '-wide' : ''}`,
      params: {
        n: 'u32',
        slabRows: 'u32',
        slabs: 'u32',
        /** Rows of each slab that earlier passes took. */
        offset: 'u32',
        /** Rows of each slab that this pass takes. */
        rows: 'u32',
        quads: 'u32',
        m: 'u32',
        h: 'u32',
        codeStride: 'u32',
      },
      buffers: {
        x: rowsOf(type),
        codes: reads('u32'),
        /** [slab][m][h][quads] */
        partials: writes('vec4f'),
        /** [slab][m][h] */
        partialCounts: writes('u32'),
      },
      workgroup: THREADS,
      body: () => wgsl`
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
`,
    }),
)

/** Adds the slabs to what is there, in order. One thread for four numbers of a sum and for a count. */
export const codeSumsTotal = declareShader({
  name: 'code-sums-total',
  params: {
    slabs: 'u32',
    /** vec4f of all sums. */
    size: 'u32',
    /** All counts. */
    countSize: 'u32',
  },
  buffers: {
    partials: reads('vec4f'),
    partialCounts: reads('u32'),
    sums: writes('vec4f'),
    counts: writes('u32'),
  },
  workgroup: THREADS,
  body: () => wgsl`
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
`,
})

/**
 * Two products. `rows`: out = A B', rows against rows (rotations), 4 x 4 results a thread. `gram`:
 * out = A' B, columns against columns summed over the rows, 4 x 4 results a thread for each slab of
 * rows, the slabs added in order afterwards so that runs repeat. Cost: 2 n p q each.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

/** `count`: rows of B. `outQuads`: a row of the result is 4 * outQuads floats. */
export const matmulBlocks = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let column = number % params.outQuads;
  let first = (number / params.outQuads) * 4u;
  if (first >= params.rows) { return; }
  let quads = params.quads;
  let last = params.firstRow + params.rows - 1u;
  let i0 = params.firstRow + first;
  let i1 = min(i0 + 1u, last);
  let i2 = min(i0 + 2u, last);
  let i3 = min(i0 + 3u, last);
  let end = params.count - 1u;
  let j = column * 4u;
  let r0 = min(j, end) * quads;
  let r1 = min(j + 1u, end) * quads;
  let r2 = min(j + 2u, end) * quads;
  let r3 = min(j + 3u, end) * quads;
  var s0 = vec4f(); var s1 = vec4f(); var s2 = vec4f(); var s3 = vec4f();
  for (var t = 0u; t < quads; t++) {
    let x0 = aPart(i0, t, quads);
    let x1 = aPart(i1, t, quads);
    let x2 = aPart(i2, t, quads);
    let x3 = aPart(i3, t, quads);
    let b0 = b[r0 + t];
    let b1 = b[r1 + t];
    let b2 = b[r2 + t];
    let b3 = b[r3 + t];
    s0 += vec4f(dot(x0, b0), dot(x0, b1), dot(x0, b2), dot(x0, b3));
    s1 += vec4f(dot(x1, b0), dot(x1, b1), dot(x1, b2), dot(x1, b3));
    s2 += vec4f(dot(x2, b0), dot(x2, b1), dot(x2, b2), dot(x2, b3));
    s3 += vec4f(dot(x3, b0), dot(x3, b1), dot(x3, b2), dot(x3, b3));
  }
  // Columns past the last row of B are padding and stay zero.
  let inside = vec4<bool>(j < params.count, j + 1u < params.count, j + 2u < params.count, j + 3u < params.count);
  let zero = vec4f();
  out[i0 * params.outQuads + column] = select(zero, s0, inside);
  if (i0 + 1u <= last) { out[i1 * params.outQuads + column] = select(zero, s1, inside); }
  if (i0 + 2u <= last) { out[i2 * params.outQuads + column] = select(zero, s2, inside); }
  if (i0 + 3u <= last) { out[i3 * params.outQuads + column] = select(zero, s3, inside); }
}
`

/** partials: [slab][4 quadsA][quadsB]. */
export const gramBlocks = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let q = number % params.quadsB;
  let p = (number / params.quadsB) % params.quadsA;
  let here = number / (params.quadsB * params.quadsA);
  if (here >= params.slabs) { return; }
  let slab = params.firstSlab + here;
  var s0 = vec4f(); var s1 = vec4f(); var s2 = vec4f(); var s3 = vec4f();
  for (var row = slab * params.slabRows; row < min((slab + 1u) * params.slabRows, params.n); row++) {
    let left = aPart(row, p, params.quadsA);
    let right = bPart(row, q, params.quadsB);
    s0 += left.x * right;
    s1 += left.y * right;
    s2 += left.z * right;
    s3 += left.w * right;
  }
  let at = (slab * params.quadsA + p) * 4u * params.quadsB + q;
  partials[at] = s0;
  partials[at + params.quadsB] = s1;
  partials[at + 2u * params.quadsB] = s2;
  partials[at + 3u * params.quadsB] = s3;
}
`

/** Adds the slabs in order. One thread for every 4 results. `size`: vec4f of one product. */
export const gramSumBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.size) { return; }
  var sum = vec4f();
  for (var slab = 0u; slab < params.slabs; slab++) { sum += partials[slab * params.size + number]; }
  out[number] = sum;
}
`

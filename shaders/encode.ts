/**
 * Product quantization: in each of m subspaces (ranges of columns) the nearest of h codewords, by
 * differences. A thread takes a point and four subspaces, so that it writes whole words of codes:
 * four bytes in one word while h <= 256 (`wide` false), a word each above; with `errors` also the sum
 * of the four squared distances. Cost: 3 n h d.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const encodeShader = (type: ElementType, wide: boolean, errors: boolean): Shader => ({
  name: `encode-${type}${wide ? '-wide' : ''}${errors ? '-errors' : ''}`,
  code: () => wgsl`
struct Params {
  firstRow: u32,
  rows: u32,
  stride: u32,       // columns of a row
  m: u32,
  h: u32,
  bookStride: u32,   // floats of a codeword, a multiple of 4
  codeStride: u32,   // codes of a row, a multiple of 4
}
#if ${type === 'u8'}
@group(0) @binding(0) var<storage, read> x: array<u32>;
fn value(row: u32, column: u32) -> f32 {
  let at = row * params.stride + column;
  return f32((x[at / 4u] >> (8u * (at % 4u))) & 255u);
}
#else
@group(0) @binding(0) var<storage, read> x: array<f32>;
fn value(row: u32, column: u32) -> f32 { return x[row * params.stride + column]; }
#endif
@group(0) @binding(1) var<storage, read> ranges: array<u32>;  // m + 1
@group(0) @binding(2) var<storage, read> books: array<f32>;   // [m][h][bookStride]
@group(0) @binding(3) var<storage, read_write> codes: array<u32>;
#if ${errors}
@group(0) @binding(4) var<storage, read_write> errors: array<f32>;
@group(0) @binding(5) var<uniform> params: Params;
#else
@group(0) @binding(4) var<uniform> params: Params;
#endif
${threadNumber}

var<private> error: f32;

fn nearest(row: u32, space: u32) -> u32 {
  let begin = ranges[space];
  let width = ranges[space + 1u] - begin;
  var best = 3.4e38f;
  var code = 0u;
  for (var word = 0u; word < params.h; word += 4u) {
    let end = params.h - 1u;
    let base = space * params.h;
    let r0 = (base + word) * params.bookStride;
    let r1 = (base + min(word + 1u, end)) * params.bookStride;
    let r2 = (base + min(word + 2u, end)) * params.bookStride;
    let r3 = (base + min(word + 3u, end)) * params.bookStride;
    var sums = vec4f();
    for (var c = 0u; c < width; c++) {
      let gap = vec4f(value(row, begin + c)) - vec4f(books[r0 + c], books[r1 + c], books[r2 + c], books[r3 + c]);
      sums += gap * gap;
    }
    for (var c = 0u; c < min(4u, params.h - word); c++) {
      if (sums[c] < best) {
        best = sums[c];
        code = word + c;
      }
    }
  }
  error += best;
  return code;
}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let perRow = params.codeStride / 4u;
  let here = number / perRow;
  if (here >= params.rows) { return; }
  let row = params.firstRow + here;
  let first = (number % perRow) * 4u;
#if ${wide}
  for (var s = first; s < min(first + 4u, params.m); s++) { codes[row * params.codeStride + s] = nearest(row, s); }
#else
  var packed = 0u;
  for (var s = first; s < min(first + 4u, params.m); s++) { packed |= nearest(row, s) << (8u * (s - first)); }
  codes[row * perRow + first / 4u] = packed;
#endif
#if ${errors}
  errors[row * perRow + first / 4u] = error;
#endif
}
`,
})

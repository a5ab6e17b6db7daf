/**
 * Product quantization: in each of m subspaces (ranges of columns) the nearest of h codewords, by differences. A thread takes
 * four subspaces of its points, so that it writes whole words of codes: four bytes in one word while h <= 256 (`wide` false), a
 * word each above; with `errors` also the sum of the four squared distances. Cost: 3 n h d.
 *
 * `encodeRegisters` is for hardware: a thread reads the columns of its points once and keeps them in registers, and
 * all threads of a workgroup compare with the same codeword, which the GPU reads once for all of them.
 * `encodeBlocks` is for software adapters and for subspaces too wide for registers: a thread takes one point.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { FARTHEST, THREADS, threadBuiltins, threadNumber } from './snippets.ts'

/** Widest codeword, in quads of columns, that `encodeRegisters` takes. */
export const MOST_REGISTER_QUADS = 24
/** Codewords measured at a time. */
const WORDS = 4

/** Points of a thread: two share each codeword while the registers of both leave room for enough threads. */
function pointsPerThread(quads: number): number {
  return quads <= 8 ? 2 : 1
}

/** Points of a workgroup of `encodeRegisters`; further workgroups take further subspaces of the same points. */
export function encodePointsPerGroup(quads: number): number {
  return THREADS * pointsPerThread(quads)
}

/** One column of a row: subspaces begin at any column. */
const columnValue = (type: ElementType): string => wgsl`
#if ${type === 'u8'}
fn value(row: u32, column: u32) -> f32 {
  let at = row * params.stride + column;
  return f32((x[at / 4u] >> (8u * (at % 4u))) & 255u);
}
#else
fn value(row: u32, column: u32) -> f32 { return x[row * params.stride + column]; }
#endif
`

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

/** Adds the squares of a quad in the order of columns. */
const addSquares = (sum: string, gap: string): string =>
  ['x', 'y', 'z', 'w'].map((column) => `      ${sum} += ${gap}.${column} * ${gap}.${column};`).join('\n')

/** `quads`: bookStride / 4. */
export function encodeRegisters(type: ElementType, quads: number, wide: boolean, errors: boolean): string {
  const points = range(pointsPerThread(quads))
  const parts = range(quads)
  const words = range(WORDS)
  return wgsl`
${columnValue(type)}

/** Four columns of a subspace; zeros after its end, as in the codebooks. */
fn columnsAt(row: u32, begin: u32, end: u32) -> vec4f {
  if (begin + 4u <= end) {
    return vec4f(value(row, begin), value(row, begin + 1u), value(row, begin + 2u), value(row, begin + 3u));
  }
  var values = vec4f();
  if (begin < end) { values.x = value(row, begin); }
  if (begin + 1u < end) { values.y = value(row, begin + 1u); }
  if (begin + 2u < end) { values.z = value(row, begin + 2u); }
  return values;
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let perRow = params.codeStride / 4u;
  let group = workgroup.y * groups.x + workgroup.x;
  let first = (group % perRow) * 4u;
  let start = (group / perRow) * ${THREADS * points.length}u;
  if (start >= params.rows) { return; }
${points
  .map(
    (p) => `
  let here${p} = start + ${p * THREADS}u + local;
  // Threads past the last row repeat it and write nothing.
  let row${p} = params.firstRow + min(here${p}, params.rows - 1u);
  var packed${p} = 0u;
  var error${p} = 0.0;`,
  )
  .join('')}
  for (var space = first; space < min(first + 4u, params.m); space++) {
    let begin = ranges[space];
    let end = ranges[space + 1u];
${points
  .map(
    (p) => `
${parts.map((t) => `    let p${p}x${t} = columnsAt(row${p}, begin + ${4 * t}u, end);`).join('\n')}
    var best${p} = ${FARTHEST}f;
    var block${p} = 0u;`,
  )
  .join('\n')}
    let book = space * params.h;
    for (var word = 0u; word < params.h; word += ${WORDS}u) {
${words
  .map(
    (w) => `
      // A word past the last repeats it, which changes no minimum.
      let at${w} = (book + min(word + ${w}u, params.h - 1u)) * ${quads}u;
${points.map((p) => `      var sum${p}w${w} = 0.0;`).join('\n')}`,
  )
  .join('')}
${parts
  .map((t) =>
    words
      .map(
        (w) => `
      let c${w}t${t} = books[at${w} + ${t}u];
${points
  .map(
    (p) => `      let gap${p}w${w}t${t} = p${p}x${t} - c${w}t${t};
${addSquares(`sum${p}w${w}`, `gap${p}w${w}t${t}`)}`,
  )
  .join('\n')}`,
      )
      .join(''),
  )
  .join('')}
${points
  .map(
    (p) => `
      let least${p} = ${words.map((w) => `sum${p}w${w}`).reduce((left, right) => `min(${left}, ${right})`)};
      if (least${p} < best${p}) {
        best${p} = least${p};
        block${p} = word;
      }`,
  )
  .join('')}
    }
${points
  .map(
    (p) => `
    // Only the block of the nearest is known: measure its codewords again.
    best${p} = ${FARTHEST}f;
    var code${p} = 0u;
    for (var word = block${p}; word < min(block${p} + ${WORDS}u, params.h); word++) {
      let at = (book + word) * ${quads}u;
      var sum = 0.0;
${parts
  .map(
    (t) => `
      let gap${t} = p${p}x${t} - books[at + ${t}u];
${addSquares('sum', `gap${t}`)}`,
  )
  .join('')}
      if (sum < best${p}) {
        best${p} = sum;
        code${p} = word;
      }
    }
    error${p} += best${p};
${wide ? `    if (here${p} < params.rows) { codes[row${p} * params.codeStride + space] = code${p}; }` : `    packed${p} |= code${p} << (8u * (space - first));`}`,
  )
  .join('')}
  }
${points
  .map(
    (p) => `
  if (here${p} < params.rows) {
${wide ? '' : `    codes[row${p} * perRow + first / 4u] = packed${p};`}
${errors ? `    errors[row${p} * perRow + first / 4u] = error${p};` : ''}
  }`,
  )
  .join('')}
}
`
}

export const encodeBlocks = (type: ElementType, wide: boolean, errors: boolean): string => wgsl`
${columnValue(type)}
${threadNumber}

var<private> error: f32;

fn nearest(row: u32, space: u32) -> u32 {
  let begin = ranges[space];
  let width = ranges[space + 1u] - begin;
  var best = ${FARTHEST}f;
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

@compute @workgroup_size(WORKGROUP)
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
`

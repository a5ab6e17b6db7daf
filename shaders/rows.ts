/**
 * Access to vectors, dense or sparse, and to the dense centres they are compared with. A kernel that only needs
 * `distanceTo(row, center)` takes `VECTORS` as points, and works for all types.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { RowType } from '../src/kernels/rows.ts'

/** Fraction of |c|^2: smaller differences are rounding errors of 32 bits, and are treated as zero. */
export const ROUNDING = wgsl`const ROUNDING = 1e-6f;`

/** The squared distance of a row to a centre, by differences. `square`: |c|^2 of `center`, which only sparse rows need. */
export const rowDistance = (type: RowType, square = 'squares[center]'): string => wgsl`
#if ${type === 'csr'}
${ROUNDING}
fn distanceTo(row: u32, center: u32) -> f32 {
  var apart = 0.0;
  var inside = 0.0;
  for (var entry = offsets[row]; entry < offsets[row + 1u]; entry++) {
    let other = centers[center * params.quads * 4u + offsets[params.columnsAt + entry]];
    let gap = x[entry] - other;
    apart += gap * gap;
    inside += other * other;
  }
  // What the centre has outside the entries of the row.
  let square = ${square};
  let elsewhere = square - inside;
  return apart + select(0.0, elsewhere, elsewhere > square * ROUNDING);
}
#else
fn distanceTo(row: u32, center: u32) -> f32 {
  let quads = params.quads;
  var distance = 0.0;
  for (var t = 0u; t < quads; t++) {
    let gap = xPart(row, t, quads) - centers[center * quads + t];
    distance += dot(gap, gap);
  }
  return distance;
}
#endif
`

/** Parameters, bindings and functions that the hardware forms of assign share. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { rowsBinding } from './pieces.ts'

/** Words of the list of unsure points: two counters, maxima over the centres as bits of floats, then rows. */
export const UNSURE = { error: 2, length: 3, rows: 4 } as const

/**
 * What binding 4 is: the best of each split; the list of unsure points to append to; or that list to read rows from. Two
 * counters take turns: a pass that reads the list sets the other counter to zero for the next pass.
 */
export type AssignRole = 'split' | 'append' | 'listed'

export const assignDeclarations = (type: ElementType, role: AssignRole): string => wgsl`
struct Params {
  firstRow: u32,
  rows: u32,
  quads: u32,         // columns / 4
  centers: u32,
  firstCenter: u32,   // label of the first centre
  merge: u32,         // 1: keep the current label unless a centre is strictly nearer
  padded: u32,        // centres with padding
  splitCenters: u32,  // centres of one split
  splits: u32,
  counter: u32,       // which of the two counters applies
}
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> centers: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> labels: array<u32>;
@group(0) @binding(3) var<storage, read_write> distances: array<f32>;
#if ${role === 'listed'}
@group(0) @binding(4) var<storage, read_write> unsure: array<u32>;
#elif ${role === 'append'}
@group(0) @binding(4) var<storage, read_write> unsure: array<atomic<u32>>;
#else
@group(0) @binding(4) var<storage, read_write> partials: array<vec2u>;  // score and centre, [split][rows of the pass]
#endif

const LOWEST = -3.4e38f;

struct Best { score: f32, index: u32 }

fn prefer(a: Best, b: Best) -> Best {
  if (b.score > a.score || (b.score == a.score && b.index < a.index)) { return b; }
  return a;
}

fn distanceTo(row: u32, index: u32) -> f32 {
  var distance = 0.0;
  for (var t = 0u; t < params.quads; t++) {
    let gap = xPart(row, t, params.quads) - centers[index * params.quads + t];
    distance += dot(gap, gap);
  }
  return distance;
}

fn keep(row: u32, index: u32, distance: f32) {
  if (params.merge == 0u || distance < distances[row]) {
    labels[row] = params.firstCenter + index;
    distances[row] = distance;
  }
}

fn settle(row: u32, index: u32) { keep(row, index, distanceTo(row, index)); }
`

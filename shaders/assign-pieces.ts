/** Parameters, bindings and functions that the hardware forms of assign share. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { rowsBinding } from './pieces.ts'

/** `listed`: rows come from a list of unsure rows instead of a range. */
export const assignDeclarations = (type: ElementType, listed: boolean): string => wgsl`
struct Params {
  firstRow: u32,      // listed: which of the two counters applies
  rows: u32,
  quads: u32,         // columns / 4
  centers: u32,
  firstCenter: u32,   // label of the first centre
  merge: u32,         // 1: keep the current label unless a centre is strictly nearer
  padded: u32,        // centres with padding
  splitCenters: u32,  // centres of one split
  splits: u32,
}
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> centers: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> labels: array<u32>;
@group(0) @binding(3) var<storage, read_write> distances: array<f32>;
#if ${listed}
@group(0) @binding(4) var<storage, read_write> unsure: array<u32>;  // two counters, then rows
#else
@group(0) @binding(4) var<storage, read_write> partials: array<vec2u>;  // score and centre, [split][rows of the pass]
#endif

const LOWEST = -3.4e38f;

struct Best { score: f32, index: u32 }

fn prefer(a: Best, b: Best) -> Best {
  if (b.score > a.score || (b.score == a.score && b.index < a.index)) { return b; }
  return a;
}

fn settle(row: u32, index: u32) {
  var distance = 0.0;
  for (var t = 0u; t < params.quads; t++) {
    let gap = xPart(row, t, params.quads) - centers[index * params.quads + t];
    distance += dot(gap, gap);
  }
  if (params.merge == 0u || distance < distances[row]) {
    labels[row] = params.firstCenter + index;
    distances[row] = distance;
  }
}
`

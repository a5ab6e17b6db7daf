/** Parameters, buffers and functions that the forms of assign share. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { rowDistance } from './rows.ts'
import { LOWEST } from './snippets.ts'

/**
 * Words of the list of unsure points: two counters, maxima over the centres as bits of floats, then rows. The counters take
 * turns: a pass that reads the list sets the other counter to zero for the next pass.
 */
export const UNSURE = { error: 2, length: 3, rows: 4 } as const

export const bestScore = wgsl`
${LOWEST}

struct Best { score: f32, index: u32 }

fn prefer(a: Best, b: Best) -> Best {
  if (b.score > a.score || (b.score == a.score && b.index < a.index)) { return b; }
  return a;
}
`

/** The best so far or one of four centres from `first` on. */
export const preferFour = wgsl`
fn preferFour(best: Best, scores: vec4f, first: u32) -> Best {
  var result = best;
  // Strictly greater, in rising order of index: a tie keeps the lowest.
  if (scores.x > result.score) { result = Best(scores.x, first); }
  if (scores.y > result.score) { result = Best(scores.y, first + 1u); }
  if (scores.z > result.score) { result = Best(scores.z, first + 2u); }
  if (scores.w > result.score) { result = Best(scores.w, first + 3u); }
  return result;
}
`

/** The distance of the centre that was found is taken by differences. */
export const settling = (type: ElementType): string => wgsl`
${rowDistance(type)}

fn keep(row: u32, index: u32, distance: f32) {
  if (params.merge == 0u || distance < distances[row]) {
    labels[row] = params.firstLabel + index;
    distances[row] = distance;
  }
}

fn settle(row: u32, index: u32) { keep(row, index, distanceTo(row, index)); }
`

/**
 * Nearest among explicit candidates: `width` labels for each row, 0xffffffff for none. With `merge` the
 * label and distance already there stay unless a candidate is nearer, or equally near with a lower
 * index. One thread for each row.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { RowType } from '../src/kernels/rows.ts'
import { rowDistance } from './rows.ts'
import { FAR, NONE, threadBuiltins, threadNumber } from './snippets.ts'

export const assignListsBody = ({ points }: { readonly points: RowType }): string => wgsl`
${threadNumber}
${rowDistance(points)}

${NONE}
${FAR}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  var best = FAR;
  var label = NONE;
  if (params.merge == 1u) {
    best = distances[row];
    label = labels[row];
  }
  for (var place = 0u; place < params.width; place++) {
    let candidate = lists[row * params.width + place];
    if (candidate == NONE || candidate == label) { continue; }
    let distance = distanceTo(row, candidate);
    if (distance < best || (distance == best && candidate < label)) {
      best = distance;
      label = candidate;
    }
  }
  labels[row] = label;
  distances[row] = best;
}
`

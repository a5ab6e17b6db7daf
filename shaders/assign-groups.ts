/**
 * Nearest among the centres of the row's group, a range of centres. A row in no group, or in an
 * empty one, gets no label. One thread for each row.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { RowType } from '../src/kernels/rows.ts'
import { rowDistance } from './rows.ts'
import { FAR, NONE, threadBuiltins, threadNumber } from './snippets.ts'

export const assignGroupsBody = ({ points }: { readonly points: RowType }): string => wgsl`
${threadNumber}
${rowDistance(points)}

${NONE}
${FAR}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  let group = groupOf[row];
  var label = NONE;
  if (group != NONE) {
    let range = ranges[group];
    var best = FAR;
    for (var center = range.x; center < range.x + range.y; center++) {
      let distance = distanceTo(row, center);
      if (distance < best) {
        best = distance;
        label = center;
      }
    }
  }
  labels[row] = label;
}
`

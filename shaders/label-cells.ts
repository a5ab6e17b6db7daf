/** The number of the cell of each point. One thread for each place of `members`, which lists the points cell by cell. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

export const labelCellsBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.count) { return; }
  let at = params.first + number;
  // The last cell that begins here or before.
  var cell = 0u;
  var beyond = params.cells;
  while (beyond - cell > 1u) {
    let middle = cell + (beyond - cell) / 2u;
    if (offsets[middle] <= at) { cell = middle; } else { beyond = middle; }
  }
  labels[members[at]] = cell;
}
`

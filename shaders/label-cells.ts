/** The number of the cell of each point. One thread for each place of `members`, which lists the points cell by cell. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { declareShader } from '../src/device/declared-shader.ts'
import { reads, writes } from '../src/device/fields.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const labelCellsShader = declareShader({
  name: 'label-cells',
  params: { first: 'u32', count: 'u32', cells: 'u32' },
  buffers: { members: reads('u32'), offsets: reads('u32'), labels: writes('u32') },
  workgroup: THREADS,
  body: () => wgsl`
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
`,
})

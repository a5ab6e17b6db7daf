/** Each point gets the number of the cell that holds it. One thread a place of `members`, which holds points cell by cell. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { Shader } from '../src/device/contract.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const labelCellsShader: Shader = {
  name: 'label-cells',
  code: () => wgsl`
struct Params { first: u32, count: u32, cells: u32 }
@group(0) @binding(0) var<storage, read> members: array<u32>;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read_write> labels: array<u32>;
@group(0) @binding(3) var<uniform> params: Params;
${threadNumber}

@compute @workgroup_size(${THREADS})
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
}

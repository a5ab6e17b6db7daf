/**
 * Nearest among the centres of the row's group, a range of centres. A row in no group, or in an
 * empty one, gets no label. One thread for each row.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { declareShader } from '../src/device/declared-shader.ts'
import { reads, writes } from '../src/device/fields.ts'
import { DENSE_TYPES, shaderForms } from '../src/device/shader-forms.ts'
import type { RowType } from '../src/kernels/rows.ts'
import { FAR, NONE, THREADS, threadBuiltins, threadNumber } from './pieces.ts'
import { ROW_PARAMS, rowBuffers, rowDistance } from './rows.ts'

export const assignGroupsShader = shaderForms(DENSE_TYPES, (type: RowType) =>
  declareShader({
    name: `assign-groups-${type}`,
    params: { ...ROW_PARAMS, firstRow: 'u32', rows: 'u32' },
    buffers: { ...rowBuffers(type), ranges: reads('vec2u'), groupOf: reads('u32'), labels: writes('u32') },
    workgroup: THREADS,
    body: () => wgsl`
${threadNumber}
${rowDistance(type)}

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
`,
  }),
)

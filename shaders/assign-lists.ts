/**
 * Nearest among explicit candidates: `width` labels for each row, 0xffffffff for none. With `merge` the
 * label and distance already there stay unless a candidate is nearer, or equally near with a lower
 * index. One thread for each row.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { declareShader } from '../src/device/declared-shader.ts'
import { reads, writes } from '../src/device/fields.ts'
import { DENSE_TYPES, shaderForms } from '../src/device/shader-forms.ts'
import type { RowType } from '../src/kernels/rows.ts'
import { FAR, NONE, THREADS, threadBuiltins, threadNumber } from './pieces.ts'
import { ROW_PARAMS, rowBuffers, rowDistance } from './rows.ts'

export const assignListsShader = shaderForms(DENSE_TYPES, (type: RowType) =>
  declareShader({
    name: `assign-lists-${type}`,
    params: { ...ROW_PARAMS, firstRow: 'u32', rows: 'u32', width: 'u32', merge: 'bool' },
    buffers: { ...rowBuffers(type), lists: reads('u32'), labels: writes('u32'), distances: writes('f32') },
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
`,
  }),
)

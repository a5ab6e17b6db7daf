/** out[i] = x_i . directions[node[i]], one direction per tree node. One thread a point. Cost: 2 n d. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { declareShader, rowsOf } from '../src/device/declared-shader.ts'
import { reads, writes } from '../src/device/fields.ts'
import { DENSE_TYPES, shaderForms } from '../src/device/shader-forms.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const projectShader = shaderForms(DENSE_TYPES, (type: ElementType) =>
  declareShader({
    name: `project-${type}`,
    params: { firstRow: 'u32', rows: 'u32', quads: 'u32' },
    buffers: { x: rowsOf(type), directions: reads('vec4f'), nodes: reads('u32'), out: writes('f32') },
    workgroup: THREADS,
    body: () => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  let base = nodes[row] * params.quads;
  var sum = 0.0;
  for (var t = 0u; t < params.quads; t++) { sum += dot(xPart(row, t, params.quads), directions[base + t]); }
  out[row] = sum;
}
`,
  }),
)

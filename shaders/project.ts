/** out[i] = x_i . directions[node[i]], one direction per tree node. One thread a point. Cost: 2 n d. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { rowsBinding, THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const projectShader = (type: ElementType): Shader => ({
  name: `project-${type}`,
  code: () => wgsl`
struct Params { firstRow: u32, rows: u32, quads: u32 }
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> directions: array<vec4f>;
@group(0) @binding(2) var<storage, read> nodes: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;
${threadNumber}

@compute @workgroup_size(${THREADS})
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
})

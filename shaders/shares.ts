/**
 * Responsibilities from logs: share = exp(log - evidence) times the weight of the point, 0 below LEAST_SHARE. One thread for
 * each point of lists, one for each pair where all components are asked.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { declareShader, rowsOf } from '../src/device/declared-shader.ts'
import { mayRead, reads, writes } from '../src/device/fields.ts'
import { DENSE_TYPES, shaderForms } from '../src/device/shader-forms.ts'
import { FAR, NONE, THREADS, threadBuiltins, threadNumber } from './pieces.ts'

/** Shares below this are 0: smaller ones would soon round to zero. Small as they are, they say how wide a component may grow. */
export const LEAST_SHARE = 2 ** -110

const shareOf = wgsl`
${NONE}
${FAR}
const LEAST = ${LEAST_SHARE}f;

fn shareOf(gap: f32) -> f32 {
  let share = exp(clamp(gap, -80.0, 1.0));
  return select(share, 0.0, share < LEAST);
}
`

export const sharesOfListsShader = shaderForms(DENSE_TYPES, (type: ElementType) =>
  declareShader({
    name: `shares-of-lists-${type}`,
    params: { firstRow: 'u32', rows: 'u32', quads: 'u32', m: 'u32', given: 'bool' },
    buffers: {
      x: rowsOf(type),
      centers: reads('vec4f'),
      weights: mayRead('f32'),
      best: reads('u32'),
      logs: writes('f32'),
      evidence: writes('f32'),
      labels: writes('u32'),
      distances: writes('f32'),
    },
    workgroup: THREADS,
    body: () => wgsl`
${threadNumber}
${shareOf}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  let quads = params.quads;
  let base = row * params.m;
  let label = best[base];
  labels[row] = label;
  if (label == NONE) {
    for (var place = 0u; place < params.m; place++) { logs[base + place] = 0.0; }
    distances[row] = FAR;
    evidence[row] = -FAR;
    return;
  }
  var distance = 0.0;
  for (var t = 0u; t < quads; t++) {
    let gap = xPart(row, t, quads) - centers[label * quads + t];
    distance += dot(gap, gap);
  }
  distances[row] = distance;
  if (params.given == 0u) {
    let top = logs[base];
    var sum = 0.0;
    for (var place = 0u; place < params.m; place++) { sum += exp(max(logs[base + place] - top, -80.0)); }
    evidence[row] = top + log(sum);
  }
  let total = evidence[row];
  var weight = 1.0;
  if (params.hasWeights == 1u) { weight = weights[row]; }
  for (var place = 0u; place < params.m; place++) { logs[base + place] = shareOf(logs[base + place] - total) * weight; }
}
`,
  }),
)

export const sharesOfAllShader = shaderForms(DENSE_TYPES, (type: ElementType) =>
  declareShader({
    name: `shares-of-all-${type}`,
    params: { firstRow: 'u32', rows: 'u32', quads: 'u32', first: 'u32', count: 'u32' },
    buffers: {
      x: rowsOf(type),
      centers: reads('vec4f'),
      scales: reads('vec2f'),
      weights: mayRead('f32'),
      evidence: reads('f32'),
      /** [n][count] */
      pairs: writes('u32'),
      /** [n][count] */
      shares: writes('f32'),
    },
    workgroup: THREADS,
    body: () => wgsl`
${threadNumber}
${shareOf}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let here = number / params.count;
  if (here >= params.rows) { return; }
  let row = params.firstRow + here;
  let quads = params.quads;
  let component = params.first + number % params.count;
  var distance = 0.0;
  for (var t = 0u; t < quads; t++) {
    let gap = xPart(row, t, quads) - centers[component * quads + t];
    distance += dot(gap, gap);
  }
  let share = shareOf(scales[component].x - distance * scales[component].y - evidence[row]);
  var weight = 1.0;
  if (params.hasWeights == 1u) { weight = weights[row]; }
  let out = row * params.count + number % params.count;
  pairs[out] = select(component, NONE, share == 0.0);
  shares[out] = share * weight;
}
`,
  }),
)

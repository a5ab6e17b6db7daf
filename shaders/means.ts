/**
 * Centres from sums, and by how much the squared distances of each cluster fall when its centre moves
 * there: total * (|mean - old|^2 - |mean - new|^2). With `unit` the mean is brought to length one. A
 * cluster without weight keeps its centre and gains nothing. One thread a cluster.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { Shader } from '../src/device/contract.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const meansShader: Shader = {
  name: 'means',
  code: () => wgsl`
struct Params { firstCluster: u32, clusters: u32, quads: u32, unit: u32 }
@group(0) @binding(0) var<storage, read> sums: array<vec4f>;           // [clusters of this pass][quads]
@group(0) @binding(1) var<storage, read> totals: array<f32>;           // of all clusters
@group(0) @binding(2) var<storage, read_write> centers: array<vec4f>;  // [clusters of this pass][quads]
@group(0) @binding(3) var<storage, read_write> gains: array<f32>;      // of all clusters
@group(0) @binding(4) var<uniform> params: Params;
${threadNumber}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let here = threadNumber(workgroup, groups, local);
  if (here >= params.clusters) { return; }
  let cluster = params.firstCluster + here;
  let total = totals[cluster];
  if (total <= 0.0) {
    gains[cluster] = 0.0;
    return;
  }
  let at = here * params.quads;
  var length = 1.0;
  if (params.unit == 1u) {
    var squares = 0.0;
    for (var t = 0u; t < params.quads; t++) {
      let mean = sums[at + t] / total;
      squares += dot(mean, mean);
    }
    if (squares > 0.0) { length = inverseSqrt(squares); }
  }
  var gain = 0.0;
  for (var t = 0u; t < params.quads; t++) {
    let mean = sums[at + t] / total;
    let fresh = mean * length;
    let before = mean - centers[at + t];
    let after = mean - fresh;
    gain += dot(before, before) - dot(after, after);
    centers[at + t] = fresh;
  }
  gains[cluster] = total * gain;
}
`,
}

/**
 * Centres from sums, and the decrease of the squared distances of each cluster when its centre moves there:
 * total * (|mean - old|^2 - |mean - new|^2). With `unit` the mean is scaled to length 1. A cluster without weight keeps its
 * centre, and its gain is 0. One thread for each cluster.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

export const meansBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
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
`

/** Means and variances of components from the sums of accumulate-soft.ts, as in wasm/expand.ts. One thread for each component. */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

export const expandBody = (): string => wgsl`
${threadNumber}

fn report(component: u32, total: f32, inner: f32, variance: f32) {
  found[3u * component] = total;
  found[3u * component + 1u] = inner;
  found[3u * component + 2u] = variance;
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let here = threadNumber(workgroup, groups, local);
  if (here >= params.components) { return; }
  let component = params.first + here;
  let quads = params.quads;
  let at = here * quads;
  let sumsAt = here * (quads + 1u);
  let totals = sums[sumsAt + quads];  // inner squares, outer squares, inner total, outer total
  let inner = totals.z;
  let outer = totals.w;
  let total = inner + outer;
  if (total <= 0.0) {
    report(component, 0.0, 0.0, params.floor);
    return;
  }
  var length = 1.0;
  if (params.unit == 1u) {
    var squares = 0.0;
    for (var t = 0u; t < quads; t++) {
      let mean = centers[at + t] + sums[sumsAt + t] / total;
      squares += dot(mean, mean);
    }
    if (squares > 0.0) { length = inverseSqrt(squares); }
  }
  var along = 0.0;
  var way = 0.0;
  for (var t = 0u; t < quads; t++) {
    let sum = sums[sumsAt + t];
    let old = centers[at + t];
    let fresh = (old + sum / total) * length;
    let step = fresh - old;
    along += dot(step, sum);
    way += dot(step, step);
    centers[at + t] = fresh;
  }
  var variance = 0.0;
  if (params.aroundOld == 1u) {
    var share = inner / total * (1.0 - params.lambda);
    if (outer <= 0.0) { share = 1.0; }
    if (inner > 0.0) { variance += share * totals.x / inner; }
    if (outer > 0.0) { variance += (1.0 - share) * totals.y / outer; }
  } else {
    variance = max(0.0, totals.x + totals.y - 2.0 * along + total * way) / total;
  }
  report(component, total, inner, max(params.floor, variance / f32(params.cols)));
}
`

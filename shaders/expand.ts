/**
 * Means and variances of components from the sums of accumulate-soft.ts, as in wasm/expand.ts. One
 * thread a component.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { Shader } from '../src/device/contract.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const expandShader: Shader = {
  name: 'expand',
  code: () => wgsl`
struct Params { first: u32, components: u32, quads: u32, cols: u32, unit: u32, aroundOld: u32, lambda: f32, floor: f32 }
@group(0) @binding(0) var<storage, read> sums: array<vec4f>;           // [components of this pass][quads][3]
@group(0) @binding(1) var<storage, read_write> centers: array<vec4f>;  // [components of this pass][quads]
@group(0) @binding(2) var<storage, read_write> found: array<f32>;      // [all components][3]
@group(0) @binding(3) var<uniform> params: Params;
${threadNumber}

fn report(component: u32, total: f32, inner: f32, variance: f32) {
  found[3u * component] = total;
  found[3u * component + 1u] = inner;
  found[3u * component + 2u] = variance;
}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let here = threadNumber(workgroup, groups, local);
  if (here >= params.components) { return; }
  let component = params.first + here;
  let quads = params.quads;
  let at = here * quads;
  var totals = vec4f();
  for (var t = 0u; t < quads; t++) { totals += sums[(at + t) * 3u + 2u]; }
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
      let mean = centers[at + t] + (sums[(at + t) * 3u] + sums[(at + t) * 3u + 1u]) / total;
      squares += dot(mean, mean);
    }
    if (squares > 0.0) { length = inverseSqrt(squares); }
  }
  var alongInner = 0.0;
  var alongOuter = 0.0;
  var way = 0.0;
  for (var t = 0u; t < quads; t++) {
    let innerSum = sums[(at + t) * 3u];
    let outerSum = sums[(at + t) * 3u + 1u];
    let old = centers[at + t];
    let fresh = (old + (innerSum + outerSum) / total) * length;
    let step = fresh - old;
    alongInner += dot(step, innerSum);
    alongOuter += dot(step, outerSum);
    way += dot(step, step);
    centers[at + t] = fresh;
  }
  if (params.aroundOld == 1u) {
    alongInner = 0.0;
    alongOuter = 0.0;
    way = 0.0;
  }
  let innerSquares = max(0.0, totals.x - 2.0 * alongInner + inner * way);
  let outerSquares = max(0.0, totals.y - 2.0 * alongOuter + outer * way);
  var share = inner / total * (1.0 - params.lambda);
  if (outer <= 0.0) { share = 1.0; }
  var variance = 0.0;
  if (inner > 0.0) { variance += share * innerSquares / inner; }
  if (outer > 0.0) { variance += (1.0 - share) * outerSquares / outer; }
  report(component, total, inner, max(params.floor, variance / f32(params.cols)));
}
`,
}

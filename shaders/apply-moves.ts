/**
 * Moves that were proposed for a batch, one after the other: each is measured again against sums and
 * sizes as they now stand, and dropped unless it still pays. One workgroup, whose threads share the
 * columns of a row, or the entries of a sparse one.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { RowType } from '../src/kernels/rows.ts'
import { costs, LEAST_GAIN } from './move-costs.ts'
import { moveOneRow } from './moving-clusters.ts'
import { NONE } from './snippets.ts'

export const applyMovesBody = (type: RowType): string => wgsl`
${costs(type)}

${NONE}

struct Move { point: u32, own: u32, wanted: u32, weight: f32, here: Cluster, there: Cluster }
var<workgroup> current: Move;
var<workgroup> shares: array<vec3f, WORKGROUP>;

${moveOneRow(type)}

// Sums over all threads, returned to all of them. A barrier is required before the next call.
fn addUp(mine: vec3f, local: u32) -> vec3f {
  shares[local] = mine;
  workgroupBarrier();
  var total = vec3f();
  for (var i = 0u; i < WORKGROUP; i++) { total += shares[i]; }
  return total;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
  for (var place = 0u; place < params.places; place++) {
    // Only thread 0 reads and writes labels, masses and sizes.
    if (local == 0u) {
      var next: Move;
      next.wanted = proposals[place];
      if (next.wanted != NONE) {
        next.point = batch[params.firstPlace + place].x;
        next.own = labels[next.point];
        next.weight = 1.0;
        if (params.hasWeights == 1u) { next.weight = weights[next.point]; }
        next.here = clusterAt(next.own);
        next.there = clusterAt(next.wanted);
        if (next.wanted == next.own || !mayLeave(next.here, next.weight, params.unit)) { next.wanted = NONE; }
      }
      current = next;
    }
    let now = workgroupUniformLoad(&current);
    if (now.wanted == NONE) { continue; }
    let measured = addUp(measureShare(now, local), local);
    let stay = costToStay(measured.x, measured.z, now.here, now.weight, params.unit);
    let join = costToJoin(measured.y, measured.z, now.there, now.weight, params.unit);
    // Costs of unit vectors are differences of lengths, wrong by shares of the weight.
    let pays = stay - join > ${LEAST_GAIN} * select(stay, now.weight, params.unit == 1u);
    settle(now, measured, pays, local);
    if (pays && local == 0u) { labels[now.point] = now.wanted; }
  }
}
`

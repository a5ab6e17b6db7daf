/**
 * Moves that were proposed for a batch, one after the other: each is measured again against sums and
 * sizes as they now stand, and dropped unless it still pays. One workgroup; its threads share the
 * columns of a row, always the same ones, so rows need no barrier between moves.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { declareShader, rowsOf } from '../src/device/declared-shader.ts'
import { mayRead, reads, writes } from '../src/device/fields.ts'
import { DENSE_TYPES, shaderForms } from '../src/device/shader-forms.ts'
import { LEAST_GAIN, prices } from './prices.ts'
import { NONE, THREADS, threadBuiltins, threadNumber } from './snippets.ts'

/** Threads of the one workgroup: a row of 128 columns has 32 parts. */
const MOVE_THREADS = 32

/** What the pass is given, in either form. */
export const applyFields = (type: ElementType) =>
  ({
    params: { places: 'u32', quads: 'u32', unit: 'bool' },
    buffers: {
      x: rowsOf(type),
      centers: writes('vec4f'),
      /** Mass and number of points. */
      clusters: writes('vec2f'),
      batch: reads('vec4u'),
      proposals: reads('u32'),
      labels: writes('u32'),
      weights: mayRead('f32'),
    },
  }) as const

export const applyMovesShader = shaderForms(DENSE_TYPES, (type: ElementType) =>
  declareShader({
    name: `apply-moves-${type}`,
    ...applyFields(type),
    workgroup: MOVE_THREADS,
    body: () => wgsl`
${prices}

${NONE}

struct Move { point: u32, own: u32, wanted: u32, weight: f32, here: vec2f, there: vec2f }
var<workgroup> current: Move;
var<workgroup> sums: array<vec4f, WORKGROUP>;

// Sums over all threads; everybody gets them.
fn addUp(mine: vec4f, local: u32) -> vec4f {
  sums[local] = mine;
  workgroupBarrier();
  var total = vec4f();
  for (var i = 0u; i < WORKGROUP; i++) { total += sums[i]; }
  workgroupBarrier();
  return total;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
  for (var place = 0u; place < params.places; place++) {
    if (local == 0u) {
      var next: Move;
      next.wanted = proposals[place];
      if (next.wanted != NONE) {
        next.point = batch[place].x;
        next.own = labels[next.point];
        next.weight = 1.0;
        if (params.hasWeights == 1u) { next.weight = weights[next.point]; }
        next.here = clusters[next.own];
        next.there = clusters[next.wanted];
        if (next.wanted == next.own || !mayLeave(next.here, next.weight, params.unit)) { next.wanted = NONE; }
      }
      current = next;
    }
    let now = workgroupUniformLoad(&current);
    if (now.wanted == NONE) { continue; }
    let here = now.own * params.quads;
    let there = now.wanted * params.quads;
    var mine = vec4f();
    for (var t = local; t < params.quads; t += WORKGROUP) {
      let part = xPart(now.point, t, params.quads);
      let a = part - centers[here + t];
      let b = part - centers[there + t];
      mine += vec4f(dot(a, a), dot(b, b), dot(part, part), 0.0);
    }
    let measured = addUp(mine, local);
    let stay = priceToStay(measured.x, measured.z, now.here.x, now.weight, params.unit);
    let join = priceToJoin(measured.y, measured.z, now.there.x, now.weight, params.unit);
    // Prices of unit vectors are differences of lengths, wrong by shares of the weight.
    let pays = stay - join > ${LEAST_GAIN} * select(stay, now.weight, params.unit == 1u);
    var massHere = now.here.x - now.weight;
    var massThere = now.there.x + now.weight;
    if (params.unit == 0u) {
      if (pays) {
        for (var t = local; t < params.quads; t += WORKGROUP) {
          let part = xPart(now.point, t, params.quads);
          centers[here + t] -= (part - centers[here + t]) * (now.weight / massHere);
          centers[there + t] += (part - centers[there + t]) * (now.weight / massThere);
        }
      }
    } else {
      var squares = vec4f();
      for (var t = local; t < params.quads; t += WORKGROUP) {
        let part = xPart(now.point, t, params.quads) * now.weight;
        let a = centers[here + t] * now.here.x - part;
        let b = centers[there + t] * now.there.x + part;
        squares += vec4f(dot(a, a), dot(b, b), 0.0, 0.0);
      }
      let lengths = sqrt(addUp(squares, local));
      massHere = lengths.x;
      massThere = lengths.y;
      if (pays) {
        for (var t = local; t < params.quads; t += WORKGROUP) {
          let part = xPart(now.point, t, params.quads) * now.weight;
          centers[here + t] = (centers[here + t] * now.here.x - part) / max(massHere, 1e-30);
          centers[there + t] = (centers[there + t] * now.there.x + part) / max(massThere, 1e-30);
        }
      }
    }
    if (pays && local == 0u) {
      clusters[now.own] = vec2f(massHere, now.here.y - 1.0);
      clusters[now.wanted] = vec2f(massThere, now.there.y + 1.0);
      labels[now.point] = now.wanted;
    }
    // Thread 0 reads clusters again next turn, and only thread 0 wrote them: no barrier for that either.
  }
}
`,
  }),
)

/** Mass and number of points of each cluster from what accumulate left. One thread a cluster. */
export const prepareMovesShader = declareShader({
  name: 'prepare-moves',
  params: { k: 'u32', quads: 'u32', unit: 'bool' },
  buffers: { sums: reads('vec4f'), totals: reads('f32'), counts: reads('u32'), clusters: writes('vec2f') },
  workgroup: THREADS,
  body: () => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let cluster = threadNumber(workgroup, groups, local);
  if (cluster >= params.k) { return; }
  var mass = totals[cluster];
  if (params.unit == 1u) {
    var squares = 0.0;
    for (var t = 0u; t < params.quads; t++) {
      let part = sums[cluster * params.quads + t];
      squares += dot(part, part);
    }
    mass = sqrt(squares);
  }
  clusters[cluster] = vec2f(mass, f32(counts[cluster]));
}
`,
})

/**
 * `principal-directions` for GPUs: one workgroup per node. The first levels of a tree have few nodes, and a thread for each
 * of them would leave the GPU idle while it waits for one load after the other.
 *
 * Members of the sample are taken 64 at a time. Eight lanes read a row together for dot products; sums over members are made
 * by column, four columns a lane, so that neighbouring lanes read neighbouring memory in both.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { declareShader } from '../src/device/declared-shader.ts'
import { DENSE_TYPES, shaderForms } from '../src/device/shader-forms.ts'
import { DIRECTION_PARAMS, directionBuffers, NODE_WORDS, sampledMember, scaleOfSum } from './partition-tree.ts'
import { THREADS } from './pieces.ts'

/** Lanes that read a row together: 128 bytes of floats at a time. */
const ROW_LANES = 8

export const principalDirectionsTiled = shaderForms(DENSE_TYPES, (type: ElementType) =>
  declareShader({
    name: `principal-directions-tiled-${type}`,
    params: DIRECTION_PARAMS,
    buffers: directionBuffers(type),
    workgroup: THREADS,
    body: () => wgsl`
${sampledMember}
${scaleOfSum}

const ROW_LANES = ${ROW_LANES}u;
const AT_ONCE = WORKGROUP / ROW_LANES;  // rows that are read at a time

var<workgroup> rows: array<u32, WORKGROUP>;
var<workgroup> partials: array<f32, ${THREADS * ROW_LANES}>;  // [row][lane]
var<workgroup> weights: array<f32, WORKGROUP>;

fn sumOfPartials(first: u32, count: u32) -> f32 {
  var sum = 0.0;
  for (var i = 0u; i < count; i++) { sum += partials[first + i]; }
  return sum;
}

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let node = workgroup.y * groups.x + workgroup.x;
  if (node >= params.count) { return; }
  let quads = params.quads;
  let begin = nodes[node * ${NODE_WORDS}u];
  let size = nodes[node * ${NODE_WORDS}u + 1u] - begin;
  let count = min(size, params.sample);
  let mean = node * 2u * quads;
  let sum = mean + quads;
  let direction = node * quads;

  for (var t = local; t < quads; t += WORKGROUP) { notes[mean + t] = vec4f(); }
  for (var base = 0u; base < count; base += WORKGROUP) {
    let here = min(WORKGROUP, count - base);
    workgroupBarrier();
    if (local < here) { rows[local] = sampled(begin, size, base + local); }
    workgroupBarrier();
    for (var t = local; t < quads; t += WORKGROUP) {
      var total = notes[mean + t];
      for (var s = 0u; s < here; s++) { total += xPart(rows[s], t, quads); }
      notes[mean + t] = total;
    }
  }
  for (var t = local; t < quads; t += WORKGROUP) { notes[mean + t] /= f32(count); }
  // Any sampled point off the mean begins; which one is drawn makes trees differ. Each lane looks at one of them.
  let drawn = mix(params.seed, node, 77u) % count;
  storageBarrier();
  weights[local] = f32(count);
  if (local < count) {
    let row = sampled(begin, size, (drawn + local) % count);
    for (var t = 0u; t < quads; t++) {
      if (any(xPart(row, t, quads) != notes[mean + t])) {
        weights[local] = f32(local);
        break;
      }
    }
  }
  workgroupBarrier();
  var turn = f32(count);
  for (var i = 0u; i < min(count, WORKGROUP); i++) { turn = min(turn, weights[i]); }
  let first = sampled(begin, size, (drawn + u32(turn)) % count);
  for (var t = local; t < quads; t += WORKGROUP) {
    directions[direction + t] = xPart(first, t, quads) - notes[mean + t];
  }

  for (var step = 0u; step < params.steps; step++) {
    storageBarrier();
    for (var t = local; t < quads; t += WORKGROUP) { notes[sum + t] = vec4f(); }
    for (var base = 0u; base < count; base += WORKGROUP) {
      let here = min(WORKGROUP, count - base);
      workgroupBarrier();
      if (local < here) { rows[local] = sampled(begin, size, base + local); }
      workgroupBarrier();
      for (var begun = 0u; begun < here; begun += AT_ONCE) {
        let s = begun + local / ROW_LANES;
        var partial = 0.0;
        if (s < here) {
          for (var t = local % ROW_LANES; t < quads; t += ROW_LANES) {
            partial += dot(xPart(rows[s], t, quads) - notes[mean + t], directions[direction + t]);
          }
        }
        partials[begun * ROW_LANES + local] = partial;
      }
      workgroupBarrier();
      if (local < here) { weights[local] = sumOfPartials(local * ROW_LANES, ROW_LANES); }
      workgroupBarrier();
      for (var t = local; t < quads; t += WORKGROUP) {
        let center = notes[mean + t];
        var total = notes[sum + t];
        for (var s = 0u; s < here; s++) { total += weights[s] * (xPart(rows[s], t, quads) - center); }
        notes[sum + t] = total;
      }
    }
    var largest = vec4f();
    for (var t = local; t < quads; t += WORKGROUP) { largest = max(largest, abs(notes[sum + t])); }
    workgroupBarrier();
    weights[local] = max(max(largest.x, largest.y), max(largest.z, largest.w));
    workgroupBarrier();
    var most = 0.0;
    for (var i = 0u; i < WORKGROUP; i++) { most = max(most, weights[i]); }
    let unit = unitOf(most);
    var squares = 0.0;
    for (var t = local; t < quads; t += WORKGROUP) {
      let scaled = notes[sum + t] * unit;
      notes[sum + t] = scaled;
      squares += dot(scaled, scaled);
    }
    partials[local] = squares;
    workgroupBarrier();
    let scale = inverseSqrt(sumOfPartials(0u, WORKGROUP));
    // Where all rows of the sample are equal, any direction serves: the one before is kept.
    if (most > 0.0) {
      for (var t = local; t < quads; t += WORKGROUP) { directions[direction + t] = notes[sum + t] * scale; }
    }
  }
}
`,
  }),
)

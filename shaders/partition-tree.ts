/**
 * Growing partition trees: the direction along which a sample of a node's points spreads most, by a
 * few power steps. One thread a node, for software adapters; its vectors live in storage. A node is three words: first
 * member, end, and the member at which to split.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { declareShader, rowsOf } from '../src/device/declared-shader.ts'
import { reads, writes } from '../src/device/fields.ts'
import { DENSE_TYPES, shaderForms } from '../src/device/shader-forms.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

/** Words of a node. */
export const NODE_WORDS = 3

export const DIRECTION_PARAMS = { count: 'u32', quads: 'u32', sample: 'u32', steps: 'u32', seed: 'u32' } as const

export const directionBuffers = (type: ElementType) => ({
  x: rowsOf(type),
  members: reads('u32'),
  nodes: reads('u32'),
  /** [node][quads] */
  directions: writes('vec4f'),
  /** [node][2][quads]: mean, sum */
  notes: writes('vec4f'),
})

/** `sampled`: the row of a number of the sample of a node. */
export const sampledMember = wgsl`
fn mix(a: u32, b: u32, c: u32) -> u32 {
  var h = (a * 0x9e3779b1u) ^ (b * 0x85ebca77u) ^ (c * 0xc2b2ae3du);
  h = (h ^ (h >> 15u)) * 0x2c1b3c6du;
  h = (h ^ (h >> 12u)) * 0x297a2d39u;
  return h ^ (h >> 15u);
}

fn sampled(begin: u32, size: u32, s: u32) -> u32 {
  if (size <= params.sample) { return members[begin + s]; }
  return members[begin + mix(params.seed, begin, s) % size];
}
`

export const scaleOfSum = wgsl`
// A power of two near 1 / most, which changes no digit: squares of the sums of large rows would overflow.
fn unitOf(most: f32) -> f32 {
  return bitcast<f32>(0x7f000000u - (bitcast<u32>(most) & 0x7f800000u));
}
`

export const principalDirectionsShader = shaderForms(DENSE_TYPES, (type: ElementType) =>
  declareShader({
    name: `principal-directions-${type}`,
    params: DIRECTION_PARAMS,
    buffers: directionBuffers(type),
    workgroup: THREADS,
    body: () => wgsl`
${threadNumber}
${sampledMember}
${scaleOfSum}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let node = threadNumber(workgroup, groups, local);
  if (node >= params.count) { return; }
  let quads = params.quads;
  let begin = nodes[node * ${NODE_WORDS}u];
  let size = nodes[node * ${NODE_WORDS}u + 1u] - begin;
  let count = min(size, params.sample);
  let mean = node * 2u * quads;
  let sum = mean + quads;
  let direction = node * quads;
  for (var t = 0u; t < quads; t++) {
    var total = vec4f();
    for (var s = 0u; s < count; s++) { total += xPart(sampled(begin, size, s), t, quads); }
    notes[mean + t] = total / f32(count);
  }
  // Any sampled point off the mean begins; which one is drawn makes trees differ.
  let drawn = mix(params.seed, node, 77u);
  for (var tried = 0u; tried < count; tried++) {
    let first = sampled(begin, size, (drawn % count + tried) % count);
    var off = false;
    for (var t = 0u; t < quads; t++) {
      directions[direction + t] = xPart(first, t, quads) - notes[mean + t];
      off = off || any(directions[direction + t] != vec4f());
    }
    if (off) { break; }
  }
  for (var step = 0u; step < params.steps; step++) {
    for (var t = 0u; t < quads; t++) { notes[sum + t] = vec4f(); }
    for (var s = 0u; s < count; s++) {
      let row = sampled(begin, size, s);
      var weight = 0.0;
      for (var t = 0u; t < quads; t++) { weight += dot(xPart(row, t, quads) - notes[mean + t], directions[direction + t]); }
      for (var t = 0u; t < quads; t++) { notes[sum + t] += weight * (xPart(row, t, quads) - notes[mean + t]); }
    }
    var largest = vec4f();
    for (var t = 0u; t < quads; t++) { largest = max(largest, abs(notes[sum + t])); }
    let most = max(max(largest.x, largest.y), max(largest.z, largest.w));
    if (most > 0.0) {
      let unit = unitOf(most);
      var squares = 0.0;
      for (var t = 0u; t < quads; t++) {
        notes[sum + t] *= unit;
        squares += dot(notes[sum + t], notes[sum + t]);
      }
      let scale = inverseSqrt(squares);
      for (var t = 0u; t < quads; t++) { directions[direction + t] = notes[sum + t] * scale; }
    }
  }
}
`,
  }),
)

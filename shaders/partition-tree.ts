/**
 * Growing partition trees: the direction along which a sample of a node's points spreads most, by a
 * few power steps. One thread a node, for software adapters; its vectors live in storage. A node is three words: first
 * member, end, and the member at which to split.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

/** Words of a node. */
export const NODE_WORDS = 3

/** `nodeAt`: a node by its number. */
export const nodeAccess = wgsl`
struct Node { begin: u32, end: u32, split: u32 }

fn nodeAt(node: u32) -> Node {
  let at = node * ${NODE_WORDS}u;
  return Node(nodes[at], nodes[at + 1u], nodes[at + 2u]);
}
`

/**
 * What both forms of the directions share. Each is called by `lanes` threads of a node, of which `lane` is one: by one thread
 * alone in the form without barriers.
 */
export const directionPieces = wgsl`
${nodeAccess}

fn mix(a: u32, b: u32, c: u32) -> u32 {
  var h = (a * 0x9e3779b1u) ^ (b * 0x85ebca77u) ^ (c * 0xc2b2ae3du);
  h = (h ^ (h >> 15u)) * 0x2c1b3c6du;
  h = (h ^ (h >> 12u)) * 0x297a2d39u;
  return h ^ (h >> 15u);
}

// The points of a node of which the sample is taken, and where its mean and its direction are.
struct Sample { begin: u32, size: u32, count: u32, mean: u32, direction: u32, drawn: u32 }

fn sampleOf(node: u32) -> Sample {
  let place = nodeAt(node);
  let size = place.end - place.begin;
  let quads = params.quads;
  // Any sampled point off the mean is a first direction; which one is tried first makes trees differ.
  let drawn = mix(params.seed, node, 77u);
  return Sample(place.begin, size, min(size, params.sample), node * 2u * quads, node * quads, drawn);
}

// The row of a number of the sample.
fn sampled(own: Sample, s: u32) -> u32 {
  if (own.size <= params.sample) { return members[own.begin + s]; }
  return members[own.begin + mix(params.seed, own.begin, s) % own.size];
}

fn triedRow(own: Sample, turn: u32) -> u32 {
  return sampled(own, (own.drawn % own.count + turn) % own.count);
}

// The first turn, of those of this lane, whose point is off the mean.
fn firstTurn(own: Sample, lane: u32, lanes: u32) -> u32 {
  for (var turn = lane; turn < own.count; turn += lanes) {
    let row = triedRow(own, turn);
    for (var t = 0u; t < params.quads; t++) {
      if (any(xPart(row, t, params.quads) != notes[own.mean + t])) { return turn; }
    }
  }
  return own.count;
}

// Where all points are equal, the direction is zero.
fn beginDirection(own: Sample, turn: u32, lane: u32, lanes: u32) {
  let row = triedRow(own, turn);
  for (var t = lane; t < params.quads; t += lanes) {
    directions[own.direction + t] = xPart(row, t, params.quads) - notes[own.mean + t];
  }
}

// A power of two near 1 / most, which changes no digit: squares of the sums of large rows would overflow.
fn unitOf(most: f32) -> f32 {
  return bitcast<f32>(0x7f000000u - (bitcast<u32>(most) & 0x7f800000u));
}
`

export const directionsBody = (): string => wgsl`
${threadNumber}
${directionPieces}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let node = threadNumber(workgroup, groups, local);
  if (node >= params.count) { return; }
  let quads = params.quads;
  let own = sampleOf(node);
  let mean = own.mean;
  let sum = mean + quads;
  let direction = own.direction;
  for (var t = 0u; t < quads; t++) {
    var total = vec4f();
    for (var s = 0u; s < own.count; s++) { total += xPart(sampled(own, s), t, quads); }
    notes[mean + t] = total / f32(own.count);
  }
  beginDirection(own, firstTurn(own, 0u, 1u), 0u, 1u);
  for (var step = 0u; step < params.steps; step++) {
    for (var t = 0u; t < quads; t++) { notes[sum + t] = vec4f(); }
    for (var s = 0u; s < own.count; s++) {
      let row = sampled(own, s);
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
`

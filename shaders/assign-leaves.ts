/**
 * Candidate-restricted assignment: all points of a tree leaf share one candidate set, the labels now
 * carried in that leaf. `collect` (one thread a leaf) writes each leaf's different labels once;
 * `assign` (one thread a member) measures its point against them, so neighbouring threads read the
 * same few centres. The best is kept across trees. Members are rows of a domain, of which the device
 * may hold only some: `near` to `near + held`.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { rowsBinding, THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const collectLeafLabels: Shader = {
  name: 'assign-leaves-collect',
  code: () => wgsl`
struct Params { leaves: u32, near: u32, held: u32 }
@group(0) @binding(0) var<storage, read> members: array<u32>;   // points, leaf by leaf
@group(0) @binding(1) var<storage, read> offsets: array<u32>;   // leaves + 1
@group(0) @binding(2) var<storage, read> labels: array<u32>;    // of all rows of the domain, as they stand
@group(0) @binding(3) var<storage, read_write> candidates: array<u32>;  // from each leaf's offset on
@group(0) @binding(4) var<storage, read_write> ranges: array<vec2u>;    // each member's candidates: first, how many
@group(0) @binding(5) var<storage, read_write> looked: array<u32>;      // pairs looked at in each leaf
@group(0) @binding(6) var<uniform> params: Params;
${threadNumber}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let leaf = threadNumber(workgroup, groups, local);
  if (leaf >= params.leaves) { return; }
  let begin = offsets[leaf];
  let end = offsets[leaf + 1u];
  var count = 0u;
  var inside = 0u;
  for (var at = begin; at < end; at++) {
    let member = members[at];
    // Below the first row the difference wraps around and is larger than any number of rows.
    if (member - params.near < params.held) { inside++; }
    let label = labels[member];
    var known = false;
    for (var seen = 0u; seen < count; seen++) {
      if (candidates[begin + seen] == label) { known = true; break; }
    }
    if (!known) {
      candidates[begin + count] = label;
      count++;
    }
  }
  looked[leaf] = count * inside;
  for (var at = begin; at < end; at++) { ranges[at] = vec2u(begin, count); }
}
`,
}

export const assignLeavesShader = (type: ElementType): Shader => ({
  name: `assign-leaves-${type}`,
  code: () => wgsl`
struct Params {
  firstMember: u32,
  members: u32,
  quads: u32,
  near: u32,
  held: u32,
}
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> centers: array<vec4f>;
@group(0) @binding(2) var<storage, read> members: array<u32>;
@group(0) @binding(3) var<storage, read> ranges: array<vec2u>;
@group(0) @binding(4) var<storage, read> candidates: array<u32>;
@group(0) @binding(5) var<storage, read_write> labels: array<u32>;
@group(0) @binding(6) var<storage, read_write> distances: array<f32>;
@group(0) @binding(7) var<uniform> params: Params;
${threadNumber}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.members) { return; }
  let at = params.firstMember + number;
  let row = members[at] - params.near;
  if (row >= params.held) { return; }
  let range = ranges[at];
  let quads = params.quads;
  let last = range.x + range.y - 1u;
  var best = distances[row];
  var label = labels[row];
  for (var place = range.x; place <= last; place += 4u) {
    let four = vec4u(
      candidates[place],
      candidates[min(place + 1u, last)],
      candidates[min(place + 2u, last)],
      candidates[min(place + 3u, last)],
    );
    let rows = four * quads;
    var sums = vec4f();
    for (var t = 0u; t < quads; t++) {
      let v = xPart(row, t, quads);
      let a = v - centers[rows.x + t];
      let b = v - centers[rows.y + t];
      let c = v - centers[rows.z + t];
      let d = v - centers[rows.w + t];
      sums += vec4f(dot(a, a), dot(b, b), dot(c, c), dot(d, d));
    }
    for (var c = 0u; c < 4u; c++) {
      if (sums[c] < best || (sums[c] == best && four[c] < label)) {
        best = sums[c];
        label = four[c];
      }
    }
  }
  labels[row] = label;
  distances[row] = best;
}
`,
})

/**
 * Candidate-restricted assignment: all points of a tree leaf share one candidate set, the labels now
 * carried in that leaf. `collect` (one thread a leaf) writes each leaf's different labels once;
 * `assign` (one thread a member) measures its point against them, so neighbouring threads read the
 * same few centres. The best is kept across trees. Members are rows of a domain, of which the device
 * may hold only some: `held` of them from row `domainFrom` on.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

export const collectLabelsBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
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
    if (member - params.domainFrom < params.held) { inside++; }
    let label = domainLabels[member];
    var known = false;
    for (var seen = 0u; seen < count; seen++) {
      if (candidates[begin + seen] == label) { known = true; break; }
    }
    if (!known) {
      candidates[begin + count] = label;
      count++;
    }
  }
  evaluated[leaf] = count * inside;
  for (var at = begin; at < end; at++) { ranges[at] = vec2u(begin, count); }
}
`

/** One thread a member, after the pass that collects. */
export const assignMembers = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.count) { return; }
  let at = params.first + number;
  let row = members[at] - params.domainFrom;
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
`

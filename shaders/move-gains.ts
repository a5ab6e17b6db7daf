/**
 * k-means#: for every point of a batch the cluster it should move to, as sums and sizes stand now.
 * `collect` (one thread a group of the batch) writes, for each point, who it is and where its
 * candidates are; `gains` (one thread a point) measures them all. A point's place in the batch is the
 * number of its group times the size of the largest, plus its place in the group. Members are rows of
 * a domain, of which the device may hold only some: `near` to `near + held`.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { rowsBinding, THREADS, threadBuiltins, threadNumber } from './pieces.ts'
import { prices } from './prices.ts'

export const collectMoves: Shader = {
  name: 'move-gains-collect',
  code: () => wgsl`
struct Params { firstGroup: u32, groups: u32, largest: u32, among: u32, width: u32, near: u32, held: u32 }
@group(0) @binding(0) var<storage, read> members: array<u32>;   // points, group by group
@group(0) @binding(1) var<storage, read> offsets: array<u32>;   // of groups, and the end
@group(0) @binding(2) var<storage, read> order: array<u32>;     // groups as they come into batches
@group(0) @binding(3) var<storage, read> labels: array<u32>;    // of all rows of the domain
@group(0) @binding(4) var<storage, read_write> batch: array<vec4u>;     // point, first candidate, how many, slot of the first of four
@group(0) @binding(5) var<storage, read_write> candidates: array<u32>;  // labels in each group
@group(0) @binding(6) var<storage, read_write> looked: array<u32>;      // pairs looked at in each group
@group(0) @binding(7) var<uniform> params: Params;
${threadNumber}

const NONE = 0xffffffffu;

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.groups) { return; }
  let group = order[params.firstGroup + number];
  let begin = offsets[group];
  let size = offsets[group + 1u] - begin;
  let place = number * params.largest;
  var first = group * params.width;
  var count = params.width;
  if (params.among == 0u) {
    first = place;
    count = 0u;
    for (var at = begin; at < begin + size; at++) {
      let label = labels[members[at]];
      var seen = 0u;
      while (seen < count && candidates[place + seen] != label) { seen++; }
      if (seen == count) {
        candidates[place + count] = label;
        count++;
      }
    }
  }
  var inside = 0u;
  for (var i = 0u; i < params.largest; i++) {
    var point = NONE;
    if (i < size) {
      // Below the first row the difference wraps around and is larger than any number of rows.
      let row = members[begin + i] - params.near;
      if (row < params.held) {
        point = row;
        inside++;
      }
    }
    batch[place + i] = vec4u(point, first, count, begin + (i & ~3u));
  }
  looked[group] = count * inside;
}
`,
}

export const moveGainsShader = (type: ElementType): Shader => ({
  name: `move-gains-${type}`,
  code: () => wgsl`
struct Params { first: u32, places: u32, quads: u32, among: u32, unit: u32, firstGain: u32, weighted: u32 }
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> centers: array<vec4f>;
@group(0) @binding(2) var<storage, read> clusters: array<vec2f>;
@group(0) @binding(3) var<storage, read> batch: array<vec4u>;
@group(0) @binding(4) var<storage, read> lists: array<u32>;
@group(0) @binding(5) var<storage, read> labels: array<u32>;
@group(0) @binding(6) var<storage, read> weights: array<f32>;
@group(0) @binding(7) var<storage, read_write> proposals: array<u32>;
@group(0) @binding(8) var<uniform> params: Params;
${threadNumber}
${prices}

const NONE = 0xffffffffu;

fn squaredDistance(row: u32, cluster: u32) -> f32 {
  var sum = 0.0;
  for (var t = 0u; t < params.quads; t++) {
    let gap = xPart(row, t, params.quads) - centers[cluster * params.quads + t];
    sum += dot(gap, gap);
  }
  return sum;
}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.places) { return; }
  let place = params.first + number;
  let entry = batch[place];
  let point = entry.x;
  proposals[place] = NONE;
  if (point == NONE) { return; }
  let own = labels[point];
  var weight = 1.0;
  if (params.weighted == 1u) { weight = weights[point]; }
  if (!mayLeave(clusters[own], weight, params.unit)) { return; }
  var squares = 0.0;
  for (var t = 0u; t < params.quads; t++) {
    let part = xPart(point, t, params.quads);
    squares += dot(part, part);
  }
  var lowest = priceToStay(squaredDistance(point, own), squares, clusters[own].x, weight, params.unit);
  var label = NONE;
  let count = entry.z;
  var turn = 0u;
  // Everybody beginning with the same candidate would send all to it; four neighbours begin alike, as on the CPU.
  if (params.firstGain == 1u) { turn = (entry.w * 2654435761u) % max(count, 1u); }
  for (var j = 0u; j < count; j++) {
    let at = select(j + turn, j + turn - count, j + turn >= count);
    var candidate = at;
    if (params.among != 1u) { candidate = lists[entry.y + at]; }
    if (candidate == own) { continue; }
    let price = priceToJoin(squaredDistance(point, candidate), squares, clusters[candidate].x, weight, params.unit);
    if (price < lowest || (price == lowest && label != NONE && candidate < label)) {
      lowest = price;
      label = candidate;
      if (params.firstGain == 1u) { break; }
    }
  }
  proposals[place] = label;
}
`,
})

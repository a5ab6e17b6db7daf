/**
 * k-means#: for every point of a batch the cluster it should move to, as sums and sizes stand now.
 * `collect` (one thread a group of the batch) writes, for each point, who it is and where its
 * candidates are; `gains` (one thread a point) measures them all. A point's place in the batch is the
 * number of its group times the size of the largest, plus its place in the group. Members are rows of
 * a domain, of which the device may hold only some: `domainFrom` to `domainFrom + held`.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { RowType } from '../src/kernels/rows.ts'
import { costs } from './move-costs.ts'
import { measureOneRow } from './moving-clusters.ts'
import { NONE, threadBuiltins, threadNumber } from './snippets.ts'

/** Where candidates come from: the labels in the group, all clusters, or a list for each group. */
export const AMONG = { labels: 0, all: 1, lists: 2 } as const

/**
 * Where the first move that pays is taken, four neighbouring points begin with the candidate (number * TURN_FACTOR) mod
 * count: if all points began with the same one, all would move to it.
 */
export const TURN_FACTOR = 2654435761

export const collectMovesBody = (): string => wgsl`
${threadNumber}

${NONE}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.groups) { return; }
  let group = order[params.firstGroup + number];
  let begin = offsets[group];
  let size = offsets[group + 1u] - begin;
  let place = number * params.largest;
  var first = group * params.width;
  var count = params.width;
  if (params.among == ${AMONG.labels}u) {
    first = place;
    count = 0u;
    for (var at = begin; at < begin + size; at++) {
      let label = domainLabels[members[at]];
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
      let row = members[begin + i] - params.domainFrom;
      if (row < params.held) {
        point = row;
        inside++;
      }
    }
    batch[place + i] = vec4u(point, first, count, begin + (i & ~3u));
  }
  evaluated[group] = count * inside;
}
`

export const moveGainsBody = (type: RowType): string => wgsl`
${threadNumber}
${measureOneRow(type)}
${costs(type)}

${NONE}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.count) { return; }
  let place = params.first + number;
  let entry = batch[place];
  let point = entry.x;
  proposals[place] = NONE;
  if (point == NONE) { return; }
  let own = labels[point];
  var weight = 1.0;
  if (params.hasWeights == 1u) { weight = weights[point]; }
  let home = clusterAt(own);
  if (!mayLeave(home, weight, params.unit)) { return; }
  let length = squaredLength(point);
  var lowest = costToStay(measure(point, own), length, home, weight, params.unit);
  var label = NONE;
  let count = entry.z;
  var turn = 0u;
  if (params.firstGain == 1u) { turn = (entry.w * ${TURN_FACTOR}u) % max(count, 1u); }
  for (var j = 0u; j < count; j++) {
    let at = select(j + turn, j + turn - count, j + turn >= count);
    var candidate = at;
    if (params.among != ${AMONG.all}u) { candidate = lists[entry.y + at]; }
    if (candidate == own) { continue; }
    let cost = costToJoin(measure(point, candidate), length, clusterAt(candidate), weight, params.unit);
    if (cost < lowest || (cost == lowest && label != NONE && candidate < label)) {
      lowest = cost;
      label = candidate;
      if (params.firstGain == 1u) { break; }
    }
  }
  proposals[place] = label;
}
`

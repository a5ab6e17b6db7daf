/**
 * move-gains for GPUs. `collectGroupsBody` (one workgroup per group) writes for each place of the batch its point and where its
 * candidates are, and the group's distinct labels; `moveGainsTiles` (one workgroup per 16 points of a group) measures points
 * and candidates in tiles (leaf-tiles.ts), so that each point's row is read once for every 16 or 32 candidates.
 *
 * A point's place is the number of its group in the batch times the size of the largest group, plus its position in the
 * group. Results follow the rules of move-gains.ts. Cost: 3 d operations a pair.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { pairTiles, TILE_ROWS } from './leaf-tiles.ts'
import { costs } from './move-costs.ts'
import { AMONG, TURN_FACTOR } from './move-gains.ts'
import { NONE, threadBuiltins } from './snippets.ts'

export const collectGroupsBody = (): string => wgsl`
${NONE}

var<workgroup> chunk: array<u32, WORKGROUP>;  // labels of the members looked at now
var<workgroup> isNew: array<u32, WORKGROUP>;
var<workgroup> heldCounts: array<u32, WORKGROUP>;
var<workgroup> distinct: u32;

// Labels of the group that no earlier member has, in the order of members.
fn collectLabels(local: u32, begin: u32, size: u32, place: u32) -> u32 {
  var count = 0u;
  for (var first = 0u; first < size; first += WORKGROUP) {
    let listed = first + local < size;
    var label = NONE;
    if (listed) { label = domainLabels[members[begin + first + local]]; }
    chunk[local] = label;
    workgroupBarrier();
    var fresh = listed;
    for (var i = 0u; i < local; i++) { fresh = fresh && chunk[i] != label; }
    for (var i = 0u; i < count; i++) { fresh = fresh && candidates[place + i] != label; }
    isNew[local] = u32(fresh);
    workgroupBarrier();
    var rank = 0u;
    for (var i = 0u; i < local; i++) { rank += isNew[i]; }
    if (fresh) { candidates[place + count + rank] = label; }
    if (local == WORKGROUP - 1u) { distinct = count + rank + u32(fresh); }
    storageBarrier();
    count = workgroupUniformLoad(&distinct);
  }
  return count;
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = workgroup.y * groups.x + workgroup.x;
  if (number >= params.groups) { return; }
  let group = order[params.firstGroup + number];
  let begin = offsets[group];
  let size = offsets[group + 1u] - begin;
  let place = number * params.largest;
  var first = group * params.width;
  var count = params.width;
  if (params.among == ${AMONG.labels}u) {
    first = place;
    count = collectLabels(local, begin, size, place);
  }
  var inside = 0u;
  for (var i = local; i < params.largest; i += WORKGROUP) {
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
  heldCounts[local] = inside;
  workgroupBarrier();
  if (local == 0u) {
    var total = 0u;
    for (var i = 0u; i < WORKGROUP; i++) { total += heldCounts[i]; }
    evaluated[group] = count * total;
  }
}
`

export const moveGainsTiles = (type: ElementType, tiles: 1 | 2): string => {
  const block = TILE_ROWS * tiles
  return wgsl`
${pairTiles({ tiles, own: true })}
${costs(type)}

// The best move a thread has found: its cost, cluster, and turn in the order of candidates.
struct Choice { cost: f32, cluster: u32, turn: u32 }
var<workgroup> choices: array<Choice, WORKGROUP>;
var<workgroup> ownParts: array<vec2f, WORKGROUP>;
var<workgroup> points: u32;

fn isBetter(a: Choice, b: Choice) -> bool {
  if (params.firstGain == 1u) { return a.turn < b.turn; }
  return a.cost < b.cost || (a.cost == b.cost && b.cluster != NONE && a.cluster < b.cluster);
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let tilesOfGroup = (params.largest + ${TILE_ROWS - 1}u) / ${TILE_ROWS}u;
  let number = workgroup.y * groups.x + workgroup.x;
  if (number >= params.count * tilesOfGroup) { return; }
  let p = local % ${TILE_ROWS}u;
  let g = (local / ${TILE_ROWS}u) % 4u;
  let groupPlace = (params.first + number / tilesOfGroup) * params.largest;
  let inGroup = (number % tilesOfGroup) * ${TILE_ROWS}u + p;
  var entry = vec4u(NONE);
  if (inGroup < params.largest) { entry = batch[params.firstPlace + groupPlace + inGroup]; }
  let point = entry.x;
  var own = NONE;
  var weight = 1.0;
  var here: Cluster;
  if (point != NONE) {
    own = labels[point];
    here = clusters[own];
    if (params.hasWeights == 1u) { weight = weights[point]; }
  }
  // A point that may not leave its cluster is not measured.
  let measured = point != NONE && mayLeave(here, weight, params.unit);
  if (local < ${TILE_ROWS}u) {
    pointRows[p] = select(NONE, point, measured);
    ownRows[p] = select(NONE, own, measured);
  }
  workgroupBarrier();
  if (local == 0u) {
    points = 0u;
    for (var i = 0u; i < ${TILE_ROWS}u; i++) { points += u32(pointRows[i] != NONE); }
  }
  // The candidates are those of the whole group.
  let header = batch[params.firstPlace + groupPlace];
  let count = select(0u, header.z, workgroupUniformLoad(&points) > 0u);
  var begin = 0u;
  if (params.firstGain == 1u) { begin = (entry.w * ${TURN_FACTOR}u) % max(count, 1u); }
  var squares = 0.0;
  var stay = 0.0;
  var best = Choice(0.0, NONE, NONE);
  for (var first = 0u; first < count; first += ${block}u) {
    if (local < ${block}u) {
      var candidate = NONE;
      if (first + local < count) {
        candidate = first + local;
        if (params.among != ${AMONG.all}u) { candidate = lists[header.y + first + local]; }
      }
      centerRows[local % ${block}u] = candidate;
    }
    workgroupBarrier();
    let pairs = measurePairs(local, count - first, first == 0u);
    if (first == 0u) {
      ownParts[local] = vec2f(pairs.own, pairs.squares);
      workgroupBarrier();
      var total = vec2f();
      for (var i = 0u; i < 4u; i++) { total += ownParts[p + ${TILE_ROWS}u * i]; }
      squares = total.y;
      stay = costToStay(total.x, squares, here, weight, params.unit);
      best.cost = stay;
    }
    for (var i = 0u; i < ${4 * tiles}u; i++) {
      let slot = g + 4u * i;
      let candidate = centerRows[slot % ${block}u];
#if ${tiles === 2}
      let distance = select(pairs.tile0[i % 4u], pairs.tile1[i % 4u], i >= 4u);
#else
      let distance = pairs.tile0[i % 4u];
#endif
      if (measured && candidate != NONE && candidate != own) {
        let cost = costToJoin(distance, squares, clusters[candidate], weight, params.unit);
        let at = first + slot;
        let turn = select(at + count - begin, at - begin, at >= begin);
        let choice = Choice(cost, candidate, turn);
        if ((cost < stay || params.firstGain == 0u) && isBetter(choice, best)) { best = choice; }
      }
    }
    // Everybody has read the candidates before the next ones are written.
    workgroupBarrier();
  }
  choices[local] = best;
  workgroupBarrier();
  if (g == 0u && inGroup < params.largest) {
    for (var i = 1u; i < 4u; i++) {
      let other = choices[p + ${TILE_ROWS}u * i];
      if (other.cluster != NONE && isBetter(other, best)) { best = other; }
    }
    proposals[groupPlace + inGroup] = best.cluster;
  }
}
`
}

/**
 * assign-leaves for GPUs: one workgroup of 64 threads per leaf of at most LARGEST_LEAF members. It collects the leaf's
 * distinct labels in workgroup memory and measures the points against them in tiles (leaf-tiles.ts), so that each point's
 * row is read once. Results are those of assign-leaves.ts.
 *
 * Members are rows of a domain, of which the device may hold only some: `held` of them from row `domainFrom` on. Where there are others
 * (`around`), candidates are the labels of the whole domain, in a buffer of their own.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { pairTiles, TILE_ROWS } from './leaf-tiles.ts'
import { threadBuiltins } from './snippets.ts'

/** Members of a leaf that fit. */
export const LARGEST_LEAF = 2 * TILE_ROWS

/** \`tiles\`: of candidates. */
export function assignLeafTiles(tiles: 1 | 2, around: boolean): string {
  const most = TILE_ROWS * tiles
  return wgsl`
${pairTiles({ tiles, own: false })}

struct Counts { candidates: u32, points: u32 }
var<workgroup> counts: Counts;
var<workgroup> memberLabels: array<u32, ${most}>;
var<workgroup> isFirst: array<u32, ${most}>;   // 1: no earlier member has this label
var<workgroup> isHeld: array<u32, ${most}>;
var<workgroup> heldRows: array<u32, ${most}>;  // rows of this leaf that are held, in order
var<workgroup> bestDistance: array<f32, WORKGROUP>;
var<workgroup> bestLabel: array<u32, WORKGROUP>;

fn labelOf(member: u32) -> u32 {
#if ${around}
  return domainLabels[member];
#else
  return labels[member];
#endif
}

// Fills centerRows with the distinct labels of the leaf and heldRows with the rows to assign.
fn collect(local: u32, begin: u32, size: u32) {
  let i = local % ${most}u;
  let listed = local < ${most}u;
  var label = NONE;
  var row = NONE;
  if (listed && i < size) {
    let member = members[begin + i];
    label = labelOf(member);
    // Below the first row the difference wraps around and is larger than any number of rows.
    row = member - params.domainFrom;
  }
  if (listed) { memberLabels[i] = label; }
  workgroupBarrier();
  var first = listed && i < size;
  for (var j = 0u; j < i; j++) { first = first && memberLabels[j] != label; }
  let held = listed && i < size && row < params.held;
  if (listed) {
    isFirst[i] = u32(first);
    isHeld[i] = u32(held);
    centerRows[i] = NONE;
    heldRows[i] = NONE;
  }
  workgroupBarrier();
  var candidate = 0u;
  var point = 0u;
  for (var j = 0u; j < i; j++) {
    candidate += isFirst[j];
    point += isHeld[j];
  }
  if (first) { centerRows[candidate] = label; }
  if (held) { heldRows[point] = row; }
  if (local == ${most - 1}u) { counts = Counts(candidate + u32(first), point + u32(held)); }
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = workgroup.y * groups.x + workgroup.x;
  if (number >= params.count) { return; }
  let leaf = params.first + number;
  let begin = offsets[leaf];
  collect(local, begin, offsets[leaf + 1u] - begin);
  let found = workgroupUniformLoad(&counts);
  if (local == 0u) { evaluated[leaf] = found.candidates * found.points; }
  let p = local % ${TILE_ROWS}u;
  let g = (local / ${TILE_ROWS}u) % 4u;
  for (var firstPoint = 0u; firstPoint < found.points; firstPoint += ${TILE_ROWS}u) {
    if (local < ${TILE_ROWS}u) { pointRows[p] = heldRows[firstPoint + p]; }
    workgroupBarrier();
    let row = pointRows[p];
    var best = 0.0;
    var label = NONE;
    if (row != NONE) {
      best = distances[row];
      label = labels[row];
    }
    let pairs = measurePairs(local, found.candidates, false);
    for (var i = 0u; i < ${4 * tiles}u; i++) {
      let other = centerRows[g + 4u * i];
#if ${tiles === 2}
      let distance = select(pairs.tile0[i % 4u], pairs.tile1[i % 4u], i >= 4u);
#else
      let distance = pairs.tile0[i % 4u];
#endif
      if (other != NONE && (distance < best || (distance == best && other < label))) {
        best = distance;
        label = other;
      }
    }
    bestDistance[local] = best;
    bestLabel[local] = label;
    workgroupBarrier();
    if (g == 0u && row != NONE) {
      for (var i = 1u; i < 4u; i++) {
        let distance = bestDistance[p + ${TILE_ROWS}u * i];
        let other = bestLabel[p + ${TILE_ROWS}u * i];
        if (distance < best || (distance == best && other < label)) {
          best = distance;
          label = other;
        }
      }
      labels[row] = label;
      distances[row] = best;
    }
  }
}
`
}

/**
 * Nearest of all centres in wide tiles, for hardware on which the scalar form is slow. 256 threads share tiles of 128
 * points x 128 centres x 8 columns in workgroup memory; each thread keeps 8 x 8 scores in registers. There are two
 * tiles of each kind: the next one is fetched while the current one is multiplied, with one barrier per step.
 *
 * Splits, scores and distances are those of the scalar form, summed in the same order. Cost: 2 n k d.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { ShaderFeatures } from '../src/device/contract.ts'
import { bestScore, settling } from './assign-pieces.ts'
import { COMPONENTS, unroll } from './unroll.ts'

/** Points and centres of a tile, and the threads that work on it. */
export const WIDE_TILE = { points: 128, centers: 128, threads: 256 } as const
const ROWS = 128
const SIDE = 16 // threads along a side of the tile
const EACH = ROWS / SIDE // points, and centres, of a thread
const QUADS = 2 // quads of columns in a tile: 256 threads fetch one quad each of points and of centres

const multiplyQuad = (q: number): string => `
      {
${unroll(EACH, (c) => `        let c${c} = centerTile[half][${q * ROWS + SIDE * c}u + tx];`)}
${unroll(
  EACH,
  (p) => `        let x${p} = pointTile[half][${q * ROWS + SIDE * p}u + ty];
${COMPONENTS.map((l) => unroll(EACH, (c) => `        s${p}_${c} = fma(x${p}.${l}, c${c}.${l}, s${p}_${c});`, ' ')).join('\n')}`,
)}
      }`

export const assignWideTilesBody = (type: ElementType, { subgroups }: ShaderFeatures): string => {
  // Where the 16 threads of a point leave their best: the first lane of 4, the smallest subgroup, or every lane.
  const slots = subgroups ? 4 : SIDE
  return wgsl`
${bestScore}
${settling(type)}

// Nested arrays: an index that is provably inside needs no clamp.
var<workgroup> pointTile: array<array<vec4f, ${ROWS * QUADS}>, 2>;   // [half][quad, point]
var<workgroup> centerTile: array<array<vec4f, ${ROWS * QUADS}>, 2>;  // [half][quad, centre]
var<workgroup> slotScores: array<f32, ${ROWS * slots}>;              // [point][slot]
var<workgroup> slotIndices: array<u32, ${ROWS * slots}>;

// Columns past the last are zero.
fn pointPart(row: u32, t: u32) -> vec4f {
  return select(vec4f(), xPart(row, min(t, params.quads - 1u), params.quads), t < params.quads);
}

fn centerPart(begin: u32, t: u32) -> vec4f {
  return select(vec4f(), centers[begin + min(t, params.quads - 1u)], t < params.quads);
}

fn beginOf(center: u32) -> u32 { return min(center, params.centerCount - 1u) * params.quads; }

fn startOf(index: u32) -> f32 {
  return select(LOWEST, starts[min(index, params.centerCount - 1u)], index < params.centerCount);
}

// Thread (tx, ty) of 16 x 16 owns points ty + 16 p and centres tx + 16 c, for p and c from 0 to 7.
@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
#if ${subgroups}
  @builtin(subgroup_size) lanes: u32,
#endif
) {
  let tx = local % ${SIDE}u;
  let ty = local / ${SIDE}u;
  let first = (workgroup.y * groups.x + workgroup.x) * ${ROWS}u;
  let begin = workgroup.z * params.splitCenters;
  let end = min(begin + params.splitCenters, params.centerCount);
  let steps = (params.quads + ${QUADS - 1}u) / ${QUADS}u;
  // Two neighbouring threads fetch the quads of a row.
  let fetchQuad = local % ${QUADS}u;
  let fetchRow = local / ${QUADS}u;
  let slot = fetchQuad * ${ROWS}u + fetchRow;
  let point = params.firstRow + min(first + fetchRow, params.rows - 1u);
${unroll(EACH, (p) => `  var best${p} = LOWEST; var index${p} = 0u;`)}
  var turn = 0u;
  pointTile[0][slot] = pointPart(point, fetchQuad);
  centerTile[0][slot] = centerPart(beginOf(begin + fetchRow), fetchQuad);
  workgroupBarrier();
  for (var base = begin; base < end; base += ${ROWS}u) {
${unroll(EACH, (c) => `    let start${c} = startOf(base + tx + ${SIDE * c}u);`)}
${unroll(EACH, (p) => unroll(EACH, (c) => `    var s${p}_${c} = start${c};`, ' '))}
    let current = beginOf(base + fetchRow);
    let following = beginOf(base + fetchRow + ${ROWS}u);
    for (var step = 0u; step < steps; step++) {
      // The next tile: the next columns, or the first columns of the next centres.
      let wraps = step + 1u == steps;
      let t = select((step + 1u) * ${QUADS}u, 0u, wraps) + fetchQuad;
      let nextPoint = pointPart(point, t);
      let nextCenter = centerPart(select(current, following, wraps), t);
      let half = turn & 1u;
${unroll(QUADS, multiplyQuad)}
      turn++;
      pointTile[turn & 1u][slot] = nextPoint;
      centerTile[turn & 1u][slot] = nextCenter;
      workgroupBarrier();
    }
    // Rising order of index, strictly greater: a tie keeps the lowest.
${unroll(EACH, (p) => unroll(EACH, (c) => `    if (s${p}_${c} > best${p}) { best${p} = s${p}_${c}; index${p} = base + tx + ${SIDE * c}u; }`))}
  }
#if ${subgroups}
  // The lanes of a subgroup that share a point agree on the best.
  let reach = min(lanes, ${SIDE}u);
  for (var step = 1u; step < ${SIDE}u; step *= 2u) {
    let by = step & (lanes - 1u);
${unroll(
  EACH,
  (p) => `    {
      let other = Best(subgroupShuffleXor(best${p}, by), subgroupShuffleXor(index${p}, by));
      if (step < reach) {
        let better = prefer(Best(best${p}, index${p}), other);
        best${p} = better.score;
        index${p} = better.index;
      }
    }`,
)}
  }
#endif
  if (tx % ${SIDE / slots}u == 0u) {
${unroll(
  EACH,
  (p) => `    slotScores[(ty + ${SIDE * p}u) * ${slots}u + tx / ${SIDE / slots}u] = best${p};
    slotIndices[(ty + ${SIDE * p}u) * ${slots}u + tx / ${SIDE / slots}u] = index${p};`,
)}
  }
  workgroupBarrier();
  if (local < ${ROWS}u && first + local < params.rows) {
    var winner = Best(LOWEST, 0xffffffffu);
    for (var s = 0u; s < ${slots}u; s++) {
      winner = prefer(winner, Best(slotScores[local * ${slots}u + s], slotIndices[local * ${slots}u + s]));
    }
    if (params.splits == 1u) {
      settle(params.firstRow + first + local, winner.index);
    } else {
      partials[workgroup.z * params.rows + first + local] = vec2u(bitcast<u32>(winner.score), winner.index);
    }
  }
}
`
}

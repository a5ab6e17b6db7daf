/**
 * Nearest of all centres, fused: the n x k matrix of scores is never stored. Two forms:
 *
 * - blocks: a thread keeps 4 points x 8 centres in registers and reads everything from storage. No
 *   barriers, which software adapters need (2.6 GFLOP/s on SwiftShader, where one centre at a time
 *   gets 0.2).
 * - tiles: 256 threads share tiles of 64 points x 64 centres x 16 columns in workgroup memory, each
 *   thread keeps 4 x 4 scores in registers; lanes agree on the best through subgroups, then through
 *   workgroup memory. For hardware.
 *
 * The score of centre c is x . c - |c|^2 / 2; the largest belongs to the nearest. The winner's
 * distance is then taken by differences, so that no digits are lost to cancellation. Ties go to the
 * lowest index. Cost: 2 n k d operations.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { ShaderFeatures } from '../src/device/contract.ts'
import { bestScore, preferFour, settling } from './assign-pieces.ts'
import { threadBuiltins, threadNumber } from './snippets.ts'

/** Points and centres of a tile, and the threads that work on it. */
export const TILE = { points: 64, centers: 64, quads: 4, threads: 256 } as const
/** Points a thread of the blocks form takes. */
export const BLOCK_POINTS = 4

export const assignBlocks = (type: ElementType): string => wgsl`
${bestScore}
${preferFour}
${settling(type)}
${threadNumber}

fn dots(x: vec4f, a: vec4f, b: vec4f, c: vec4f, d: vec4f) -> vec4f {
  return vec4f(dot(x, a), dot(x, b), dot(x, c), dot(x, d));
}

fn start(index: u32) -> f32 {
  return select(LOWEST, starts[min(index, params.centerCount - 1u)], index < params.centerCount);
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let first = threadNumber(workgroup, groups, local) * 4u;
  if (first >= params.rows) { return; }
  let last = params.firstRow + params.rows - 1u;
  let i0 = params.firstRow + first;
  let i1 = min(i0 + 1u, last);
  let i2 = min(i0 + 2u, last);
  let i3 = min(i0 + 3u, last);
  let quads = params.quads;
  var best0 = Best(LOWEST, 0u);
  var best1 = best0;
  var best2 = best0;
  var best3 = best0;
  for (var j = 0u; j < params.centerCount; j += 8u) {
    let low = vec4f(start(j), start(j + 1u), start(j + 2u), start(j + 3u));
    let high = vec4f(start(j + 4u), start(j + 5u), start(j + 6u), start(j + 7u));
    var a = low; var b = low; var c = low; var d = low;
    var e = high; var f = high; var g = high; var h = high;
    let end = params.centerCount - 1u;
    let r0 = j * quads;
    let r1 = min(j + 1u, end) * quads;
    let r2 = min(j + 2u, end) * quads;
    let r3 = min(j + 3u, end) * quads;
    let r4 = min(j + 4u, end) * quads;
    let r5 = min(j + 5u, end) * quads;
    let r6 = min(j + 6u, end) * quads;
    let r7 = min(j + 7u, end) * quads;
    for (var t = 0u; t < quads; t++) {
      let x0 = xPart(i0, t, quads);
      let x1 = xPart(i1, t, quads);
      let x2 = xPart(i2, t, quads);
      let x3 = xPart(i3, t, quads);
      let c0 = centers[r0 + t];
      let c1 = centers[r1 + t];
      let c2 = centers[r2 + t];
      let c3 = centers[r3 + t];
      a += dots(x0, c0, c1, c2, c3);
      b += dots(x1, c0, c1, c2, c3);
      c += dots(x2, c0, c1, c2, c3);
      d += dots(x3, c0, c1, c2, c3);
      let c4 = centers[r4 + t];
      let c5 = centers[r5 + t];
      let c6 = centers[r6 + t];
      let c7 = centers[r7 + t];
      e += dots(x0, c4, c5, c6, c7);
      f += dots(x1, c4, c5, c6, c7);
      g += dots(x2, c4, c5, c6, c7);
      h += dots(x3, c4, c5, c6, c7);
    }
    best0 = preferFour(preferFour(best0, a, j), e, j + 4u);
    best1 = preferFour(preferFour(best1, b, j), f, j + 4u);
    best2 = preferFour(preferFour(best2, c, j), g, j + 4u);
    best3 = preferFour(preferFour(best3, d, j), h, j + 4u);
  }
  settle(i0, best0.index);
  if (i0 + 1u <= last) { settle(i1, best1.index); }
  if (i0 + 2u <= last) { settle(i2, best2.index); }
  if (i0 + 3u <= last) { settle(i3, best3.index); }
}
`

export const assignTiles = (type: ElementType, { subgroups }: ShaderFeatures): string => wgsl`
${bestScore}
${settling(type)}

var<workgroup> pointTile: array<vec4f, ${TILE.points * TILE.quads}>;
var<workgroup> centerTile: array<vec4f, ${TILE.centers * TILE.quads}>;
var<workgroup> lanesScore: array<f32, ${TILE.points * 16}>;
var<workgroup> lanesIndex: array<u32, ${TILE.points * 16}>;

// Thread (tx, ty) of 16 x 16 owns points ty + 16 p and centres tx + 16 c, for p and c from 0 to 3.
@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
#if ${subgroups}
  @builtin(subgroup_size) lanes: u32,
#endif
) {
  let quads = params.quads;
  let tx = local % 16u;
  let ty = local / 16u;
  let firstPoint = (workgroup.y * groups.x + workgroup.x) * ${TILE.points}u;
  let last = params.firstRow + params.rows - 1u;
  let loadRow = local / 4u;  // 64 rows, 4 threads each
  let loadQuad = local % 4u;
  var best: array<Best, 4>;
  for (var p = 0u; p < 4u; p++) { best[p] = Best(LOWEST, 0xffffffffu); }
  for (var base = 0u; base < params.centerCount; base += ${TILE.centers}u) {
    var scores: array<vec4f, 4>;  // [point][centre]
    for (var c = 0u; c < 4u; c++) {
      let index = base + tx + 16u * c;
      let value = select(LOWEST, starts[min(index, params.centerCount - 1u)], index < params.centerCount);
      for (var p = 0u; p < 4u; p++) { scores[p][c] = value; }
    }
    for (var t = 0u; t < quads; t += ${TILE.quads}u) {
      let column = t + loadQuad;
      let row = min(params.firstRow + firstPoint + loadRow, last);
      let center = min(base + loadRow, params.centerCount - 1u);
      let inside = column < quads;
      let safe = min(column, quads - 1u);
      workgroupBarrier();
      pointTile[loadQuad * ${TILE.points}u + loadRow] = select(vec4f(), xPart(row, safe, quads), inside);
      centerTile[loadQuad * ${TILE.centers}u + loadRow] = select(vec4f(), centers[center * quads + safe], inside);
      workgroupBarrier();
      for (var q = 0u; q < ${TILE.quads}u; q++) {
        let c0 = centerTile[q * ${TILE.centers}u + tx];
        let c1 = centerTile[q * ${TILE.centers}u + tx + 16u];
        let c2 = centerTile[q * ${TILE.centers}u + tx + 32u];
        let c3 = centerTile[q * ${TILE.centers}u + tx + 48u];
        for (var p = 0u; p < 4u; p++) {
          let x = pointTile[q * ${TILE.points}u + ty + 16u * p];
          scores[p] += vec4f(dot(x, c0), dot(x, c1), dot(x, c2), dot(x, c3));
        }
      }
    }
    for (var p = 0u; p < 4u; p++) {
      for (var c = 0u; c < 4u; c++) {
        let index = base + tx + 16u * c;
        if (scores[p][c] > best[p].score) { best[p] = Best(scores[p][c], index); }
      }
    }
  }
  // The 16 threads of a row agree: first the lanes of a subgroup, then the rest through workgroup memory.
#if ${subgroups}
  let reach = min(lanes, 16u);
  for (var p = 0u; p < 4u; p++) {
    for (var step = 1u; step < 16u; step *= 2u) {
      let other = Best(subgroupShuffleXor(best[p].score, step & (lanes - 1u)), subgroupShuffleXor(best[p].index, step & (lanes - 1u)));
      if (step < reach) { best[p] = prefer(best[p], other); }
    }
  }
#endif
  for (var p = 0u; p < 4u; p++) {
    let slot = (ty + 16u * p) * 16u + tx;
    lanesScore[slot] = best[p].score;
    lanesIndex[slot] = best[p].index;
  }
  workgroupBarrier();
  if (local < ${TILE.points}u && firstPoint + local < params.rows) {
    var winner = Best(LOWEST, 0xffffffffu);
    for (var lane = 0u; lane < 16u; lane++) {
      winner = prefer(winner, Best(lanesScore[local * 16u + lane], lanesIndex[local * 16u + lane]));
    }
    settle(params.firstRow + firstPoint + local, winner.index);
  }
}
`

/** starts[j] = -|c_j|^2 / 2, one thread a centre. */
export const centerStartsBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let index = threadNumber(workgroup, groups, local);
  if (index >= params.centerCount) { return; }
  var sum = vec4f();
  for (var t = 0u; t < params.quads; t++) {
    let value = centers[index * params.quads + t];
    sum += value * value;
  }
  starts[index] = -0.5 * (sum.x + sum.y + sum.z + sum.w);
}
`

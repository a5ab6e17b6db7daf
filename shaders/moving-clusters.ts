/**
 * Clusters while points move among them, for the kernels of k-means# and rows of each type; see move-costs.ts for the costs.
 *
 * Dense rows: `centers`, and `clusters` with mass and number of points. Sparse rows: a cluster is the sum D of its points, because a
 * move then changes only the columns of the row x. With the dot product D.x, which takes only the entries of x,
 *
 *     |x - D / W|^2  = |x|^2 - 2 D.x / W + |D|^2 / W^2        distance to the mean, mass W
 *     |D + w x|^2    = |D|^2 + 2 w D.x + w^2 |x|^2            squared length after a move with weight w (negative: leaving)
 *
 * so |D|^2 is updated instead of computed again. Sums are stored by column, with four clusters to a vec4f:
 *
 *     sums:  column 0            [cluster 0 1 2 3][4 5 6 7] ...     4 sumQuads numbers
 *            ...
 *            column d - 1
 *            masses W  (with `unit`: |D|)
 *            numbers of points
 *            squared lengths |D|^2
 *
 * One load of an entry's column thus serves the dot products of x with four clusters.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { RowType } from '../src/kernels/rows.ts'
import { rowDistance } from './rows.ts'
import { threadBuiltins, threadNumber } from './snippets.ts'

/** Rows behind the columns. */
export const CLUSTER_ROWS = 3

/** One thread a row: `measure(point, cluster)` as move-costs.ts takes it. `sums` are read in quads. */
export const measureOneRow = (type: RowType): string => wgsl`
#if ${type === 'csr'}
fn clusterAt(index: u32) -> Cluster {
  let at = params.quads * 4u * params.sumQuads + index / 4u;
  let lane = index % 4u;
  return vec3f(sums[at][lane], sums[at + params.sumQuads][lane], sums[at + 2u * params.sumQuads][lane]);
}

fn squaredLength(point: u32) -> f32 {
  var length = 0.0;
  for (var entry = offsets[point]; entry < offsets[point + 1u]; entry++) { length += x[entry] * x[entry]; }
  return length;
}

// Dot products of the thread's row with four clusters side by side, and which four.
var<private> dots: vec4f;
var<private> dotsOf = NONE;

fn measure(point: u32, cluster: u32) -> f32 {
  let four = cluster / 4u;
  if (four != dotsOf) {
    dotsOf = four;
    var all = vec4f();
    let end = offsets[point + 1u];
    for (var entry = offsets[point]; entry < end; entry++) {
      all += x[entry] * sums[offsets[params.columnsAt + entry] * params.sumQuads + four];
    }
    dots = all;
  }
  return dots[cluster % 4u];
}
#else
${rowDistance(type)}

fn clusterAt(index: u32) -> Cluster { return clusters[index]; }

fn squaredLength(point: u32) -> f32 {
  var length = 0.0;
  for (var t = 0u; t < params.quads; t++) {
    let part = xPart(point, t, params.quads);
    length += dot(part, part);
  }
  return length;
}

fn measure(point: u32, cluster: u32) -> f32 { return distanceTo(point, cluster); }
#endif
`

/**
 * One move at a time by the threads of a workgroup, which share the columns or entries of the row. `measureShare`: what a
 * thread has of both measures and of |x|^2. `settle`: both clusters after the move, if it pays. The kernel provides
 * `struct Move`, `addUp`, and a barrier before each move.
 */
export const moveOneRow = (type: RowType): string => wgsl`
#if ${type === 'csr'}
fn clusterAt(index: u32) -> Cluster {
  let stride = params.sumQuads * 4u;
  let at = params.quads * 4u * stride + index;
  return vec3f(sums[at], sums[at + stride], sums[at + 2u * stride]);
}

fn measureShare(now: Move, local: u32) -> vec3f {
  var mine = vec3f();
  for (var entry = offsets[now.point] + local; entry < offsets[now.point + 1u]; entry += WORKGROUP) {
    let value = x[entry];
    let at = offsets[params.columnsAt + entry] * params.sumQuads * 4u;
    mine += value * vec3f(sums[at + now.own], sums[at + now.wanted], value);
  }
  return mine;
}

// Stores the cluster after a move of a row of this weight, which is negative if the row leaves. dot: with the old sum.
fn keep(index: u32, old: Cluster, dot: f32, length: f32, weight: f32, points: f32) {
  let stride = params.sumQuads * 4u;
  let at = params.quads * 4u * stride + index;
  let square = max(0.0, old.z + weight * (2.0 * dot + weight * length));
  sums[at] = select(old.x + weight, sqrt(square), params.unit == 1u);
  sums[at + stride] = old.y + points;
  sums[at + 2u * stride] = square;
}

fn settle(now: Move, measured: vec3f, pays: bool, local: u32) {
  if (pays) {
    for (var entry = offsets[now.point] + local; entry < offsets[now.point + 1u]; entry += WORKGROUP) {
      let part = now.weight * x[entry];
      let at = offsets[params.columnsAt + entry] * params.sumQuads * 4u;
      sums[at + now.own] -= part;
      sums[at + now.wanted] += part;
    }
    if (local == 0u) {
      keep(now.own, now.here, measured.x, measured.z, -now.weight, -1.0);
      keep(now.wanted, now.there, measured.y, measured.z, now.weight, 1.0);
    }
  }
  // The next row can have other columns, so threads must see all writes.
  storageBarrier();
}
#else
fn clusterAt(index: u32) -> Cluster { return clusters[index]; }

fn measureShare(now: Move, local: u32) -> vec3f {
  let here = now.own * params.quads;
  let there = now.wanted * params.quads;
  var mine = vec3f();
  for (var t = local; t < params.quads; t += WORKGROUP) {
    let part = xPart(now.point, t, params.quads);
    let a = part - centers[here + t];
    let b = part - centers[there + t];
    mine += vec3f(dot(a, a), dot(b, b), dot(part, part));
  }
  return mine;
}

// A thread always has the same columns, so rows need no barrier between moves.
fn settle(now: Move, measured: vec3f, pays: bool, local: u32) {
  let here = now.own * params.quads;
  let there = now.wanted * params.quads;
  var massHere = now.here.x - now.weight;
  var massThere = now.there.x + now.weight;
  if (params.unit == 0u) {
    if (pays) {
      for (var t = local; t < params.quads; t += WORKGROUP) {
        let part = xPart(now.point, t, params.quads);
        centers[here + t] -= (part - centers[here + t]) * (now.weight / massHere);
        centers[there + t] += (part - centers[there + t]) * (now.weight / massThere);
      }
    }
  } else {
    var squares = vec3f();
    for (var t = local; t < params.quads; t += WORKGROUP) {
      let part = xPart(now.point, t, params.quads) * now.weight;
      let a = centers[here + t] * now.here.x - part;
      let b = centers[there + t] * now.there.x + part;
      squares += vec3f(dot(a, a), dot(b, b), 0.0);
    }
    workgroupBarrier();
    let lengths = sqrt(addUp(squares, local));
    massHere = lengths.x;
    massThere = lengths.y;
    if (pays) {
      for (var t = local; t < params.quads; t += WORKGROUP) {
        let part = xPart(now.point, t, params.quads) * now.weight;
        centers[here + t] = (centers[here + t] * now.here.x - part) / max(massHere, 1e-30);
        centers[there + t] = (centers[there + t] * now.there.x + part) / max(massThere, 1e-30);
      }
    }
  }
  if (pays && local == 0u) {
    clusters[now.own] = vec2f(massHere, now.here.y - 1.0);
    clusters[now.wanted] = vec2f(massThere, now.there.y + 1.0);
  }
}
#endif
`

/**
 * Mass and number of points of each cluster from what accumulate left, one thread a cluster. Squares are summed in runs, so
 * that errors stay small. Of sparse rows, three values behind the columns of the sums, one thread for each place of a row.
 */
export const prepareMovesBody = (sparse: boolean): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let cluster = threadNumber(workgroup, groups, local);
  var mass = 0.0;
  var square = 0.0;
  var count = 0.0;
  if (cluster < params.k) {
    mass = totals[cluster];
    count = f32(counts[cluster]);
    if (params.unit == 1u || ${sparse}) {
      for (var begin = 0u; begin < params.quads; begin += 64u) {
        var part = vec4f();
        for (var t = begin; t < min(begin + 64u, params.quads); t++) {
          let value = given[cluster * params.quads + t];
          part += value * value;
        }
        square += (part.x + part.y) + (part.z + part.w);
      }
    }
    if (params.unit == 1u) { mass = sqrt(square); }
  }
#if ${sparse}
  let stride = params.sumQuads * 4u;
  if (cluster >= stride) { return; }
  let at = params.quads * 4u * stride + cluster;
  sums[at] = mass;
  sums[at + stride] = count;
  sums[at + 2u * stride] = square;
#else
  if (cluster < params.k) { clusters[cluster] = vec2f(mass, count); }
#endif
}
`

/** Sums of sparse rows into columns, one thread for every 4 columns of 4 clusters. */
export const sumColumnsBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let four = number / params.quads;
  let t = number % params.quads;
  if (four >= params.sumQuads) { return; }
  var rows = array<vec4f, 4>();
  for (var lane = 0u; lane < 4u; lane++) {
    let cluster = four * 4u + lane;
    if (cluster < params.k) { rows[lane] = given[cluster * params.quads + t]; }
  }
  for (var i = 0u; i < 4u; i++) {
    sums[(t * 4u + i) * params.sumQuads + four] = vec4f(rows[0][i], rows[1][i], rows[2][i], rows[3][i]);
  }
}
`

/**
 * Segmented sums by label, repeatable bit for bit and without float atomics.
 *
 * A stable radix sort brings the points of a cluster side by side in rising order: every thread
 * counts the digits of 256 keys of its own, a scan turns the counts into places, every thread puts
 * its keys there in order. Then clusters are summed in that order, those of more than PIECE points
 * in pieces that are added up afterwards.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import type { Shader } from '../src/device/contract.ts'
import { rowsBinding, THREADS, threadBuiltins, threadNumber } from './pieces.ts'

/** Keys a sorting thread owns. */
export const RUN = 256
export const DIGITS = 256
/** Points of a cluster summed in one go. */
export const PIECE = 256

const sortHeader = (first: boolean): string => wgsl`
struct Params {
  n: u32,
  runs: u32,
  shift: u32,
  none: u32,  // key of points that belong to no cluster
  firstPoint: u32,  // the first that is sorted
}
@group(0) @binding(0) var<storage, read> keys: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;  // [digit][run]
${threadNumber}

fn keyAt(i: u32) -> u32 {
#if ${first}
  return min(keys[params.firstPoint + i], params.none);
#else
  return keys[i];
#endif
}

fn place(key: u32, run: u32) -> u32 {
  return ((key >> params.shift) & ${DIGITS - 1}u) * params.runs + run;
}
`

/** `first`: keys are labels, from that of `firstPoint` on, and values are the numbers of the points. */
export const sortCount = (first: boolean): Shader => ({
  name: `sort-count-${first}`,
  code: () => wgsl`
${sortHeader(first)}
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let run = threadNumber(workgroup, groups, local);
  if (run >= params.runs) { return; }
  for (var digit = 0u; digit < ${DIGITS}u; digit++) { counts[digit * params.runs + run] = 0u; }
  for (var i = run * ${RUN}u; i < min((run + 1u) * ${RUN}u, params.n); i++) { counts[place(keyAt(i), run)]++; }
}
`,
})

export const sortScatter = (first: boolean): Shader => ({
  name: `sort-scatter-${first}`,
  code: () => wgsl`
${sortHeader(first)}
@group(0) @binding(2) var<storage, read_write> sortedKeys: array<u32>;
@group(0) @binding(3) var<storage, read_write> sortedValues: array<u32>;
#if ${!first}
@group(0) @binding(4) var<storage, read> values: array<u32>;
@group(0) @binding(5) var<uniform> params: Params;
#else
@group(0) @binding(4) var<uniform> params: Params;
#endif

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let run = threadNumber(workgroup, groups, local);
  if (run >= params.runs) { return; }
  for (var i = run * ${RUN}u; i < min((run + 1u) * ${RUN}u, params.n); i++) {
    let key = keyAt(i);
    let slot = place(key, run);
    let to = counts[slot];
    counts[slot] = to + 1u;
    sortedKeys[to] = key;
#if ${first}
    sortedValues[to] = params.firstPoint + i;
#else
    sortedValues[to] = values[i];
#endif
  }
}
`,
})

/** offsets[j] = first place of cluster j in the sorted keys; pieces[j] = partial sums it needs. One thread a cluster, k + 1 of them. */
export const clusterRanges: Shader = {
  name: 'cluster-ranges',
  code: () => wgsl`
struct Params { n: u32, k: u32 }
@group(0) @binding(0) var<storage, read> sortedKeys: array<u32>;
@group(0) @binding(1) var<storage, read_write> offsets: array<u32>;
@group(0) @binding(2) var<storage, read_write> pieces: array<u32>;
@group(0) @binding(3) var<uniform> params: Params;
${threadNumber}

fn firstAtLeast(key: u32) -> u32 {
  var low = 0u;
  var high = params.n;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (sortedKeys[middle] < key) { low = middle + 1u; } else { high = middle; }
  }
  return low;
}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let cluster = threadNumber(workgroup, groups, local);
  if (cluster > params.k) { return; }
  let begin = firstAtLeast(cluster);
  offsets[cluster] = begin;
  var needed = 0u;
  if (cluster < params.k) {
    let count = firstAtLeast(cluster + 1u) - begin;
    if (count > ${PIECE}u) { needed = (count + ${PIECE - 1}u) / ${PIECE}u; }
  }
  pieces[cluster] = needed;
}
`,
}

const sumHeader = (type: ElementType): string => wgsl`
struct Params {
  firstCluster: u32,
  clusters: u32,  // clusters of this pass; for pieces: of all
  quads: u32,
  piecesAt: u32,  // where pieces begin in the tables
  weighted: u32,
  add: u32,       // 1: on top of what is there
  keepEmpty: u32, // 1: sums of clusters without points are not written
}
${rowsBinding(0, type)}
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> order: array<u32>;
@group(0) @binding(3) var<storage, read> tables: array<u32>;  // offsets[k + 1], then pieces[k + 1]
${threadNumber}

fn sumRows(begin: u32, end: u32, t: u32) -> vec4f {
  var sum = vec4f();
  for (var at = begin; at < end; at++) {
    let row = order[at];
    var value = xPart(row, t, params.quads);
    if (params.weighted == 1u) { value *= weights[row]; }
    sum += value;
  }
  return sum;
}

fn sumWeights(begin: u32, end: u32) -> f32 {
  if (params.weighted == 0u) { return f32(end - begin); }
  var sum = 0.0;
  for (var at = begin; at < end; at++) { sum += weights[order[at]]; }
  return sum;
}
`

/** Partial sums of large clusters: one thread for every piece and every 4 columns. The weight stands behind the columns. */
export const sumPieces = (type: ElementType): Shader => ({
  name: `sum-pieces-${type}`,
  code: () => wgsl`
${sumHeader(type)}
@group(0) @binding(4) var<storage, read_write> partials: array<vec4f>;  // [piece][quads + 1]
@group(0) @binding(5) var<uniform> params: Params;

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let quads = params.quads;
  let piece = number / quads;
  let t = number % quads;
  let k = params.clusters;
  let pieces = params.piecesAt;
  if (piece >= tables[pieces + k]) { return; }
  // The cluster is the last one whose pieces start at or before this one.
  var low = 0u;
  var high = k;
  while (high - low > 1u) {
    let middle = (low + high) / 2u;
    if (tables[pieces + middle] <= piece) { low = middle; } else { high = middle; }
  }
  let begin = tables[low] + (piece - tables[pieces + low]) * ${PIECE}u;
  let end = min(begin + ${PIECE}u, tables[low + 1u]);
  let at = piece * (quads + 1u);
  partials[at + t] = sumRows(begin, end, t);
  if (t == 0u) { partials[at + quads] = vec4f(sumWeights(begin, end)); }
}
`,
})

/** Sums of clusters: one thread for every cluster and every 4 columns. */
export const sumClusters = (type: ElementType): Shader => ({
  name: `sum-clusters-${type}`,
  code: () => wgsl`
${sumHeader(type)}
@group(0) @binding(4) var<storage, read> partials: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> sums: array<vec4f>;  // [clusters of this pass][quads]
@group(0) @binding(6) var<storage, read_write> totals: array<f32>;  // weight of each cluster, of all of them
@group(0) @binding(7) var<storage, read_write> counts: array<u32>;  // points of each cluster, of all of them
@group(0) @binding(8) var<uniform> params: Params;

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let quads = params.quads;
  let here = number / quads;
  let t = number % quads;
  if (here >= params.clusters) { return; }
  let cluster = params.firstCluster + here;
  let begin = tables[cluster];
  let end = tables[cluster + 1u];
  let small = end - begin <= ${PIECE}u;
  let firstPiece = tables[params.piecesAt + cluster];
  let lastPiece = tables[params.piecesAt + cluster + 1u];
  var sum = vec4f();
  if (params.add == 1u) { sum = sums[number]; }
  if (small) {
    sum += sumRows(begin, end, t);
  } else {
    for (var piece = firstPiece; piece < lastPiece; piece++) { sum += partials[piece * (quads + 1u) + t]; }
  }
  if (params.keepEmpty == 0u || begin < end) { sums[number] = sum; }
  if (t == 0u) {
    var total = 0.0;
    var count = end - begin;
    if (params.add == 1u) {
      total = totals[cluster];
      count += counts[cluster];
    }
    if (small) {
      total += sumWeights(begin, end);
    } else {
      for (var piece = firstPiece; piece < lastPiece; piece++) { total += partials[piece * (quads + 1u) + quads].x; }
    }
    totals[cluster] = total;
    counts[cluster] = count;
  }
}
`,
})

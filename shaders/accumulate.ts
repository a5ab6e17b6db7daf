/**
 * Segmented sums by label, reproducible bit for bit and without float atomics. Points are grouped by cluster in rising order
 * (sort.ts), and a thread sums a range of the columns of one cluster, row by row in that order, so that a column has the same
 * sum however the columns are divided.
 *
 * Of dense rows a range is 4 columns, and clusters of more than SUM_PIECE points are summed in pieces that are added up
 * afterwards. Of sparse rows ranges are wider, because a thread searches each row for its first entry; a pass takes the rows at
 * places `first` to `end` of the order, so that passes stay short.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { RowType } from '../src/kernels/rows.ts'
import { threadBuiltins, threadNumber } from './snippets.ts'

/** Points of a cluster summed in one go. */
export const SUM_PIECE = 256

/** offsets[j]: first place of cluster j in the sorted keys; pieces[j]: partial sums it needs. One thread for each of 0..k. */
export const clusterRangesBody = (): string => wgsl`
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

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let cluster = threadNumber(workgroup, groups, local);
  if (cluster > params.k) { return; }
  let begin = firstAtLeast(cluster);
  offsets[cluster] = begin;
  var needed = 0u;
  if (cluster < params.k) {
    let count = firstAtLeast(cluster + 1u) - begin;
    if (count > ${SUM_PIECE}u) { needed = (count + ${SUM_PIECE - 1}u) / ${SUM_PIECE}u; }
  }
  pieces[cluster] = needed;
}
`

const sumRows = wgsl`
fn sumRows(begin: u32, end: u32, t: u32) -> vec4f {
  var sum = vec4f();
  for (var at = begin; at < end; at++) {
    let row = order[at];
    var value = xPart(row, t, params.quads);
    if (params.hasWeights == 1u) { value *= weights[row]; }
    sum += value;
  }
  return sum;
}

fn sumWeights(begin: u32, end: u32) -> f32 {
  if (params.hasWeights == 0u) { return f32(end - begin); }
  var sum = 0.0;
  for (var at = begin; at < end; at++) { sum += weights[order[at]]; }
  return sum;
}
`

/** Partial sums of large clusters: one thread for each piece and 4 columns. The weight follows the columns. */
export const sumPiecesBody = (): string => wgsl`
${threadNumber}
${sumRows}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let quads = params.quads;
  let piece = number / quads;
  let t = number % quads;
  let k = params.k;
  let pieces = params.piecesAt;
  if (piece >= tables[pieces + k]) { return; }
  // The cluster is the last one whose pieces start at or before this one.
  var low = 0u;
  var high = k;
  while (high - low > 1u) {
    let middle = (low + high) / 2u;
    if (tables[pieces + middle] <= piece) { low = middle; } else { high = middle; }
  }
  let begin = tables[low] + (piece - tables[pieces + low]) * ${SUM_PIECE}u;
  let end = min(begin + ${SUM_PIECE}u, tables[low + 1u]);
  let at = piece * (quads + 1u);
  partials[at + t] = sumRows(begin, end, t);
  if (t == 0u) { partials[at + quads] = vec4f(sumWeights(begin, end)); }
}
`

/** Of 4 columns, from the rows or from their pieces. */
const denseColumns = wgsl`
${sumRows}

fn sumColumns(cluster: u32, here: u32, t: u32, begin: u32, end: u32) {
  let quads = params.quads;
  let at = here * quads + t;
  var sum = vec4f();
  if (params.add == 1u) { sum = sums[at]; }
  if (end - begin <= ${SUM_PIECE}u) {
    sum += sumRows(begin, end, t);
  } else {
    let lastPiece = tables[params.piecesAt + cluster + 1u];
    for (var piece = tables[params.piecesAt + cluster]; piece < lastPiece; piece++) {
      sum += partials[piece * (quads + 1u) + t];
    }
  }
  sums[at] = sum;
}

fn addWeights(total: f32, cluster: u32, begin: u32, end: u32) -> f32 {
  if (end - begin <= ${SUM_PIECE}u) { return total + sumWeights(begin, end); }
  let lastPiece = tables[params.piecesAt + cluster + 1u];
  var sum = total;
  for (var piece = tables[params.piecesAt + cluster]; piece < lastPiece; piece++) {
    sum += partials[piece * (params.quads + 1u) + params.quads].x;
  }
  return sum;
}
`

/** Of a range of columns, in the memory of the sums. */
const sparseColumns = wgsl`
fn firstFrom(begin: u32, end: u32, column: u32) -> u32 {
  var low = begin;
  var high = end;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (offsets[params.columnsAt + middle] < column) { low = middle + 1u; } else { high = middle; }
  }
  return low;
}

fn sumColumns(unusedCluster: u32, here: u32, range: u32, begin: u32, end: u32) {
  let stride = params.quads * 4u;
  let low = min(range * params.rangeColumns, stride);
  let high = min(low + params.rangeColumns, stride);
  let out = here * stride;
  if (params.add == 0u) {
    for (var column = low; column < high; column++) { sums[out + column] = 0.0; }
  }
  for (var place = begin; place < end; place++) {
    let row = order[place];
    var weight = 1.0;
    if (params.hasWeights == 1u) { weight = weights[row]; }
    let to = offsets[row + 1u];
    for (var entry = firstFrom(offsets[row], to, low); entry < to; entry++) {
      let column = offsets[params.columnsAt + entry];
      if (column >= high) { break; }
      sums[out + column] += weight * x[entry];
    }
  }
}

// One after the other, so that the sum does not depend on how rows are divided among passes.
fn addWeights(total: f32, unusedCluster: u32, begin: u32, end: u32) -> f32 {
  if (params.hasWeights == 0u) { return total + f32(end - begin); }
  var sum = total;
  for (var place = begin; place < end; place++) { sum += weights[order[place]]; }
  return sum;
}
`

/**
 * Sums of clusters: one thread for each cluster and range of columns. With `add`, on top of what is there. With `keepEmpty` the
 * sums of clusters without points are not written.
 */
export const sumClustersBody = ({ points }: { readonly points: RowType }): string => wgsl`
${threadNumber}
${points === 'csr' ? sparseColumns : denseColumns}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let here = number / params.ranges;
  let range = number % params.ranges;
  if (here >= params.clusters) { return; }
  let cluster = params.firstCluster + here;
  let begin = max(tables[cluster], params.first);
  let end = max(begin, min(tables[cluster + 1u], params.end));
  if (params.keepEmpty == 0u || tables[cluster] < tables[cluster + 1u]) {
    sumColumns(cluster, here, range, begin, end);
  }
  if (range == 0u) {
    var total = 0.0;
    var count = 0u;
    if (params.add == 1u) {
      total = totals[cluster];
      count = counts[cluster];
    }
    if (begin < end) { total = addWeights(total, cluster, begin, end); }
    totals[cluster] = total;
    counts[cluster] = count + (end - begin);
  }
}
`

/**
 * Sums of sparse rows by label, after the sort of accumulate.ts, repeatable bit for bit. A thread owns
 * a range of the columns of one cluster: it takes the cluster's rows in order and finds its first entry
 * in each by halving, so a column is always added up in the same order, however the columns are cut.
 * A pass takes the rows at places first to end of the order, so that passes stay short.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { Shader } from '../src/device/contract.ts'
import { sparseBindings, THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const sumSparse: Shader = {
  name: 'sum-sparse',
  code: () => wgsl`
struct Params {
  firstCluster: u32,
  clusters: u32,      // clusters of this pass
  stride: u32,
  columnsAt: u32,
  ranges: u32,
  rangeColumns: u32,
  first: u32,         // places in the order that this pass takes
  end: u32,
  weighted: u32,
  add: u32,           // 1: on top of what is there
  keepEmpty: u32,     // 1: sums of clusters without rows are not written
}
${sparseBindings(0)}
@group(0) @binding(2) var<storage, read> weights: array<f32>;
@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read> tables: array<u32>;        // offsets[k + 1]
@group(0) @binding(5) var<storage, read_write> sums: array<f32>;    // [clusters of this pass][stride]
@group(0) @binding(6) var<storage, read_write> totals: array<f32>;  // weight of each cluster, of all of them
@group(0) @binding(7) var<storage, read_write> counts: array<u32>;  // points of each cluster, of all of them
@group(0) @binding(8) var<uniform> params: Params;
${threadNumber}

fn firstFrom(begin: u32, end: u32, column: u32) -> u32 {
  var low = begin;
  var high = end;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (places[params.columnsAt + middle] < column) { low = middle + 1u; } else { high = middle; }
  }
  return low;
}

@compute @workgroup_size(${THREADS})
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let here = number / params.ranges;
  let range = number % params.ranges;
  if (here >= params.clusters) { return; }
  let cluster = params.firstCluster + here;
  let low = min(range * params.rangeColumns, params.stride);
  let high = min(low + params.rangeColumns, params.stride);
  let out = here * params.stride;
  let empty = tables[cluster] == tables[cluster + 1u];
  if (params.add == 0u && !(params.keepEmpty == 1u && empty)) {
    for (var column = low; column < high; column++) { sums[out + column] = 0.0; }
  }
  let begin = max(tables[cluster], params.first);
  let end = min(tables[cluster + 1u], params.end);
  for (var place = begin; place < end; place++) {
    let row = order[place];
    var weight = 1.0;
    if (params.weighted == 1u) { weight = weights[row]; }
    let to = places[row + 1u];
    for (var entry = firstFrom(places[row], to, low); entry < to; entry++) {
      let column = places[params.columnsAt + entry];
      if (column >= high) { break; }
      sums[out + column] += weight * values[entry];
    }
  }
  if (range == 0u) {
    var total = 0.0;
    var count = 0u;
    if (params.add == 1u) {
      total = totals[cluster];
      count = counts[cluster];
    }
    if (begin < end) {
      count += end - begin;
      if (params.weighted == 0u) {
        total += f32(end - begin);
      } else {
        for (var place = begin; place < end; place++) { total += weights[order[place]]; }
      }
    }
    totals[cluster] = total;
    counts[cluster] = count;
  }
}
`,
}

/**
 * Sums of sparse rows by label, after the sort of accumulate.ts, reproducible bit for bit. A thread sums a range of the columns
 * of one cluster: it goes through the cluster's rows in order and finds its first entry in each by binary search. A column is
 * therefore always summed in the same order, however the columns are divided. A pass takes the rows at places first to end of
 * the order, so that passes stay short.
 *
 * Apart from the dense kernel, because a thread that sums 4 columns would search every row of the cluster for few entries.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { declareShader } from '../src/device/declared-shader.ts'
import { mayRead, reads, writes } from '../src/device/fields.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const sumSparse = declareShader({
  name: 'sum-sparse',
  params: {
    firstCluster: 'u32',
    /** Clusters of this pass. */
    clusters: 'u32',
    stride: 'u32',
    /** Where the columns of the entries begin in `offsets`. */
    columnsAt: 'u32',
    ranges: 'u32',
    rangeColumns: 'u32',
    /** Places in the order that this pass takes. */
    first: 'u32',
    end: 'u32',
    /** On top of what is there. */
    add: 'bool',
    /** Sums of clusters without rows are not written. */
    keepEmpty: 'bool',
  },
  buffers: {
    values: reads('f32'),
    /** Row i has entries offsets[i] to offsets[i + 1]. */
    offsets: reads('u32'),
    weights: mayRead('f32'),
    order: reads('u32'),
    /** Where each cluster begins in the order, [k + 1]. */
    tables: reads('u32'),
    /** [clusters of this pass][stride] */
    sums: writes('f32'),
    /** Weight of each cluster, of all clusters. */
    totals: writes('f32'),
    /** Points of each cluster, of all clusters. */
    counts: writes('u32'),
  },
  workgroup: THREADS,
  body: () => wgsl`
${threadNumber}

fn firstFrom(begin: u32, end: u32, column: u32) -> u32 {
  var low = begin;
  var high = end;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (offsets[params.columnsAt + middle] < column) { low = middle + 1u; } else { high = middle; }
  }
  return low;
}

@compute @workgroup_size(WORKGROUP)
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
    if (params.hasWeights == 1u) { weight = weights[row]; }
    let to = offsets[row + 1u];
    for (var entry = firstFrom(offsets[row], to, low); entry < to; entry++) {
      let column = offsets[params.columnsAt + entry];
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
      if (params.hasWeights == 0u) {
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
})

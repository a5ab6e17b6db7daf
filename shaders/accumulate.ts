/**
 * Segmented sums by label, reproducible bit for bit and without float atomics.
 *
 * A stable radix sort groups the points by cluster, in rising order: each thread counts the digits of a run of 256 keys, a
 * prefix sum turns the counts into places, and each thread writes its keys to their places in order. Clusters are then summed
 * in that order; those of more than SUM_PIECE points in pieces that are added up afterwards.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { declareShader, rowsOf } from '../src/device/declared-shader.ts'
import { mayRead, onlyIf, reads, writes } from '../src/device/fields.ts'
import { DENSE_TYPES, shaderForms } from '../src/device/shader-forms.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

/** Keys that a thread sorts. */
export const RUN = 256
export const DIGITS = 256
/** Points of a cluster summed in one go. */
export const SUM_PIECE = 256

/** What the passes of the sort are given; `shaders/sort-tiled.ts` takes the same. */
export const SORT_PARAMS = {
  n: 'u32',
  /** Groups of keys that are counted and scattered together. */
  runs: 'u32',
  shift: 'u32',
  /** Key of points that belong to no cluster. */
  none: 'u32',
  /** The first point that is sorted. */
  firstPoint: 'u32',
} as const

export const COUNT_BUFFERS = {
  keys: reads('u32'),
  /** [digit][run] */
  counts: writes('u32'),
}

/** The first pass takes the numbers of the points as values. */
export const scatterBuffers = (first: boolean) => ({
  ...COUNT_BUFFERS,
  sortedKeys: writes('u32'),
  sortedValues: writes('u32'),
  values: onlyIf(!first, reads('u32')),
})

export const sortKey = (first: boolean): string => wgsl`
fn keyAt(i: u32) -> u32 {
#if ${first}
  return min(keys[params.firstPoint + i], params.none);
#else
  return keys[i];
#endif
}

fn digitOf(key: u32) -> u32 {
  return (key >> params.shift) & ${DIGITS - 1}u;
}
`

const sortPlace = wgsl`
fn place(key: u32, run: u32) -> u32 {
  return digitOf(key) * params.runs + run;
}
`

/** `first`: keys are labels, from that of `firstPoint` on, and values are the numbers of the points. */
export const sortCount = shaderForms([[true], [false]], (first: boolean) =>
  declareShader({
    name: `sort-count-${first}`,
    params: SORT_PARAMS,
    buffers: COUNT_BUFFERS,
    workgroup: THREADS,
    body: () => wgsl`
${threadNumber}
${sortKey(first)}
${sortPlace}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let run = threadNumber(workgroup, groups, local);
  if (run >= params.runs) { return; }
  for (var digit = 0u; digit < ${DIGITS}u; digit++) { counts[digit * params.runs + run] = 0u; }
  for (var i = run * ${RUN}u; i < min((run + 1u) * ${RUN}u, params.n); i++) { counts[place(keyAt(i), run)]++; }
}
`,
  }),
)

export const sortScatter = shaderForms([[true], [false]], (first: boolean) =>
  declareShader({
    name: `sort-scatter-${first}`,
    params: SORT_PARAMS,
    buffers: scatterBuffers(first),
    workgroup: THREADS,
    body: () => wgsl`
${threadNumber}
${sortKey(first)}
${sortPlace}

@compute @workgroup_size(WORKGROUP)
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
  }),
)

/** offsets[j]: first place of cluster j in the sorted keys; pieces[j]: partial sums it needs. One thread for each of 0..k. */
export const clusterRanges = declareShader({
  name: 'cluster-ranges',
  params: { n: 'u32', k: 'u32' },
  buffers: { sortedKeys: reads('u32'), offsets: writes('u32'), pieces: writes('u32') },
  workgroup: THREADS,
  body: () => wgsl`
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
`,
})

/** `piecesAt`: where the pieces begin in the tables. */
const SUM_PARAMS = { quads: 'u32', piecesAt: 'u32' } as const

const sumBuffers = (type: ElementType) => ({
  x: rowsOf(type),
  weights: mayRead('f32'),
  order: reads('u32'),
  /** offsets[k + 1], then pieces[k + 1] */
  tables: reads('u32'),
})

const sumRows = wgsl`
${threadNumber}

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
export const sumPieces = shaderForms(DENSE_TYPES, (type: ElementType) =>
  declareShader({
    name: `sum-pieces-${type}`,
    params: { ...SUM_PARAMS, k: 'u32' },
    buffers: {
      ...sumBuffers(type),
      /** [piece][quads + 1] */
      partials: writes('vec4f'),
    },
    workgroup: THREADS,
    body: () => wgsl`
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
`,
  }),
)

/**
 * Sums of clusters: one thread for each cluster and 4 columns. With `add`, on top of what is there. With `keepEmpty` the sums
 * of clusters without points are not written.
 */
export const sumClusters = shaderForms(DENSE_TYPES, (type: ElementType) =>
  declareShader({
    name: `sum-clusters-${type}`,
    params: { ...SUM_PARAMS, firstCluster: 'u32', clusters: 'u32', add: 'bool', keepEmpty: 'bool' },
    buffers: {
      ...sumBuffers(type),
      partials: reads('vec4f'),
      /** [clusters of this pass][quads] */
      sums: writes('vec4f'),
      /** Weight of each cluster, of all clusters. */
      totals: writes('f32'),
      /** Points of each cluster, of all clusters. */
      counts: writes('u32'),
    },
    workgroup: THREADS,
    body: () => wgsl`
${sumRows}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let quads = params.quads;
  let here = number / quads;
  let t = number % quads;
  if (here >= params.clusters) { return; }
  let cluster = params.firstCluster + here;
  let begin = tables[cluster];
  let end = tables[cluster + 1u];
  let small = end - begin <= ${SUM_PIECE}u;
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
  }),
)

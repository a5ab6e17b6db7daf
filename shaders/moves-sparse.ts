/**
 * k-means# over sparse rows: see wasm/moves-sparse.ts. Clusters are sums of their points, column by
 * column, [column][lanes], lanes being k rounded up to 4; behind the columns stand three more rows:
 * masses, squared lengths of the sums, and numbers of points.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { declareShader } from '../src/device/declared-shader.ts'
import { mayRead, reads, writes } from '../src/device/fields.ts'
import { shaderForms } from '../src/device/shader-forms.ts'
import { AMONG, TURN_FACTOR } from './move-gains.ts'
import { LEAST_GAIN, LEAST_LEFT, MORE_THAN_POINT } from './prices.ts'
import { SPARSE_BUFFERS } from './rows.ts'
import { NONE, THREADS, threadBuiltins, threadNumber } from './snippets.ts'

/** Rows behind the columns. */
export const CLUSTER_ROWS = 3

/** The prices of prices.ts, from dot products with sums. `length`: |x|^2. */
const sparsePrices = wgsl`
struct Cluster { mass: f32, square: f32, count: f32 }

fn squaredDistance(dot: f32, length: f32, cluster: Cluster) -> f32 {
  return max(0.0, length + (cluster.square / cluster.mass - 2.0 * dot) / cluster.mass);
}

fn toJoin(dot: f32, length: f32, cluster: Cluster, weight: f32, unit: u32) -> f32 {
  if (unit == 0u) {
    if (cluster.mass <= 0.0) { return 0.0; }
    return squaredDistance(dot, length, cluster) * weight * (cluster.mass / (cluster.mass + weight));
  }
  let more = weight * (2.0 * dot + weight * length);
  return -more / max(sqrt(max(cluster.square + more, 0.0)) + sqrt(cluster.square), 1e-30);
}

fn toStay(dot: f32, length: f32, cluster: Cluster, weight: f32, unit: u32) -> f32 {
  if (unit == 0u) { return squaredDistance(dot, length, cluster) * weight * (cluster.mass / (cluster.mass - weight)); }
  let less = weight * (2.0 * dot - weight * length);
  // What stays behind would have no direction worth the name.
  if (!(cluster.square - less > ${LEAST_LEFT} * weight * weight)) { return -3e38; }
  return -less / max(sqrt(cluster.square - less) + sqrt(cluster.square), 1e-30);
}

// A cluster keeps its last point, and the last weight it has; unit vectors may cancel, see toStay.
fn mayLeave(cluster: Cluster, weight: f32, unit: u32) -> bool {
  return cluster.count > 1.0 && (unit == 1u || cluster.mass > weight * ${MORE_THAN_POINT});
}
`

/** Sums into columns, one thread for every 4 columns of 4 clusters. */
export const columnSums = declareShader({
  name: 'moves-sparse-columns',
  params: { k: 'u32', quads: 'u32', laneQuads: 'u32' },
  buffers: { given: reads('vec4f'), sums: writes('vec4f') },
  workgroup: THREADS,
  body: () => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let four = number / params.quads;
  let t = number % params.quads;
  if (four >= params.laneQuads) { return; }
  var rows = array<vec4f, 4>();
  for (var lane = 0u; lane < 4u; lane++) {
    let cluster = four * 4u + lane;
    if (cluster < params.k) { rows[lane] = given[cluster * params.quads + t]; }
  }
  for (var i = 0u; i < 4u; i++) {
    sums[(t * 4u + i) * params.laneQuads + four] = vec4f(rows[0][i], rows[1][i], rows[2][i], rows[3][i]);
  }
}
`,
})

/** The rows behind the columns, one thread a lane. Squares are summed in runs, so that errors stay small. */
export const clusterRows = declareShader({
  name: 'moves-sparse-clusters',
  params: { k: 'u32', quads: 'u32', lanes: 'u32', unit: 'bool' },
  buffers: { given: reads('vec4f'), totals: reads('f32'), counts: reads('u32'), sums: writes('f32') },
  workgroup: THREADS,
  body: () => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let cluster = threadNumber(workgroup, groups, local);
  if (cluster >= params.lanes) { return; }
  var mass = 0.0;
  var square = 0.0;
  var count = 0.0;
  if (cluster < params.k) {
    for (var begin = 0u; begin < params.quads; begin += 64u) {
      var part = vec4f();
      for (var t = begin; t < min(begin + 64u, params.quads); t++) {
        let value = given[cluster * params.quads + t];
        part += value * value;
      }
      square += (part.x + part.y) + (part.z + part.w);
    }
    mass = select(totals[cluster], sqrt(square), params.unit == 1u);
    count = f32(counts[cluster]);
  }
  let at = params.quads * 4u * params.lanes + cluster;
  sums[at] = mass;
  sums[at + params.lanes] = square;
  sums[at + 2u * params.lanes] = count;
}
`,
})

/** As in move-gains.ts, after its collecting pass. One thread a point. */
export const moveGainsSparse = declareShader({
  name: 'moves-sparse-gains',
  params: {
    first: 'u32',
    places: 'u32',
    columnsAt: 'u32',
    stride: 'u32',
    laneQuads: 'u32',
    among: 'u32',
    unit: 'bool',
    firstGain: 'bool',
  },
  buffers: {
    ...SPARSE_BUFFERS,
    sums: reads('vec4f'),
    batch: reads('vec4u'),
    lists: reads('u32'),
    labels: reads('u32'),
    weights: mayRead('f32'),
    proposals: writes('u32'),
  },
  workgroup: THREADS,
  body: () => wgsl`
${threadNumber}
${sparsePrices}

${NONE}

fn clusterAt(index: u32) -> Cluster {
  let at = params.stride * params.laneQuads + index / 4u;
  let lane = index % 4u;
  return Cluster(sums[at][lane], sums[at + params.laneQuads][lane], sums[at + 2u * params.laneQuads][lane]);
}

// Dot products with four clusters side by side.
fn dotFour(four: u32, begin: u32, end: u32) -> vec4f {
  var dots = vec4f();
  for (var entry = begin; entry < end; entry++) {
    dots += x[entry] * sums[offsets[params.columnsAt + entry] * params.laneQuads + four];
  }
  return dots;
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.places) { return; }
  let place = params.first + number;
  let found = batch[place];
  let point = found.x;
  proposals[place] = NONE;
  if (point == NONE) { return; }
  let own = labels[point];
  var weight = 1.0;
  if (params.hasWeights == 1u) { weight = weights[point]; }
  let home = clusterAt(own);
  if (!mayLeave(home, weight, params.unit)) { return; }
  let begin = offsets[point];
  let end = offsets[point + 1u];
  var length = 0.0;
  for (var entry = begin; entry < end; entry++) { length += x[entry] * x[entry]; }
  var four = own / 4u;
  var dots = dotFour(four, begin, end);
  var lowest = toStay(dots[own % 4u], length, home, weight, params.unit);
  var label = NONE;
  let count = found.z;
  var turn = 0u;
  if (params.firstGain == 1u) { turn = (found.w * ${TURN_FACTOR}u) % max(count, 1u); }
  for (var j = 0u; j < count; j++) {
    let at = select(j + turn, j + turn - count, j + turn >= count);
    var candidate = at;
    if (params.among != ${AMONG.all}u) { candidate = lists[found.y + at]; }
    if (candidate == own) { continue; }
    if (candidate / 4u != four) {
      four = candidate / 4u;
      dots = dotFour(four, begin, end);
    }
    let price = toJoin(dots[candidate % 4u], length, clusterAt(candidate), weight, params.unit);
    if (price < lowest || (price == lowest && label != NONE && candidate < label)) {
      lowest = price;
      label = candidate;
      if (params.firstGain == 1u) { break; }
    }
  }
  proposals[place] = label;
}
`,
})

/**
 * As in apply-moves.ts: one workgroup, whose threads share the entries of a row. Two rows need not
 * share them alike, so a move is seen by all before the next.
 */
export const applyMovesSparse = shaderForms([[32]], (threads: number) =>
  declareShader({
    name: `moves-sparse-apply-${threads}`,
    params: { places: 'u32', columnsAt: 'u32', stride: 'u32', lanes: 'u32', unit: 'bool' },
    buffers: {
      ...SPARSE_BUFFERS,
      sums: writes('f32'),
      batch: reads('vec4u'),
      proposals: reads('u32'),
      labels: writes('u32'),
      weights: mayRead('f32'),
    },
    workgroup: threads,
    body: () => wgsl`
${sparsePrices}

${NONE}

struct Wish { point: u32, own: u32, wanted: u32, weight: f32, here: Cluster, there: Cluster }
var<workgroup> wish: Wish;
var<workgroup> parts: array<vec3f, WORKGROUP>;

fn clusterAt(index: u32) -> Cluster {
  let at = params.stride * params.lanes + index;
  return Cluster(sums[at], sums[at + params.lanes], sums[at + 2u * params.lanes]);
}

// The cluster with weight w of a row more: w is below zero where it leaves. dot: with the sum as it was.
fn keep(index: u32, old: Cluster, dot: f32, length: f32, weight: f32) {
  let at = params.stride * params.lanes + index;
  let square = max(0.0, old.square + weight * (2.0 * dot + weight * length));
  sums[at] = select(old.mass + weight, sqrt(square), params.unit == 1u);
  sums[at + params.lanes] = square;
  sums[at + 2u * params.lanes] = old.count + select(1.0, -1.0, weight < 0.0);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
  for (var place = 0u; place < params.places; place++) {
    if (local == 0u) {
      var next: Wish;
      next.wanted = proposals[place];
      if (next.wanted != NONE) {
        next.point = batch[place].x;
        next.own = labels[next.point];
        next.weight = 1.0;
        if (params.hasWeights == 1u) { next.weight = weights[next.point]; }
        next.here = clusterAt(next.own);
        next.there = clusterAt(next.wanted);
        if (next.wanted == next.own || !mayLeave(next.here, next.weight, params.unit)) { next.wanted = NONE; }
      }
      wish = next;
    }
    let now = workgroupUniformLoad(&wish);
    if (now.wanted == NONE) { continue; }
    let begin = offsets[now.point];
    let end = offsets[now.point + 1u];
    var mine = vec3f();
    for (var entry = begin + local; entry < end; entry += WORKGROUP) {
      let value = x[entry];
      let at = offsets[params.columnsAt + entry] * params.lanes;
      mine += value * vec3f(sums[at + now.own], sums[at + now.wanted], value);
    }
    parts[local] = mine;
    workgroupBarrier();
    var measured = vec3f();
    for (var i = 0u; i < WORKGROUP; i++) { measured += parts[i]; }
    let length = measured.z;
    let stay = toStay(measured.x, length, now.here, now.weight, params.unit);
    let join = toJoin(measured.y, length, now.there, now.weight, params.unit);
    // Prices of unit vectors are differences of lengths, wrong by shares of the weight.
    if (stay - join > ${LEAST_GAIN} * select(stay, now.weight, params.unit == 1u)) {
      for (var entry = begin + local; entry < end; entry += WORKGROUP) {
        let part = now.weight * x[entry];
        let at = offsets[params.columnsAt + entry] * params.lanes;
        sums[at + now.own] -= part;
        sums[at + now.wanted] += part;
      }
      if (local == 0u) {
        keep(now.own, now.here, measured.x, length, -now.weight);
        keep(now.wanted, now.there, measured.y, length, now.weight);
        labels[now.point] = now.wanted;
      }
    }
    storageBarrier();
    workgroupBarrier();
  }
}
`,
  }),
)

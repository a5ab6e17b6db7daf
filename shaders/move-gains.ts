/**
 * k-means#: for every point of a batch the cluster it should move to, as sums and sizes stand now.
 * `collect` (one thread a group of the batch) writes, for each point, who it is and where its
 * candidates are; `gains` (one thread a point) measures them all. A point's place in the batch is the
 * number of its group times the size of the largest, plus its place in the group. Members are rows of
 * a domain, of which the device may hold only some: `domainFrom` to `domainFrom + held`.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ElementType } from '../src/core/matrix.ts'
import { declareShader, rowsOf } from '../src/device/declared-shader.ts'
import { mayRead, reads, writes } from '../src/device/fields.ts'
import { DENSE_TYPES, shaderForms } from '../src/device/shader-forms.ts'
import { prices } from './prices.ts'
import { rowDistance } from './rows.ts'
import { NONE, THREADS, threadBuiltins, threadNumber } from './snippets.ts'

/** Where candidates come from: the labels in the group, all clusters, or a list for each group. */
export const AMONG = { labels: 0, all: 1, lists: 2 } as const

/**
 * Where the first move that pays is taken, four neighbouring points begin with the candidate (number * TURN_FACTOR) mod
 * count: if all points began with the same one, all would move to it.
 */
export const TURN_FACTOR = 2654435761

/** What the collecting pass is given, in either form. */
export const COLLECT_FIELDS = {
  params: {
    firstGroup: 'u32',
    groups: 'u32',
    largest: 'u32',
    /** A value of AMONG. */
    among: 'u32',
    /** Candidates of a group, unless they are its labels. */
    width: 'u32',
    /** Where the rows of this device begin in the domain, and how many there are. */
    domainFrom: 'u32',
    held: 'u32',
  },
  buffers: {
    /** Points, group by group. */
    members: reads('u32'),
    /** First member of each group, and the end of the last. */
    offsets: reads('u32'),
    /** Groups in the order of batches. */
    order: reads('u32'),
    /** Labels of all rows of the domain. */
    labels: reads('u32'),
    /** For each place: point, first candidate, number of candidates, slot of the first of four. */
    batch: writes('vec4u'),
    /** Distinct labels of each group. */
    candidates: writes('u32'),
    /** Pairs measured in each group. */
    looked: writes('u32'),
  },
} as const

/** What the measuring pass is given, in either form. */
export const gainsFields = (type: ElementType) =>
  ({
    params: { quads: 'u32', among: 'u32', unit: 'bool', firstGain: 'bool' },
    buffers: {
      x: rowsOf(type),
      centers: reads('vec4f'),
      /** Mass and number of points. */
      clusters: reads('vec2f'),
      batch: reads('vec4u'),
      lists: reads('u32'),
      labels: reads('u32'),
      weights: mayRead('f32'),
      proposals: writes('u32'),
    },
  }) as const

export const collectMoves = declareShader({
  name: 'move-gains-collect',
  ...COLLECT_FIELDS,
  workgroup: THREADS,
  body: () => wgsl`
${threadNumber}

${NONE}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.groups) { return; }
  let group = order[params.firstGroup + number];
  let begin = offsets[group];
  let size = offsets[group + 1u] - begin;
  let place = number * params.largest;
  var first = group * params.width;
  var count = params.width;
  if (params.among == ${AMONG.labels}u) {
    first = place;
    count = 0u;
    for (var at = begin; at < begin + size; at++) {
      let label = labels[members[at]];
      var seen = 0u;
      while (seen < count && candidates[place + seen] != label) { seen++; }
      if (seen == count) {
        candidates[place + count] = label;
        count++;
      }
    }
  }
  var inside = 0u;
  for (var i = 0u; i < params.largest; i++) {
    var point = NONE;
    if (i < size) {
      // Below the first row the difference wraps around and is larger than any number of rows.
      let row = members[begin + i] - params.domainFrom;
      if (row < params.held) {
        point = row;
        inside++;
      }
    }
    batch[place + i] = vec4u(point, first, count, begin + (i & ~3u));
  }
  looked[group] = count * inside;
}
`,
})

export const moveGainsShader = shaderForms(DENSE_TYPES, (type: ElementType) => {
  const { params, buffers } = gainsFields(type)
  return declareShader({
    name: `move-gains-${type}`,
    params: { first: 'u32', places: 'u32', ...params },
    buffers,
    workgroup: THREADS,
    body: () => wgsl`
${threadNumber}
${rowDistance(type)}
${prices}

${NONE}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.places) { return; }
  let place = params.first + number;
  let entry = batch[place];
  let point = entry.x;
  proposals[place] = NONE;
  if (point == NONE) { return; }
  let own = labels[point];
  var weight = 1.0;
  if (params.hasWeights == 1u) { weight = weights[point]; }
  if (!mayLeave(clusters[own], weight, params.unit)) { return; }
  var squares = 0.0;
  for (var t = 0u; t < params.quads; t++) {
    let part = xPart(point, t, params.quads);
    squares += dot(part, part);
  }
  var lowest = priceToStay(distanceTo(point, own), squares, clusters[own].x, weight, params.unit);
  var label = NONE;
  let count = entry.z;
  var turn = 0u;
  if (params.firstGain == 1u) { turn = (entry.w * ${TURN_FACTOR}u) % max(count, 1u); }
  for (var j = 0u; j < count; j++) {
    let at = select(j + turn, j + turn - count, j + turn >= count);
    var candidate = at;
    if (params.among != ${AMONG.all}u) { candidate = lists[entry.y + at]; }
    if (candidate == own) { continue; }
    let price = priceToJoin(distanceTo(point, candidate), squares, clusters[candidate].x, weight, params.unit);
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
})

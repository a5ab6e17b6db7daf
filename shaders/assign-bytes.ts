/**
 * Nearest of all centres for points of bytes, with integer dot products, for hardware. Exact.
 *
 * Centres are rounded to bytes: c = q + e. With any fixed vector m, here the mean of some centres,
 *
 *   x . c - |c|^2 / 2  =  x . q + (m . e - |c|^2 / 2) + (x - m) . e
 *
 * The first term is an exact integer, the second is known per centre, and the third, which is left out, is at most
 * |x - m| |e|. So a score is wrong by at most B = |x - m| E + R, where E is the largest |e| and R bounds the rounding of
 * floats, and a centre whose score is more than 2 B below the best is not the nearest. The other centres are measured
 * by differences; the nearest wins, the lowest index among equals. A lane remembers its best centre of each point and
 * the score of its second best. Where the second is within 2 B too, or more centres than fit are, the point is unsure:
 * it goes to a list for the exact form (`assignListed`).
 *
 * R: with L the largest |c| or |q|, and |m| <= L, the float operations on scores of d columns are wrong by at most
 * (d + 32) 2^-24 (|x| L + L E + L^2), one unit roundoff for each of d products and additions and some to spare.
 *
 * `dot4U8Packed` belongs to the same language feature as `unpack4xU8`, which all kernels on bytes need.
 * Points and centres are arranged as in the scalar form. Cost: 2 n k d byte operations.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { ShaderFeatures } from '../src/device/contract.ts'
import { settling, UNSURE } from './assign-pieces.ts'
import { FARTHEST, LOWEST, NONE, threadBuiltins, threadNumber } from './snippets.ts'
import { COMPONENTS, unroll } from './unroll.ts'

/** Points and centres of a workgroup, and its threads. */
export const BYTES = { points: 16, centers: 256, threads: 64 } as const
const POINTS = BYTES.points
const LANES = BYTES.threads
const PER_LANE = BYTES.centers / LANES
/** Pairs of a point and a centre that a workgroup can measure. */
const MOST_PAIRS = 256
/** Centres whose mean is m. */
const SAMPLED = 256

/** m, and zero where counters and maxima begin. One thread per 4 columns. */
export const sampleMeanBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let t = threadNumber(workgroup, groups, local);
  if (t < ${UNSURE.rows}u) { unsure[t] = 0u; }
  if (t >= params.quads) { return; }
  let step = (params.centerCount + ${SAMPLED - 1}u) / ${SAMPLED}u;
  var sum = vec4f();
  var count = 0.0;
  for (var index = 0u; index < params.centerCount; index += step) {
    sum += centers[index * params.quads + t];
    count += 1.0;
  }
  mean[t] = sum / count;
}
`

/** Centres as bytes, transposed to [16 columns][centre], with their starts. One thread per centre, padding included. */
export const packCenterBytesBody = (): string => wgsl`
${threadNumber}
${LOWEST}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let index = threadNumber(workgroup, groups, local);
  if (index >= params.padded) { return; }
  let inside = index < params.centerCount;
  var square = 0.0;
  var roundedSquare = 0.0;
  var errorSquare = 0.0;
  var along = 0.0;
  for (var s = 0u; s < (params.quads + 3u) / 4u; s++) {
    var words = vec4u();
    for (var w = 0u; w < 4u; w++) {
      let t = s * 4u + w;
      if (inside && t < params.quads) {
        let value = centers[index * params.quads + t];
        let rounded = clamp(round(value), vec4f(), vec4f(255.0));
        let error = value - rounded;
        words[w] = pack4xU8(vec4u(rounded));
        square += dot(value, value);
        roundedSquare += dot(rounded, rounded);
        errorSquare += dot(error, error);
        along += dot(mean[t], error);
      }
    }
    packed[s * params.padded + index] = words;
  }
  starts[index] = select(LOWEST, along - 0.5 * square, inside);
  // Floats that are not negative are in the order of their bits.
  atomicMax(&unsure[${UNSURE.error}], bitcast<u32>(sqrt(errorSquare)));
  atomicMax(&unsure[${UNSURE.length}], bitcast<u32>(sqrt(max(square, roundedSquare))));
}
`

export const assignBytesBody = ({ subgroups }: ShaderFeatures): string => wgsl`
${LOWEST}
${settling('u8')}

${NONE}

var<workgroup> tops: array<atomic<u32>, ${POINTS}>;    // best score of each point, as an integer of the same order
var<workgroup> doubts: array<atomic<u32>, ${POINTS}>;  // more than zero: the point is unsure
var<workgroup> spreads: array<f32, ${LANES}>;          // |x - m|^2 by 4 lanes of each point
var<workgroup> pairCount: atomic<u32>;
var<workgroup> pairs: array<vec2u, ${MOST_PAIRS}>;     // point and centre
var<workgroup> measured: array<f32, ${MOST_PAIRS}>;

fn toOrdered(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

fn fromOrdered(ordered: u32) -> f32 {
  return bitcast<f32>(select(~ordered, ordered & 0x7fffffffu, (ordered & 0x80000000u) != 0u));
}

// 2 B of the point.
fn margin(point: u32) -> f32 {
  let at = point * 4u;
  let spread = sqrt(spreads[at] + spreads[at + 1u] + spreads[at + 2u] + spreads[at + 3u]);
  let error = bitcast<f32>(atomicLoad(&unsure[${UNSURE.error}]));
  let length = bitcast<f32>(atomicLoad(&unsure[${UNSURE.length}]));
  let rounding = (f32(params.quads) * 4.0 + 32.0) * ${2 ** -24};
  return 2.0 * (spread * error * (1.0 + 4.0 * rounding) + rounding * length * (spread + error + 2.0 * length));
}

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let quads = params.quads;
  let sixteens = (quads + 3u) / 4u;
  let first = (workgroup.y * groups.x + workgroup.x) * ${POINTS}u;
  let last = params.rows - 1u;
${unroll(POINTS, (p) => `  let row${p} = (params.firstRow + min(first + ${p}u, last)) * quads;`)}
${unroll(POINTS, (p) => `  var best${p} = LOWEST; var second${p} = LOWEST; var index${p} = 0u;`)}
  for (var base = 0u; base < params.padded; base += ${BYTES.centers}u) {
${unroll(POINTS, (p) => unroll(PER_LANE, (c) => `    var s${p}_${c} = 0u;`, ' '))}
    for (var s = 0u; s < sixteens; s++) {
      let at = s * params.padded + base + local;
${unroll(PER_LANE, (c) => `      let c${c} = packed[at + ${LANES * c}u];`)}
      // Columns past the last meet zeros of the centres, whatever is read there.
${unroll(
  POINTS,
  (p) =>
    `      let x${p} = vec4u(${unroll(4, (w) => `x[row${p} + s * 4u + ${w}u]`, ', ')});
${COMPONENTS.map((l) => unroll(PER_LANE, (c) => `      s${p}_${c} += dot4U8Packed(x${p}.${l}, c${c}.${l});`, ' ')).join('\n')}`,
)}
    }
${unroll(
  PER_LANE,
  (c) => `    let number${c} = base + local + ${LANES * c}u;
    let start${c} = starts[number${c}];
${unroll(
  POINTS,
  (p) => `    {
      let score = f32(s${p}_${c}) + start${c};
      second${p} = max(second${p}, min(score, best${p}));
      index${p} = select(index${p}, number${c}, score > best${p});
      best${p} = max(best${p}, score);
    }`,
)}`,
)}
  }
  let own = params.firstRow + min(first + local / 4u, last);
  var spread = 0.0;
  for (var t = local % 4u; t < quads; t += 4u) {
    let gap = xPart(own, t, quads) - mean[t];
    spread += dot(gap, gap);
  }
  spreads[local] = spread;
#if ${subgroups}
${unroll(POINTS, (p) => `  let top${p} = subgroupMax(best${p}); if (subgroupElect()) { atomicMax(&tops[${p}], toOrdered(top${p})); }`)}
#else
${unroll(POINTS, (p) => `  atomicMax(&tops[${p}], toOrdered(best${p}));`)}
#endif
  workgroupBarrier();
${unroll(
  POINTS,
  (p) => `  {
    let lowest = fromOrdered(atomicLoad(&tops[${p}])) - margin(${p}u);
    if (best${p} >= lowest) {
      let place = atomicAdd(&pairCount, 1u);
      if (place < ${MOST_PAIRS}u) { pairs[place] = vec2u(${p}u, index${p}); } else { atomicAdd(&doubts[${p}], 1u); }
    }
    if (second${p} >= lowest) { atomicAdd(&doubts[${p}], 1u); }
  }`,
)}
  workgroupBarrier();
  let count = min(atomicLoad(&pairCount), ${MOST_PAIRS}u);
  for (var at = local; at < count; at += ${LANES}u) {
    measured[at] = distanceTo(params.firstRow + min(first + pairs[at].x, last), pairs[at].y);
  }
  workgroupBarrier();
  if (local < ${POINTS}u && first + local <= last) {
    let row = params.firstRow + first + local;
    var distance = ${FARTHEST}f;
    var index = NONE;
    for (var at = 0u; at < count; at++) {
      if (pairs[at].x == local && (measured[at] < distance || (measured[at] == distance && pairs[at].y < index))) {
        distance = measured[at];
        index = pairs[at].y;
      }
    }
    if (atomicLoad(&doubts[local]) > 0u || index == NONE) {
      let place = atomicAdd(&unsure[params.counter], 1u);
      atomicStore(&unsure[${UNSURE.rows}u + place], row);
    } else {
      keep(row, index, distance);
    }
  }
}
`

/**
 * Squared distances between rows in register tiles of products, for hardware: one multiply-add a column, where differences
 * take two operations. As accurate as by differences: |error| <= (d + 4) u D, with D the distance and u = 2^-24.
 *
 * Rows are shifted by one vector m near the mean of the centres, a = fl(x - m) and b = fl(c - m), and
 *
 *   D = A + B - 2 P,   A = |a|^2, B = |b|^2, P = a . b
 *
 * Let d be padded to q quads, so 4 q - 3 <= d, and h = ceil(q / 2) <= (q + 1) / 2. With N = A + B, |a| |b| <= N / 2 and
 * D <= 2 N, the errors are at most
 *
 *   2 P          (h + 8) u N           8 columns are added up by multiply-adds, then h such sums
 *   A, B         (h + 3) u N           a thread adds h squares in each of 4 components; 8 of these are added in pairs
 *   A + B        u N
 *   the shift    4 u N                 a and b are wrong by u |a| and u |b|: 2 sqrt(D) u (|a| + |b|) <= 4 u N
 *   the result   u D
 *
 * which is (2 h + 16) u N + u D <= (q + 17) u N + u D. This is within the bound where (q + 17) N <= 4 q D. The test is made
 * with the computed D and N, which are wrong by less than q 2^-22 N: D >= (q + 20) / (4 q) N covers that and second-order terms for
 * q <= 1024 (`MOST_QUADS`). Products that underflow are below 4 d 2^-126, which is covered where N >= 2^-80. Pairs that fail
 * the test, or whose N is out of range, are measured by differences: 8 threads each, from a list in workgroup memory. Where
 * the list is too short, the tile is marked, and another pass does it by differences (`marked`).
 *
 * Whether a pair passes depends on its two rows and on m alone, so results do not depend on how work is cut. m is rounded to
 * multiples of a power of two near the spread of the centres: small whole numbers stay small whole numbers, and their
 * distances are exact.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { PRODUCT_TILE, tileDeclarations, tileLoop } from './tile-product.ts'
import { unroll } from './unroll.ts'

const { rows: ROWS, threads: GROUP, each: EACH, side: SIDE } = PRODUCT_TILE
/** The bound is proven up to this width. */
export const MOST_QUADS = 1024
/** Pairs that a tile measures by differences. */
const MOST_PAIRS = 512
/** Threads that measure a pair. */
const LANES = 8

export const distanceDeclarations = `
${tileDeclarations}
var<workgroup> pairCount: atomic<u32>;
var<workgroup> pairs: array<u32, ${MOST_PAIRS}>;  // left row * ${ROWS} + right row, of the tile

// The share of N that a distance must have.
const TRUSTED_OFFSET = 20.0f;
const LEAST = ${2 ** -80}f;
const MOST = 1e38f;

// Shifted rows, zero past the last columns. The kernel defines leftRaw(row, t) and rightRaw(row, t).
fn leftPart(row: u32, t: u32) -> vec4f {
  let at = min(t, params.quads - 1u);
  return select(vec4f(), leftRaw(row, at) - shift[at], t < params.quads);
}
fn rightPart(row: u32, t: u32) -> vec4f {
  let at = min(t, params.quads - 1u);
  return select(vec4f(), rightRaw(row, at) - shift[at], t < params.quads);
}
`

/**
 * The whole of a tile. Needs what `tileLoop` needs, and `tile`, `lefts` and `rights`, the numbers of rows on both sides. `emit(left, right, distance)`
 * is called once for each pair unless the tile is marked.
 */
export const tileDistances = `
  var squaresLeft = vec4f();
  var squaresRight = vec4f();
${tileLoop('blocks', {
  onFetch:
    'squaresLeft = fma(nextLeft, nextLeft, squaresLeft); squaresRight = fma(nextRight, nextRight, squaresRight);',
})}
  // The two threads of a row hold the squares of every other quad.
  leftTile[0][local].x = (squaresLeft.x + squaresLeft.y) + (squaresLeft.z + squaresLeft.w);
  rightTile[0][local].x = (squaresRight.x + squaresRight.y) + (squaresRight.z + squaresRight.w);
  workgroupBarrier();
  let share = (f32(quads) + TRUSTED_OFFSET) / (4.0 * f32(quads));
${unroll(EACH, (i) => `  var unsure${i} = 0u;`)}
${unroll(EACH, (j) => `  let b${j} = rightTile[0][2u * (tx + ${SIDE * j}u)].x + rightTile[0][2u * (tx + ${SIDE * j}u) + 1u].x;`)}
${unroll(
  EACH,
  (i) => `  {
    let left = firstLeft + ty + ${SIDE * i}u;
    let a = leftTile[0][2u * (ty + ${SIDE * i}u)].x + leftTile[0][2u * (ty + ${SIDE * i}u) + 1u].x;
    if (left < lefts) {
${unroll(
  EACH,
  (j) => `      {
        let right = firstRight + tx + ${SIDE * j}u;
        let both = a + b${j};
        let distance = fma(-2.0, s${i}_${j}, both);
        let sure = distance >= share * both && both >= LEAST && both <= MOST;
        if (sure && right < rights) { emit(left, right, distance); }
        unsure${i} |= select(${2 ** j}u, 0u, sure || right >= rights);
      }`,
)}
    }
  }`,
)}
  var unsure = array<u32, 2>(${[0, 4].map((first) => unroll(4, (i) => `(unsure${first + i} << ${8 * i}u)`, ' | ')).join(', ')});
  for (var part = 0u; part < 2u; part++) {
    while (unsure[part] != 0u) {
      let bit = countTrailingZeros(unsure[part]);
      unsure[part] &= unsure[part] - 1u;
      let place = atomicAdd(&pairCount, 1u);
      let row = ty + ${SIDE}u * (part * 4u + bit / 8u);
      if (place < ${MOST_PAIRS}u) { pairs[place] = row * ${ROWS}u + tx + ${SIDE}u * (bit % 8u); }
    }
  }
  workgroupBarrier();
  let found = atomicLoad(&pairCount);
  if (local == 0u) { marks[tile] = select(0u, 1u, found > ${MOST_PAIRS}u); }
  let count = select(found, 0u, found > ${MOST_PAIRS}u);
  let lane = local % ${LANES}u;
  for (var at = local / ${LANES}u; at < count; at += ${GROUP / LANES}u) {
    let left = firstLeft + pairs[at] / ${ROWS}u;
    let right = firstRight + pairs[at] % ${ROWS}u;
    var sum = 0.0;
    for (var t = lane; t < quads; t += ${LANES}u) {
      let gap = leftRaw(leftRow(left), t) - rightRaw(rightRow(right), t);
      sum += dot(gap, gap);
    }
    if (lane < 4u) {
      leftTile[at / ${GROUP}u][at % ${GROUP}u][lane] = sum;
    } else {
      rightTile[at / ${GROUP}u][at % ${GROUP}u][lane - 4u] = sum;
    }
  }
  workgroupBarrier();
  for (var at = local; at < count; at += ${GROUP}u) {
    let halves = leftTile[at / ${GROUP}u][local] + rightTile[at / ${GROUP}u][local];
    let distance = (halves.x + halves.y) + (halves.z + halves.w);
    emit(firstLeft + pairs[at] / ${ROWS}u, firstRight + pairs[at] % ${ROWS}u, distance);
  }
`

/** Centres that the shift is taken from. */
const SAMPLED = 64
/** Quads that the workgroup of the shift takes at a time; the samples of each are divided among threads. */
const WIDTH = 32
const PARTS = GROUP / WIDTH

/** m of a set of centres, in one workgroup. */
export const tileShiftBody = (): string => wgsl`

const EXPONENT = 0x7f800000u;

var<workgroup> sums: array<vec4f, ${GROUP}>;   // [part][quad]
var<workgroup> squares: array<f32, ${GROUP}>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
  let quads = params.quads;
  let step = (params.count + ${SAMPLED - 1}u) / ${SAMPLED}u;
  let count = (params.count + step - 1u) / step;
  let part = local / ${WIDTH}u;
  // Gaps to the first centre, so that centres far from zero keep their digits.
  var square = 0.0;
  for (var base = 0u; base < quads; base += ${WIDTH}u) {
    let t = base + local % ${WIDTH}u;
    let inside = t < quads;
    let first = centers[min(t, quads - 1u)];
    var sum = vec4f();
    for (var sample = part; sample < count; sample += ${PARTS}u) {
      let gap = select(vec4f(), centers[sample * step * quads + min(t, quads - 1u)] - first, inside);
      sum += gap;
      square += dot(gap, gap);
    }
    sums[local] = sum;
    workgroupBarrier();
    if (part == 0u && inside) {
      for (var other = 1u; other < ${PARTS}u; other++) { sum += sums[other * ${WIDTH}u + local]; }
      let mean = sum / f32(count);
      square -= f32(count) * dot(mean, mean);
      shift[t] = first + mean;
    }
    workgroupBarrier();
  }
  squares[local] = square;
  workgroupBarrier();
  var total = 0.0;
  for (var other = 0u; other < ${GROUP}u; other++) { total += squares[other]; }
  // The power of two at or below the standard deviation of a column, and one over it.
  let power = bitcast<u32>(sqrt(max(total, 0.0) / f32(count * quads * 4u))) & EXPONENT;
  let usable = power > 0x01000000u && power < 0x7e000000u;
  let grid = bitcast<f32>(power);
  let inverse = bitcast<f32>(0x7f000000u - power);
  if (part == 0u) {
    for (var t = local; t < quads; t += ${WIDTH}u) {
      shift[t] = select(centers[t], round(shift[t] * inverse) * grid, usable);
    }
  }
}
`

/**
 * Greedy k-means++ in four shaders. Points are taken in blocks of 64: the chance of a block is the sum of the chances of its
 * points, weight * squared distance to the nearest centre.
 *
 * - choose: one workgroup. Keeps the candidate that leaves the lowest potential, and draws the blocks of the next candidates.
 * - draw: one workgroup for each candidate. Draws a point of the block and copies its row.
 * - measure: one thread for each point. Distances to the candidates.
 * - sum: one thread for each block and candidate. The potential the candidate would leave.
 *
 * The state is one list of words, see `STATE`.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import type { RowType } from '../src/kernels/rows.ts'
import { ROUNDING } from './rows.ts'
import { FAR, groupNumber, NONE, threadBuiltins, threadNumber } from './snippets.ts'

export const PLUS_BLOCK = 64
/** Candidates for one centre. */
export const MOST_TRIALS = 16

/** Layout of the state, in words. Each list has `MOST_TRIALS` entries. */
export const STATE = {
  /** The candidate that became the last centre; NONE before the first. */
  best: 0,
  /** Centres chosen so far. Only on the CPU. */
  slot: 1,
  /** Row numbers of the candidates; NONE where there is none. */
  candidates: 4,
  /** The block each of them is drawn from, and how much of its chance is to be skipped (as a float). */
  blocks: 20,
  skips: 36,
  /** Squared lengths of sparse candidates: floats on a GPU, doubles on the CPU. */
  squares: 52,
  words: 84,
} as const

const constants = wgsl`
${NONE}
${FAR}
`

export const choosePlusBody = (): string => wgsl`
${constants}

// Larger arrays take software adapters long to compile.
var<workgroup> sums: array<f32, ${PLUS_BLOCK}>;
var<workgroup> lowest: f32;
var<workgroup> best: u32;

// The potential of the candidate, in as many spans of blocks as there are threads.
fn sumSpan(t: u32, local: u32, span: u32) {
  var sum = 0.0;
  for (var block = local * span; block < min((local + 1u) * span, params.blocks); block++) {
    sum += potentials[t * params.blocks + block];
  }
  sums[local] = sum;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
  let span = (params.blocks + ${PLUS_BLOCK - 1}u) / ${PLUS_BLOCK}u;
  for (var t = 0u; t < params.considered; t++) {
    sumSpan(t, local, span);
    workgroupBarrier();
    if (local == 0u) {
      var total = 0.0;
      for (var i = 0u; i < ${PLUS_BLOCK}u; i++) { total += sums[i]; }
      if (t == 0u || total < lowest) {
        lowest = total;
        best = t;
      }
    }
    workgroupBarrier();
  }
  sumSpan(best, local, span);
  if (local == 0u) {
    if (params.step == 0u) {
      state[${STATE.best}] = NONE;
    } else {
      state[${STATE.best}] = best;
      chosen[params.step - 1u] = state[${STATE.candidates}u + best];
    }
  }
  workgroupBarrier();
  storageBarrier();
  if (local >= params.trials) { return; }
  // Rounding can leave a rest at the end, of the spans or of the blocks: the last one with a chance takes it.
  var rest = uniforms[params.step * params.trials + local] * lowest;
  var place = NONE;
  var skip = FAR;
  for (var i = 0u; i < ${PLUS_BLOCK}u; i++) {
    let sum = sums[i];
    if (!(sum > 0.0)) { continue; }
    place = i;
    if (rest < sum) { skip = rest; break; }
    rest -= sum;
  }
  var found = NONE;
  var left = FAR;
  if (place != NONE) {
    rest = skip;
    for (var block = place * span; block < min((place + 1u) * span, params.blocks); block++) {
      let sum = potentials[best * params.blocks + block];
      if (!(sum > 0.0)) { continue; }
      found = block;
      if (rest < sum) { left = rest; break; }
      rest -= sum;
    }
  }
  state[${STATE.candidates}u + local] = NONE;
  state[${STATE.blocks}u + local] = found;
  state[${STATE.skips}u + local] = bitcast<u32>(left);
}
`

export const drawPlusBody = (type: RowType): string => wgsl`
${constants}
${groupNumber}

var<workgroup> chances: array<f32, ${PLUS_BLOCK}>;
var<workgroup> found: u32;

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let t = groupNumber(workgroup, groups);
  if (t >= params.trials) { return; }
  let block = state[${STATE.blocks}u + t];
  let inside = block >= params.firstBlock && block - params.firstBlock < params.blocks;
  let row = (block - params.firstBlock) * ${PLUS_BLOCK}u + local;
  var chance = 0.0;
  if (inside && row < params.rows) {
    chance = nearest[row];
    let best = state[${STATE.best}];
    if (best != NONE) { chance = min(chance, trial[best * params.rows + row]); }
    if (params.hasWeights == 1u) { chance *= weights[row]; }
  }
  chances[local] = chance;
#if ${type === 'csr'}
  if (inside) {
    for (var column = local; column < params.quads * 4u; column += ${PLUS_BLOCK}u) {
      candidates[t * params.quads * 4u + column] = 0.0;
    }
  }
#endif
  workgroupBarrier();
  if (local == 0u) {
    found = NONE;
    if (inside) {
      var rest = bitcast<f32>(state[${STATE.skips}u + t]);
      for (var i = 0u; i < ${PLUS_BLOCK}u; i++) {
        if (!(chances[i] > 0.0)) { continue; }
        found = row + i;
        if (rest < chances[i]) { break; }
        rest -= chances[i];
      }
      if (found != NONE) { state[${STATE.candidates}u + t] = params.firstRow + found; }
    }
  }
  workgroupBarrier();
  storageBarrier();
  if (found == NONE) { return; }
#if ${type === 'csr'}
  for (var entry = offsets[found] + local; entry < offsets[found + 1u]; entry += ${PLUS_BLOCK}u) {
    candidates[t * params.quads * 4u + offsets[params.columnsAt + entry]] = x[entry];
  }
  if (local == 0u) {
    var square = 0.0;
    for (var entry = offsets[found]; entry < offsets[found + 1u]; entry++) { square += x[entry] * x[entry]; }
    state[${STATE.squares}u + t] = bitcast<u32>(square);
  }
#else
  for (var quad = local; quad < params.quads; quad += ${PLUS_BLOCK}u) {
    candidates[t * params.quads + quad] = xPart(found, quad, params.quads);
  }
#endif
}
`

export const measurePlusBody = (type: RowType): string => wgsl`
#if ${type === 'csr'}
${ROUNDING}
#endif
${constants}
${threadNumber}

// Squared distances to four candidates; where all of them exceed the bound, something above it.
fn distances(row: u32, first: u32, bound: f32) -> vec4f {
#if ${type === 'csr'}
  let stride = params.quads * 4u;
  var apart = vec4f();
  var inside = vec4f();
  for (var entry = offsets[row]; entry < offsets[row + 1u]; entry++) {
    let at = first * stride + offsets[params.columnsAt + entry];
    let other = vec4f(candidates[at], candidates[at + stride], candidates[at + 2u * stride], candidates[at + 3u * stride]);
    let gap = x[entry] - other;
    apart += gap * gap;
    inside += other * other;
  }
  var square = vec4f();
  for (var lane = 0u; lane < 4u; lane++) { square[lane] = bitcast<f32>(state[${STATE.squares}u + first + lane]); }
  let elsewhere = square - inside;
  return apart + select(vec4f(), elsewhere, elsewhere > square * ROUNDING);
#else
  let quads = params.quads;
  let a = first * quads;
  let b = a + quads;
  let c = b + quads;
  let d = c + quads;
  var sums = vec4f();
  for (var begin = 0u; begin < quads; begin += 8u) {
    for (var t = begin; t < min(begin + 8u, quads); t++) {
      let x = xPart(row, t, quads);
      let ga = x - candidates[a + t];
      let gb = x - candidates[b + t];
      let gc = x - candidates[c + t];
      let gd = x - candidates[d + t];
      sums += vec4f(dot(ga, ga), dot(gb, gb), dot(gc, gc), dot(gd, gd));
    }
    if (all(sums >= vec4f(bound))) { break; }
  }
  return sums;
#endif
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.count) { return; }
  let row = params.first + number;
  let rows = params.rows;
  var near = nearest[row];
  let best = state[${STATE.best}];
  if (best != NONE) {
    near = min(near, trial[best * rows + row]);
    nearest[row] = near;
  }
  for (var first = 0u; first < params.trials; first += 4u) {
    let found = distances(row, first, near);
    for (var lane = 0u; lane < min(4u, params.trials - first); lane++) {
      let t = first + lane;
      trial[t * rows + row] = select(found[lane], FAR, state[${STATE.candidates}u + t] == NONE);
    }
  }
}
`

/** Without candidates (`trials` 0) it gives the potential as it is. */
export const sumPlusBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let t = number / params.blocks;
  let block = number % params.blocks;
  if (t >= max(1u, params.trials)) { return; }
  var sum = 0.0;
  for (var row = block * ${PLUS_BLOCK}u; row < min((block + 1u) * ${PLUS_BLOCK}u, params.rows); row++) {
    var value = nearest[row];
    if (params.trials > 0u) { value = min(value, trial[t * params.rows + row]); }
    if (params.hasWeights == 1u) { value *= weights[row]; }
    sum += value;
  }
  potentials[t * params.allBlocks + params.firstBlock + block] = sum;
}
`

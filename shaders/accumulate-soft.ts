/**
 * Sums by component over pairs of a point and a component, sorted by component, as in wasm/accumulate-soft.ts. One thread for
 * each component (or piece of one) and 4 columns computes the sum of share * difference, and its columns' part of the totals:
 * (inner squares, outer squares, inner total, outer total); only the first columns count the shares. These parts are stored
 * after the partial sums until softTotals adds them up.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { SUM_PIECE } from './accumulate.ts'
import { threadBuiltins, threadNumber } from './snippets.ts'

const sumPairs = wgsl`
${threadNumber}

struct Sums { columns: vec4f, totals: vec4f }

fn sumPairs(component: u32, begin: u32, end: u32, t: u32) -> Sums {
  var sums: Sums;
  let center = centers[component * params.quads + t];
  for (var at = begin; at < end; at++) {
    let pair = order[at];
    let share = shares[pair];
    if (share == 0.0) { continue; }
    let row = pair / params.m;
    let gap = xPart(row, t, params.quads) - center;
    let square = share * dot(gap, gap);
    let first = select(0.0, share, t == 0u);
    sums.columns += share * gap;
    if (labels[row] == component) {
      sums.totals += vec4f(square, 0.0, first, 0.0);
    } else {
      sums.totals += vec4f(0.0, square, 0.0, first);
    }
  }
  return sums;
}
`

export const softPiecesBody = (): string => wgsl`
${sumPairs}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let piece = number / params.quads;
  let k = params.k;
  let pieces = params.piecesAt;
  if (piece >= tables[pieces + k]) { return; }
  // The component is the last one whose pieces start at or before this one.
  var low = 0u;
  var high = k;
  while (high - low > 1u) {
    let middle = (low + high) / 2u;
    if (tables[pieces + middle] <= piece) { low = middle; } else { high = middle; }
  }
  let begin = tables[low] + (piece - tables[pieces + low]) * ${SUM_PIECE}u;
  let sums = sumPairs(low, begin, min(begin + ${SUM_PIECE}u, tables[low + 1u]), number % params.quads);
  partials[number * 2u] = sums.columns;
  partials[number * 2u + 1u] = sums.totals;
}
`

/** `totalsAt`: where the parts of totals begin after the partial sums. With `add`, on top of what is there. */
export const softClustersBody = (): string => wgsl`
${sumPairs}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  let quads = params.quads;
  let here = number / quads;
  let t = number % quads;
  if (here >= params.components) { return; }
  let component = params.first + here;
  let begin = tables[component];
  let end = tables[component + 1u];
  var sums: Sums;
  if (end - begin <= ${SUM_PIECE}u) {
    sums = sumPairs(component, begin, end, t);
  } else {
    for (var piece = tables[params.piecesAt + component]; piece < tables[params.piecesAt + component + 1u]; piece++) {
      let at = (piece * quads + t) * 2u;
      sums.columns += partials[at];
      sums.totals += partials[at + 1u];
    }
  }
  partials[params.totalsAt + number] = sums.totals;
  let at = here * (quads + 1u) + t;
  if (params.add == 1u) { sums.columns += out[at]; }
  out[at] = sums.columns;
}
`

/** One thread for each component. */
export const softTotalsBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let here = threadNumber(workgroup, groups, local);
  if (here >= params.components) { return; }
  let quads = params.quads;
  let at = here * (quads + 1u) + quads;
  var totals = vec4f();
  for (var t = 0u; t < quads; t++) { totals += parts[here * quads + t]; }
  if (params.add == 1u) { totals += out[at]; }
  out[at] = totals;
}
`

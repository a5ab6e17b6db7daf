/**
 * Which components of a spherical Gaussian mixture answer for a point, best first: ranked by
 * scale.x - |x - mean|^2 * scale.y, the logarithm of weight times density but for what all have in
 * common. One thread a point, its list in private memory of `capacity` places, or in the result (`IN_PLACE`).
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { LOWEST, NONE, threadBuiltins, threadNumber } from './snippets.ts'

/** Instead of a capacity: the list lies in the result, where it needs no private memory and may be of any length. */
export const IN_PLACE = 0

/** With IN_PLACE the kernel sets listBase to the first place of the row in the result. */
const list = (capacity: number): string => {
  const log = (place: string): string => (capacity === IN_PLACE ? `logs[listBase + ${place}]` : `listLog[${place}]`)
  const component = (place: string): string =>
    capacity === IN_PLACE ? `best[listBase + ${place}]` : `listComponent[${place}]`
  return wgsl`
${NONE}
${LOWEST}

#if ${capacity !== IN_PLACE}
var<private> listLog: array<f32, ${capacity}>;
var<private> listComponent: array<u32, ${capacity}>;
#endif
var<private> listBase: u32;
var<private> held: u32;

fn heldComponent(place: u32) -> u32 { return ${component('place')}; }

fn insert(rank: f32, component: u32) {
  var place = held;
  if (held == params.m) {
    let lowest = ${log('held - 1u')};
    if (rank < lowest || (rank == lowest && component > ${component('held - 1u')})) { return; }
    place--;
  } else {
    held++;
  }
  while (place > 0u) {
    let other = ${log('place - 1u')};
    if (other > rank || (other == rank && ${component('place - 1u')} < component)) { break; }
    ${log('place')} = other;
    ${component('place')} = ${component('place - 1u')};
    place--;
  }
  ${log('place')} = rank;
  ${component('place')} = component;
}

fn writeList(base: u32) {
#if ${capacity === IN_PLACE}
  for (var place = held; place < params.m; place++) {
    best[base + place] = NONE;
    logs[base + place] = LOWEST;
  }
#else
  for (var place = 0u; place < params.m; place++) {
    best[base + place] = select(NONE, listComponent[place], place < held);
    logs[base + place] = select(LOWEST, listLog[place], place < held);
  }
#endif
}
`
}

/** The list of a point and the evidence of what was put into it, on top of an earlier list with `merge`. */
export const answerList = (capacity: number): string => wgsl`
${list(capacity)}

var<private> top: f32;  // largest rank so far
var<private> sum: f32;  // of exp(rank - top)

fn beginList(row: u32, merge: bool) {
  listBase = row * params.m;
  held = 0u;
  top = LOWEST;
  sum = 0.0;
  if (!merge) { return; }
  for (var place = 0u; place < params.m; place++) {
    let component = best[listBase + place];
    if (component == NONE) { break; }
    insert(logs[listBase + place], component);
  }
  top = evidence[row];
  sum = 1.0;
}

fn answer(rank: f32, component: u32) {
  insert(rank, component);
  if (rank > top) {
    sum = sum * exp(max(top - rank, -80.0)) + 1.0;
    top = rank;
  } else {
    sum += exp(max(rank - top, -80.0));
  }
}
`

/** The best of those a point had, under their new numbers, and of those just found, with their distances. */
export const respondListsBody = ({ capacity }: { readonly capacity: number }): string => wgsl`
${threadNumber}
${list(capacity)}

fn holds(component: u32) -> bool {
  for (var place = 0u; place < held; place++) {
    if (heldComponent(place) == component) { return true; }
  }
  return false;
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  let quads = params.quads;
  let base = row * params.m;
  listBase = base;
  held = 0u;
  // In place: no more are held than were read, so what is still to be read is not overwritten.
  for (var place = 0u; place < params.m; place++) {
    let before = best[base + place];
    if (before == NONE) { continue; }
    let component = renamed[before];
    if (component == NONE) { continue; }
    var distance = 0.0;
    for (var t = 0u; t < quads; t++) {
      let gap = xPart(row, t, quads) - centers[component * quads + t];
      distance += dot(gap, gap);
    }
    insert(scales[component].x - distance * scales[component].y, component);
  }
  for (var place = 0u; place < params.width; place++) {
    let component = found[row * params.width + place];
    if (component == NONE || holds(component)) { continue; }
    let distance = foundDistances[row * params.width + place];
    insert(scales[component].x - distance * scales[component].y, component);
  }
  writeList(base);
}
`

/** centers: [components of this pass][quads], scales: of all components. The m best of all components, and the log of the sum over all of them. With `merge` on top of what is there. For components `first` to `first + count`. */
export const respondAllBody = ({ capacity }: { readonly capacity: number }): string => wgsl`
${threadNumber}
${answerList(capacity)}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let number = threadNumber(workgroup, groups, local);
  if (number >= params.rows) { return; }
  let row = params.firstRow + number;
  let quads = params.quads;
  let base = row * params.m;
  beginList(row, params.merge == 1u);
  for (var j = 0u; j < params.count; j++) {
    var distance = 0.0;
    for (var t = 0u; t < quads; t++) {
      let gap = xPart(row, t, quads) - centers[j * quads + t];
      distance += dot(gap, gap);
    }
    let scale = scales[params.first + j];
    answer(scale.x - distance * scale.y, params.first + j);
  }
  writeList(base);
  evidence[row] = top + log(sum);
}
`

/**
 * Bounded heaps in a storage buffer, one per thread, for kernels that keep a list per row. A private array with a
 * run-time index becomes hundreds of registers or slow per-thread memory on hardware; these heaps use neither,
 * and their length is a parameter, so one shader serves all lengths.
 *
 * heaps: vec2u [place][thread] = bits of a float key, number. Neighbouring threads access neighbouring words when
 * they access the same place. A kernel that uses them declares HEAP_FIELDS (src/kernels/row-heaps.ts), has a thread for each
 * of `params.rows`, and sets `heapThread` to the number of its thread.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { LOWEST, NONE } from './snippets.ts'

/** `heapEntry(place)` and `setHeapEntry(place, entry)` for the heap of this thread. */
export const heapAccess = wgsl`
struct HeapEntry { key: f32, number: u32 }

var<private> heapThread: u32;

fn heapEntry(place: u32) -> HeapEntry {
  let words = heaps[place * params.rows + heapThread];
  return HeapEntry(bitcast<f32>(words.x), words.y);
}

fn setHeapEntry(place: u32, entry: HeapEntry) {
  heaps[place * params.rows + heapThread] = vec2u(bitcast<u32>(entry.key), entry.number);
}
`

/**
 * The params.m entries with the highest keys, the worst of them at the root; of equal keys the lowest numbers are
 * kept. Call `clearBest` first, then `offerBest` for every candidate, then `sortBest`: best first, absent entries last.
 * A candidate costs one comparison, and log m steps if it is kept.
 */
export const bestHeap = wgsl`
${LOWEST}
${NONE}

/** The entry at the root: what a candidate has to beat. */
var<private> worstBest: HeapEntry;

fn isWorse(a: HeapEntry, b: HeapEntry) -> bool {
  return a.key < b.key || (a.key == b.key && a.number > b.number);
}

/** Puts an entry in place of the root of the first \`size\` entries, and returns the new root. */
fn replaceRoot(entry: HeapEntry, size: u32) -> HeapEntry {
  var at = 0u;
  var root = entry;
  loop {
    var child = 2u * at + 1u;
    if (child >= size) { break; }
    var worst = heapEntry(child);
    if (child + 1u < size) {
      let other = heapEntry(child + 1u);
      if (isWorse(other, worst)) {
        worst = other;
        child++;
      }
    }
    if (!isWorse(worst, entry)) { break; }
    if (at == 0u) { root = worst; }
    setHeapEntry(at, worst);
    at = child;
  }
  setHeapEntry(at, entry);
  return root;
}

fn clearBest() {
  worstBest = HeapEntry(LOWEST, NONE);
  for (var place = 0u; place < params.m; place++) { setHeapEntry(place, worstBest); }
}

/** Candidates come in rising order of number, so an equal key never replaces one that is held. */
fn offerBest(key: f32, number: u32) {
  if (key > worstBest.key) { worstBest = replaceRoot(HeapEntry(key, number), params.m); }
}

fn sortBest() {
  for (var last = params.m - 1u; last > 0u; last--) {
    let entry = heapEntry(last);
    setHeapEntry(last, heapEntry(0u));
    replaceRoot(entry, last);
  }
}
`

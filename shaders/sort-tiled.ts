/**
 * The radix sort of sort.ts for GPUs, three dispatches for 8 bits: one workgroup of 256 threads per tile of 4,096
 * keys counts digits in workgroup memory (`countTiles`), a prefix sum turns the counts of all tiles into
 * places, and the tiles write their keys there (`scatterTiles`), 256 at a time. The place of a key among the equal digits
 * of these 256 is the number of bits before its own in a mask for each digit, so the order of equal keys is kept. Its runs
 * are tiles here.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins } from './snippets.ts'
import { DIGITS, sortKey } from './sort.ts'

export const SORT_THREADS = 256
/** Keys of a workgroup. */
export const SORT_TILE = 16 * SORT_THREADS
const WORDS = SORT_THREADS / 32

export const countTiles = (first: boolean): string => wgsl`
${sortKey(first)}

var<workgroup> histogram: array<atomic<u32>, ${DIGITS}>;

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let tile = workgroup.y * groups.x + workgroup.x;
  if (tile >= params.runs) { return; }
  atomicStore(&histogram[local], 0u);
  workgroupBarrier();
  let end = min((tile + 1u) * ${SORT_TILE}u, params.n);
  for (var i = tile * ${SORT_TILE}u + local; i < end; i += ${SORT_THREADS}u) {
    atomicAdd(&histogram[digitOf(keyAt(i))], 1u);
  }
  workgroupBarrier();
  counts[local * params.runs + tile] = atomicLoad(&histogram[local]);
}
`

export const scatterTiles = (first: boolean): string => wgsl`
${sortKey(first)}

var<workgroup> places: array<u32, ${DIGITS}>;  // where the next key of each digit goes
var<workgroup> masks: array<array<atomic<u32>, ${WORDS}>, ${DIGITS}>;  // threads that have a key of each digit

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let tile = workgroup.y * groups.x + workgroup.x;
  if (tile >= params.runs) { return; }
  places[local] = counts[local * params.runs + tile];
  let word = (local / 32u) % ${WORDS}u;
  let bit = 1u << (local % 32u);
  let end = min((tile + 1u) * ${SORT_TILE}u, params.n);
  for (var begin = tile * ${SORT_TILE}u; begin < end; begin += ${SORT_THREADS}u) {
    for (var i = 0u; i < ${WORDS}u; i++) { atomicStore(&masks[local][i], 0u); }
    workgroupBarrier();
    let at = begin + local;
    var key = 0u;
    var digit = 0u;
    if (at < end) {
      key = keyAt(at);
      digit = digitOf(key);
      atomicOr(&masks[digit][word], bit);
    }
    workgroupBarrier();
    if (at < end) {
      var rank = countOneBits(atomicLoad(&masks[digit][word]) & (bit - 1u));
      for (var i = 0u; i < word; i++) { rank += countOneBits(atomicLoad(&masks[digit][i])); }
      let to = places[digit] + rank;
      sortedKeys[to] = key;
#if ${first}
      sortedValues[to] = params.firstPoint + at;
#else
      sortedValues[to] = values[at];
#endif
    }
    workgroupBarrier();
    for (var i = 0u; i < ${WORDS}u; i++) { places[local] += countOneBits(atomicLoad(&masks[local][i])); }
  }
}
`

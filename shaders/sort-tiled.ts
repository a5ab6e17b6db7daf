/**
 * The stable radix sort of accumulate for GPUs, three dispatches for 8 bits: one workgroup of 256 threads per tile of 4,096
 * keys counts digits in workgroup memory (`countTiles`), one workgroup turns the counts of all tiles into places
 * (`scanWhole`), and the tiles write their keys there (`scatterTiles`), 256 at a time. The place of a key among the equal digits
 * of these 256 is the number of bits before its own in a mask for each digit, so the order of equal keys is kept. The runs of
 * `SORT_PARAMS` are tiles here.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { declareShader } from '../src/device/declared-shader.ts'
import { writes } from '../src/device/fields.ts'
import { shaderForms } from '../src/device/shader-forms.ts'
import { COUNT_BUFFERS, DIGITS, SORT_PARAMS, scatterBuffers, sortKey } from './accumulate.ts'

const SORT_THREADS = 256
/** Keys of a workgroup. */
export const SORT_TILE = 16 * SORT_THREADS
const WORDS = SORT_THREADS / 32
/** Values that a thread of `scanWhole` adds up at a time. */
const SCAN_VALUES = 8

const builtins = wgsl`
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
`

/** `first`: keys are labels, from that of `firstPoint` on, and values are the numbers of the points. */
export const countTiles = shaderForms([[true], [false]], (first: boolean) =>
  declareShader({
    name: `sort-count-tiles-${first}`,
    params: SORT_PARAMS,
    buffers: COUNT_BUFFERS,
    workgroup: SORT_THREADS,
    body: () => wgsl`
${sortKey(first)}

var<workgroup> histogram: array<atomic<u32>, ${DIGITS}>;

@compute @workgroup_size(WORKGROUP)
fn main(${builtins}) {
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
`,
  }),
)

export const scatterTiles = shaderForms([[true], [false]], (first: boolean) =>
  declareShader({
    name: `sort-scatter-tiles-${first}`,
    params: SORT_PARAMS,
    buffers: scatterBuffers(first),
    workgroup: SORT_THREADS,
    body: () => wgsl`
${sortKey(first)}

var<workgroup> places: array<u32, ${DIGITS}>;  // where the next key of each digit goes
var<workgroup> masks: array<array<atomic<u32>, ${WORDS}>, ${DIGITS}>;  // threads that have a key of each digit

@compute @workgroup_size(WORKGROUP)
fn main(${builtins}) {
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
`,
  }),
)

/** Exclusive prefix sums in place by one workgroup, for up to some hundred thousand values. */
export const scanWhole = declareShader({
  name: 'scan-whole',
  params: { count: 'u32' },
  buffers: { values: writes('u32') },
  workgroup: SORT_THREADS,
  body: () => wgsl`
var<workgroup> sums: array<u32, ${SORT_THREADS}>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
  var before = 0u;
  for (var begin = 0u; begin < params.count; begin += ${SORT_THREADS * SCAN_VALUES}u) {
    let first = begin + local * ${SCAN_VALUES}u;
    var own = array<u32, ${SCAN_VALUES}>();
    var total = 0u;
    for (var i = 0u; i < ${SCAN_VALUES}u; i++) {
      if (first + i < params.count) { own[i] = values[first + i]; }
      total += own[i];
    }
    sums[local] = total;
    workgroupBarrier();
    for (var step = 1u; step < ${SORT_THREADS}u; step *= 2u) {
      var sum = sums[local];
      if (local >= step) { sum += sums[local - step]; }
      workgroupBarrier();
      sums[local] = sum;
      workgroupBarrier();
    }
    var next = before + sums[local] - total;
    before += sums[${SORT_THREADS - 1}];
    for (var i = 0u; i < ${SCAN_VALUES}u; i++) {
      if (first + i < params.count) { values[first + i] = next; }
      next += own[i];
    }
    workgroupBarrier();
  }
}
`,
})

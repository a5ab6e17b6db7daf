/**
 * What the host reads of a round: for every block of items the sum of values (times weights) and
 * the number of places where two lists differ, or where one is zero. One thread a block; the first begins
 * at place `first` of the lists.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { declareShader } from '../src/device/declared-shader.ts'
import { mayRead, reads, writes } from '../src/device/fields.ts'
import { THREADS, threadBuiltins, threadNumber } from './pieces.ts'

export const TALLY_BLOCK = 256

/** Both devices take the same. Without `right` the zeros of `left` are counted. */
export const TALLY_FIELDS = {
  params: { first: 'u32', count: 'u32' },
  buffers: {
    values: reads('f32'),
    weights: mayRead('f32'),
    left: reads('u32'),
    right: mayRead('u32'),
    sums: writes('f32'),
    differences: writes('u32'),
  },
} as const

export const tallyShader = declareShader({
  name: 'tally',
  ...TALLY_FIELDS,
  workgroup: THREADS,
  body: () => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let block = threadNumber(workgroup, groups, local);
  let begin = block * ${TALLY_BLOCK}u;
  if (begin >= params.count) { return; }
  var sum = 0.0;
  var different = 0u;
  let end = params.first + min(begin + ${TALLY_BLOCK}u, params.count);
  for (var i = params.first + begin; i < end; i++) {
    var value = values[i];
    if (params.hasWeights == 1u) { value *= weights[i]; }
    sum += value;
    if (params.hasRight == 0u) {
      different += u32(left[i] == 0u);
    } else {
      different += u32(left[i] != right[i]);
    }
  }
  sums[block] = sum;
  differences[block] = different;
}
`,
})

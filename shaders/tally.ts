/**
 * What the host reads of a round: for every block of items the sum of values (times weights) and
 * the number of places where two lists differ, or where one is zero. One thread a block; the first begins
 * at place `first` of the lists.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

export const tallyBody = (): string => wgsl`
${threadNumber}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let block = threadNumber(workgroup, groups, local);
  let begin = block * TALLY_BLOCK;
  if (begin >= params.count) { return; }
  var sum = 0.0;
  var different = 0u;
  let end = params.first + min(begin + TALLY_BLOCK, params.count);
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
`

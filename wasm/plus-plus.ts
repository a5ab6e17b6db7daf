/**
 * Greedy k-means++: see src/kernels/plus-plus.ts. Points are taken in blocks of PLUS_BLOCK, whose chances are sums
 * of weight * squared distance to the nearest centre.
 *
 * Most candidates are farther from a point than its nearest centre, and then their distance does not matter. Scores
 * x . c - |c|^2 / 2, which take half as many operations as differences, show that; only where they leave a doubt is the
 * distance taken by differences. So rounding of scores never shows in the result.
 *
 * Of dense rows most need no score either: a point is not nearer to a candidate than to its centre if the two are at least
 * twice as far from each other as the point is from its centre (Elkan 2003; Raff 2021 for k-means++). Each point has the slot
 * of its nearest centre: 0 for the centres there were before, of which nothing is known, then 1, 2, ... in the order of
 * choice. On separated data almost all points are passed over, and a step costs a comparison for each of them.
 *
 * Candidates are kept twice: in full, and packed for scores in panels of 8 and, for the last four or fewer, 4. A panel has its
 * starting values, then [column][lane].
 */
import { PLUS_BEGIN, PLUS_BLOCK, PLUS_CHOOSE, PLUS_DRAW, PLUS_MEASURE, PlusPlusArgs } from './build/assembly/arguments'
import { choose, draw } from './plus-plus-draw'
import { begin, measure } from './plus-plus-measure'

export function plusPlus(start: u32, end: u32, scratch: usize, args: PlusPlusArgs): void {
  const phase = args.phase
  if (phase === PLUS_BEGIN) begin(start, end, args)
  else if (phase === PLUS_CHOOSE) choose(args, args.step)
  else if (phase === PLUS_DRAW) draw(start, end, args)
  else if (phase === PLUS_MEASURE) measure(start, end, scratch, args)
  else steps(scratch, args)
}

/** All that the host would ask for job by job. Where steps are small, threads would take longer to meet than to work. */
function steps(scratch: usize, args: PlusPlusArgs): void {
  const blocks = (args.rows + PLUS_BLOCK - 1) / PLUS_BLOCK
  const to = args.to
  if (args.step === 0) begin(0, blocks, args)
  for (let step = args.step; step < to; step++) {
    choose(args, step)
    draw(0, args.trials, args)
    measure(0, blocks, scratch, args)
  }
  choose(args, to)
}

/** k-means within canopies: points look only at centres of the overlapping subsets they belong to. */
import { canopyCandidates } from '../candidates/canopies.ts'
import type { Method } from '../run-state.ts'
import { meanUpdate } from '../updates/mean.ts'

export const canopy: Method = {
  summary: 'a point looks at the centres of its canopies, subsets that cover the data and overlap',
  options: [
    {
      name: 'canopyRadius',
      kind: 'real',
      most: 1_000_000,
      fallback: 0.7,
      help: 'vectors nearer to the middle of a canopy than this share of the mean distance open none of their own',
    },
  ],
  candidates: canopyCandidates,
  update: meanUpdate,
}

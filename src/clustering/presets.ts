/** A method is a row: where candidates come from, and what is done with them. */
import { allCandidates } from './candidates/all.ts'
import type { Method } from './run-state.ts'
import { meanUpdate } from './updates/mean.ts'

export type MethodName = 'lloyd'

export const METHODS: Readonly<Record<MethodName, Method>> = {
  lloyd: {
    summary: 'exact k-means: every point looks at every centre',
    options: [],
    candidates: allCandidates,
    update: meanUpdate,
  },
}

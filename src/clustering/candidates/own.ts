/**
 * Every point stays with the label it starts with, for methods whose start is their result. A start
 * that gave centres instead of labels is labelled by looking at all of them, once.
 */
import { assignLists } from '../../kernels/assign-lists.ts'
import type { CandidateSource } from '../run-state.ts'
import { allCandidates } from './all.ts'

export function ownCandidates(): CandidateSource {
  const all = allCandidates()
  return {
    async assign(state, part, vectors, round) {
      if (!state.labelled) return all.assign(state, part, vectors, round)
      const { labels, distances, previous } = part
      const { device, centers } = state
      await assignLists(device, { points: vectors, centers, lists: previous, width: 1, labels, distances })
      return part.count
    },
  }
}

/** Centre = mean of its points (Lloyd); of unit vectors, the mean brought back to length one. */
import { BufferScope } from '../../device/contract.ts'
import { updateFromLabels } from '../members.ts'
import { changedState, type RunState, type Update } from '../run-state.ts'
import { clusterSums } from './sums.ts'

export function meanUpdate(state: RunState, weighted = true): Update {
  const sums = clusterSums(state, weighted)
  return {
    reset: () => sums.reset(),
    addPart: (_state, part, vectors) => sums.take(part, vectors),
    partial: () => sums.partial(),
    absorb: (_state, merged) => sums.absorb(merged),
    finish: () => sums.finish(),
    rehearse: (_state, rehearsal, part, vectors) => sums.rehearse(rehearsal, part, vectors),
  }
}

/** Centres on all devices become the means of the points as they are labelled now. Without `weighted` all count alike. */
export async function meansFromLabels({ team }: RunState, weighted = true): Promise<void> {
  const scopes = team.states.map(({ device }) => new BufferScope(device))
  try {
    const members = team.states.map((state, owner) => {
      const own = changedState(state, { scope: scopes[owner] })
      return { state: own, update: meanUpdate(own, weighted) }
    })
    await updateFromLabels({ team, members }, weighted ? 'means' : 'unweighted-means')
  } finally {
    for (const scope of scopes) scope.free()
  }
}

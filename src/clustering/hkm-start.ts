/** Labels to start from: the leaves of a tree of small k-means. */
import type { Random } from '../core/random.ts'
import { growHierarchy, type Hierarchy } from '../trees/hierarchical.ts'
import type { RunState } from './run-state.ts'

/** Weights count only from the first round on: they would change where leaves lie, not how many. */
export function hkmStart(state: RunState, random: Random, onProgress?: (share: number) => void): Promise<Hierarchy> {
  const { device, points, k, settings, unit, control } = state
  // Searching methods have a branching too, but it is that of their index.
  const own = typeof settings.nodeRounds === 'number'
  const tree = {
    rows: points.rows,
    cols: points.cols,
    stride: points.stride,
    parts: points.parts.map((part) => ({
      first: part.first,
      count: part.count,
      vectors: () => points.vectors(part),
    })),
    gather: (indices: ArrayLike<number>) => points.gather(indices),
  }
  return growHierarchy(device, tree, {
    k,
    branching: own ? Number(settings.branching) : HKM_DEFAULTS.branching,
    rounds: own ? Number(settings.nodeRounds) : HKM_DEFAULTS.nodeRounds,
    random,
    unit,
    control: { signal: control.signal, onProgress },
  })
}

/** As the paper of robust approximate k-means starts. */
export const HKM_DEFAULTS = { branching: 10, nodeRounds: 5 } as const

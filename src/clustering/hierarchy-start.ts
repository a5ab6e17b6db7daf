/**
 * Labels to start from: the leaves of a tree of small k-means. Nodes are split into many (hkm), or in
 * two (bisecting), by Lloyd or by moves. A method whose own start this is has the options; others take
 * the defaults.
 */
import type { Random } from '../core/random.ts'
import { growHierarchy, type HierarchicalOptions, type Hierarchy } from '../trees/hierarchical.ts'
import type { RunState } from './run-state.ts'

type Shape = Pick<HierarchicalOptions, 'branching' | 'rounds' | 'inner' | 'queue'>

/** As the paper of robust approximate k-means starts. */
export const HKM_DEFAULTS = { branching: 10, nodeRounds: 5 } as const
/** Two halves of a cluster have settled after few rounds. */
export const BISECTING_DEFAULTS = { inner: 'lloyd', queue: 'size', nodeRounds: 10 } as const

/** Weights count only from the first round on: they would change where leaves lie, not how many. */
export function hierarchyStart(
  state: RunState,
  start: 'hkm' | 'bisecting',
  random: Random,
  onProgress?: (share: number) => void,
): Promise<Hierarchy> {
  const { device, points, k, unit, control } = state
  return growHierarchy(device, points.inParts(), {
    k,
    ...(start === 'hkm' ? hkmShape(state) : bisectingShape(state)),
    random,
    unit,
    control: { signal: control.signal, onProgress },
  })
}

function hkmShape({ settings }: RunState): Shape {
  // Searching methods have a branching too, but it is that of their index.
  const own = typeof settings.nodeRounds === 'number' && typeof settings.branching === 'number'
  return {
    branching: own ? Number(settings.branching) : HKM_DEFAULTS.branching,
    rounds: own ? Number(settings.nodeRounds) : HKM_DEFAULTS.nodeRounds,
  }
}

function bisectingShape({ settings }: RunState): Shape {
  const { inner, queue, nodeRounds } = typeof settings.inner === 'string' ? settings : BISECTING_DEFAULTS
  return {
    branching: 2,
    rounds: Number(nodeRounds),
    inner: inner as Shape['inner'],
    queue: queue as Shape['queue'],
  }
}

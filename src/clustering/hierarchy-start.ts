/**
 * Labels to start from: the leaves of a tree of small k-means. Nodes are split into many (hkm), or in
 * two (bisecting), by Lloyd or by moves. A method whose own start this is has the options; others take
 * the defaults.
 */
import type { Random } from '../core/random.ts'
import { growHierarchy, type HierarchicalOptions, type Hierarchy } from '../trees/hierarchical.ts'
import type { RunState } from './run-state.ts'

type Shape = Pick<HierarchicalOptions, 'branching' | 'rounds' | 'splitMethod' | 'splitOrder'>

/** As the paper of robust approximate k-means starts. */
export const HKM_DEFAULTS = { branching: 10, nodeRounds: 5 } as const
/** Two halves of a cluster have settled after few rounds. */
export const BISECTING_DEFAULTS = { splitMethod: 'lloyd', splitOrder: 'size', nodeRounds: 10 } as const

/** The tree is grown from the points with weight. Where too few of them differ, it is grown from all, and weights are ignored. */
export async function hierarchyStart(
  state: RunState,
  start: 'hkm' | 'bisecting',
  random: Random,
  weights: Float32Array | undefined,
  onProgress?: (share: number) => void,
): Promise<Hierarchy> {
  const { device, k, unit, control } = state
  // Nodes are split one level after the other: one device grows the tree.
  const points = await state.points.onFirstDevice()
  const options: HierarchicalOptions = {
    k,
    ...(start === 'hkm' ? hkmShape(state) : bisectingShape(state)),
    random,
    unit,
    control: { signal: control.signal, onProgress },
  }
  if (weights === undefined) return growHierarchy(device, points.inParts(), options)
  const all = Uint32Array.from(weights, (_, i) => i)
  const among = weights.includes(0) ? all.filter((i) => weights[i] > 0) : undefined
  const grown = await growHierarchy(device, points.inParts(weights), { ...options, among })
  return grown.leaves < k ? growHierarchy(device, points.inParts(), options) : grown
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
  const { splitMethod, splitOrder, nodeRounds } =
    typeof settings.splitMethod === 'string' ? settings : BISECTING_DEFAULTS
  return {
    branching: 2,
    rounds: Number(nodeRounds),
    splitMethod: splitMethod as Shape['splitMethod'],
    splitOrder: splitOrder as Shape['splitOrder'],
  }
}

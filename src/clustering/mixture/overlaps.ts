/** Input of a purge: the neighbours of a component are those found by a search over the centres, or all. */
import { BufferScope } from '../../device/contract.ts'
import { distances } from '../../kernels/distances.ts'
import { allocateRows, firstRows, writeRows } from '../../kernels/rows.ts'
import { type CandidateSource, changedState, type RunState } from '../run-state.ts'
import { ListedNeighbors, type Near, type Purge } from './purge.ts'

/** Number of distances between components held at a time, if all pairs are compared. */
const PAIRS_AT_A_TIME = 4_000_000

/** Considers every component. `centers` are those of the state, on the host. Returns the total number of candidates. */
export function considerOverlaps(
  state: RunState,
  source: CandidateSource,
  purge: Purge,
  centers: Float32Array,
  round: number,
): Promise<number> {
  return source.listsOfCenters ? considerLists(state, source, purge, round) : considerAll(state, purge, centers)
}

async function considerLists(state: RunState, source: CandidateSource, purge: Purge, round: number): Promise<number> {
  // Means have moved: from here on a round is not stopped half-way.
  const found = await source.listsOfCenters?.(changedState(state, { control: {} }), round)
  if (found === undefined) return 0
  const near = new ListedNeighbors(found.lists, found.distances, found.width)
  for (const component of purge.order) {
    purge.consider(component, near.of(component))
    if (purge.stays(component)) near.announce(component)
  }
  return found.evaluated
}

/** Rows of the matrix of distances in the order in which components are considered, a block at a time. */
async function considerAll(state: RunState, purge: Purge, host: Float32Array): Promise<number> {
  const { device, k, centers } = state
  const { cols } = centers
  const most = Math.min(device.info.limits.bindingBytes / 4, PAIRS_AT_A_TIME)
  const step = Math.max(1, Math.min(k, Math.floor(most / k)))
  const scope = new BufferScope(device)
  try {
    const rows = allocateRows(scope, step, cols, 'f32', 'components')
    const out = scope.allocate(step * k * 4, 'distances of components')
    const block = new Float32Array(step * cols)
    for (let first = 0; first < k; first += step) {
      const here = purge.order.subarray(first, Math.min(first + step, k))
      here.forEach((component, i) => {
        block.set(host.subarray(component * cols, (component + 1) * cols), i * cols)
      })
      writeRows(device, rows, block.subarray(0, here.length * cols))
      await distances(device, { points: firstRows(rows, here.length), centers, out })
      const gaps = new Float32Array(await device.read({ buffer: out, offset: 0, bytes: here.length * k * 4 }))
      here.forEach((component, i) => {
        purge.consider(component, staying(purge, gaps, i * k))
      })
    }
    return k * k
  } finally {
    scope.free()
  }
}

function staying({ kept }: Purge, gaps: Float32Array, at: number): Near {
  return { count: kept.length, others: kept, squares: kept.map((other) => gaps[at + other]) }
}

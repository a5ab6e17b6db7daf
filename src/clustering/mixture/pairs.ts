/** Neighbouring components of a mixture, and the loss of merging them. */
import { BufferScope } from '../../device/contract.ts'
import { assign, assignWorkspaceBytes } from '../../kernels/assign.ts'
import { NO_LABEL } from '../../kernels/assign-lists.ts'
import { allocateRows, writeRows } from '../../kernels/rows.ts'
import type { RunState } from '../run-state.ts'
import { type DataSize, type HostMixture, mergeLoss } from './bic.ts'
import type { Pair } from './count-search.ts'

/** Up to this number all pairs are compared, beyond it the nearest of each component. */
const ALL_PAIRS = 512
const NEAREST = 24

/** Cost: 2 k k d operations on the device, where the nearest are looked for. */
export async function neighboringPairs(state: RunState, mixture: HostMixture, size: DataSize): Promise<Pair[]> {
  const k = mixture.weights.length
  return k <= ALL_PAIRS ? allPairs(mixture, size) : nearestPairs(state, mixture, size)
}

export function allPairs(mixture: HostMixture, size: DataSize): Pair[] {
  const { means, weights } = mixture
  const k = weights.length
  const { cols } = size
  const pairs: Pair[] = []
  for (let i = 0; i < k; i++) {
    for (let j = i + 1; j < k; j++) {
      pairs.push({ i, j, loss: mergeLoss(mixture, i, j, squaredGap(means, i, j, cols), size) })
    }
  }
  return pairs
}

/** Squared distance of rows i and j. */
export function squaredGap(rows: Float32Array, i: number, j: number, cols: number): number {
  let sum = 0
  for (let t = 0; t < cols; t++) sum += (rows[i * cols + t] - rows[j * cols + t]) ** 2
  return sum
}

async function nearestPairs({ device }: RunState, mixture: HostMixture, size: DataSize): Promise<Pair[]> {
  const k = mixture.weights.length
  const scope = new BufferScope(device)
  try {
    const centers = allocateRows(scope, k, size.cols, 'f32', 'means of components')
    writeRows(device, centers, mixture.means)
    const labels = scope.allocate(k * NEAREST * 4, 'nearest components')
    const distances = scope.allocate(k * NEAREST * 4, 'distances of components')
    const workspace = scope.allocate(assignWorkspaceBytes(centers), 'prepared components')
    await assign(device, { points: centers, centers, labels, distances, m: NEAREST, workspace })
    const near = new Uint32Array(await device.read(labels))
    const gaps = new Float32Array(await device.read(distances))
    const pairs: Pair[] = []
    const listed = (component: number, other: number): boolean =>
      near.subarray(component * NEAREST, (component + 1) * NEAREST).includes(other)
    near.forEach((other, at) => {
      const component = Math.floor(at / NEAREST)
      // A pair that both list is taken from the list of the lower number.
      if (other === NO_LABEL || other === component || (other < component && listed(other, component))) return
      const [i, j] = component < other ? [component, other] : [other, component]
      pairs.push({ i, j, loss: mergeLoss(mixture, i, j, gaps[at], size) })
    })
    return pairs
  } finally {
    scope.free()
  }
}

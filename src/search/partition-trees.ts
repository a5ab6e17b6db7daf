/** Random partition trees over vectors: points that share a leaf are likely neighbours. */
import { type DeviceChoice, withDevice } from '../clustering/device-choice.ts'
import { chooseFrame } from '../clustering/frame.ts'
import { PointStore } from '../clustering/points.ts'
import { badOption, CentroidalError } from '../core/errors.ts'
import { toSource, type VectorInput } from '../core/matrix.ts'
import { BufferScope } from '../device/contract.ts'
import { growTree, treeSeed } from '../trees/partition-tree.ts'

/** More would not fit into memory. */
const MOST_TREES = 1000

/** What trees to grow. */
export interface PartitionTreeOptions {
  /** How many trees. Default 1. */
  readonly trees?: number
  /** Most points of a leaf. Default 10. */
  readonly leafSize?: number
  /** Same seed, same device, same trees. Default 0. */
  readonly seed?: number
  /** An open device (stays open), or what to open. Default `auto`. */
  readonly device?: DeviceChoice
}

/** Leaf i holds members[offsets[i]] to members[offsets[i + 1] - 1]. */
export interface TreeLeaves {
  /** Row numbers, leaf after leaf: every row once. */
  readonly members: Uint32Array
  /** Where each leaf begins, and the end of the last. */
  readonly offsets: Uint32Array
  /** Seconds it took to grow this tree. */
  readonly seconds: number
}

/**
 * Grows random partition trees over vectors: rows that share a leaf are likely neighbours.
 *
 * @example
 * ```ts
 * import { blobs, partitionTrees } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 100, cols: 8, clusters: 10 })
 * const [tree] = await partitionTrees(vectors, { leafSize: 8, seed: 1 })
 * tree.members.length // => 100
 * const firstLeaf = tree.members.subarray(tree.offsets[0], tree.offsets[1])
 * firstLeaf.length <= 8 // => true
 * ```
 */
export async function partitionTrees(vectors: VectorInput, options: PartitionTreeOptions = {}): Promise<TreeLeaves[]> {
  const { trees = 1, leafSize = 10, seed = 0, device: choice } = options
  if (!Number.isInteger(trees) || trees < 1 || trees > MOST_TREES) {
    throw badOption('trees', trees, `give a whole number from 1 to ${MOST_TREES}.`)
  }
  if (!Number.isInteger(leafSize) || leafSize < 1)
    throw badOption('leafSize', leafSize, 'give a whole number, at least 1.')
  const source = toSource(vectors)
  const frame = await chooseFrame(source, 'euclidean')
  return withDevice(choice, async (device) => {
    const points = await PointStore.open(device, source, { frame })
    const scope = new BufferScope(device)
    try {
      if (points.parts.length > 1) {
        throw new CentroidalError(
          'out-of-memory',
          `${source.name} does not fit the device in one piece: a tree needs all points at once.`,
        )
      }
      const rows = await points.sketch(points.parts[0])
      const grown: TreeLeaves[] = []
      for (let t = 0; t < trees; t++) {
        const began = performance.now()
        const tree = await growTree(device, scope, rows, leafSize, treeSeed(seed, t))
        const members = new Uint32Array(await device.read(tree.members)).slice(0, source.rows)
        const offsets = new Uint32Array(await device.read(tree.offsets)).slice(0, tree.leaves + 1)
        grown.push({ members, offsets, seconds: (performance.now() - began) / 1000 })
        scope.free()
      }
      return grown
    } finally {
      scope.free()
      points.free()
    }
  })
}

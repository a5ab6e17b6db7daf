/** Random partition trees over vectors: points that share a leaf are likely neighbours. */

import { type OptionChecks, optionsOf, whole } from '../core/arguments.ts'
import { CentroidalError } from '../core/errors.ts'
import { toSource, type VectorInput } from '../core/matrix.ts'
import { streamSeed } from '../core/streams.ts'
import { BufferScope } from '../device/contract.ts'
import { growTree } from '../trees/partition-tree.ts'
import { withDevice } from '../vectors/device-choice.ts'
import { inspectFrame } from '../vectors/frame.ts'
import { PointStore } from '../vectors/points.ts'
import { WORK_CHECKS, type WorkOptions } from '../vectors/work-options.ts'

/** Options of partition trees. */
export interface PartitionTreeOptions extends WorkOptions {
  /** How many trees, at most 1000. Default 1. */
  readonly trees?: number | undefined
  /** Most points of a leaf. Default 10. */
  readonly leafSize?: number | undefined
  /** Same seed, same device, same trees. Default 0. */
  readonly seed?: number | undefined
}

/** Trees of one call: their leaves are kept in memory. */
const MOST_TREES = 1000

const CHECKS: OptionChecks<PartitionTreeOptions> = {
  trees: whole(1, MOST_TREES),
  leafSize: whole(1),
  seed: whole(0),
  ...WORK_CHECKS,
}

/** Leaf i holds members[offsets[i]] to members[offsets[i + 1] - 1]. */
export interface TreeLeaves {
  /** Row numbers, leaf after leaf: every row once. */
  readonly members: Uint32Array
  /** Where each leaf begins, and the end of the last. */
  readonly offsets: Uint32Array
  /** Seconds to build this tree. */
  readonly seconds: number
}

/**
 * Builds random partition trees over vectors: rows that share a leaf are likely neighbours.
 *
 * @example
 * ```ts
 * import { blobs, partitionTrees } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 100, cols: 8, clusters: 10 })
 * for (const { members, offsets } of await partitionTrees(vectors, { trees: 2, leafSize: 8, seed: 1 })) {
 *   const firstLeaf = members.subarray(offsets[0], offsets[1])
 *   console.log(members.length, firstLeaf.length) // 100, and at most 8
 * }
 * ```
 */
export async function partitionTrees(vectors: VectorInput, options: PartitionTreeOptions = {}): Promise<TreeLeaves[]> {
  const {
    trees = 1,
    leafSize = 10,
    seed = 0,
    device: choice,
    signal,
    onProgress,
  } = optionsOf('partitionTrees', options, CHECKS)
  const source = toSource(vectors)
  const frame = await inspectFrame(source, 'euclidean')
  return withDevice(choice, [source], async (device) => {
    const points = await PointStore.open(device, source, { frame, partBytes: device.info.limits.bindingBytes })
    const scope = new BufferScope(device)
    try {
      if (points.parts.length > 1) {
        throw new CentroidalError(
          'out-of-memory',
          `${source.name} exceeds the largest binding of the device (${device.info.limits.bindingBytes} bytes) and a tree needs all vectors at once: use fewer vectors or another device.`,
        )
      }
      const rows = await points.sketch(points.parts[0])
      const grown: TreeLeaves[] = []
      for (let t = 0; t < trees; t++) {
        signal?.throwIfAborted()
        const began = performance.now()
        const tree = await growTree(device, scope, rows, leafSize, streamSeed(seed, 'trees', t))
        const members = new Uint32Array(await device.read(tree.members)).slice(0, source.rows)
        const offsets = new Uint32Array(await device.read(tree.offsets)).slice(0, tree.leaves + 1)
        grown.push({ members, offsets, seconds: (performance.now() - began) / 1000 })
        scope.free()
        onProgress?.((t + 1) / trees)
      }
      return grown
    } finally {
      scope.free()
      points.free()
    }
  })
}

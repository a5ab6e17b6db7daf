/**
 * Cluster closures (Wang et al., "Fast approximate k-means via cluster closures"): a point looks at
 * the labels now carried by its neighbours, the points that share a leaf with it in random partition
 * trees. Trees are built once; with `adaptive` neighbourhoods there is one at first, and another is
 * added whenever a round lowers the objective by less than the share `growth`.
 *
 * All points look at the labels of the round before, so their order does not matter. Where points
 * start without labels (a start from centres), the first round looks at every centre. Points in
 * several parts have trees of their own for each part. Cost a round: at most 3 n d times leaf size
 * times trees, whatever k.
 */
import {
  type AssignLeavesWorkspace,
  assignLeaves,
  createAssignLeavesWorkspace,
  prepareLeafCenters,
} from '../../kernels/assign-leaves.ts'
import { assignLists } from '../../kernels/assign-lists.ts'
import type { DeviceRows } from '../../kernels/rows.ts'
import { growTree, type PartitionTree } from '../../trees/partition-tree.ts'
import type { PointPart } from '../points.ts'
import type { CandidateSource, Round, RunState } from '../run-state.ts'
import { allCandidates } from './all.ts'

export function closureCandidates(state: RunState): CandidateSource {
  return new ClosureSource(state)
}

class ClosureSource implements CandidateSource {
  readonly #everything = allCandidates()
  readonly #trees = new Map<PointPart, PartitionTree[]>()
  readonly #most: number
  readonly #growth: number
  #wanted: number
  #last: number | undefined
  #workspace: AssignLeavesWorkspace | undefined

  constructor({ settings }: RunState) {
    this.#most = settings.trees as number
    this.#growth = settings.growth as number
    this.#wanted = settings.neighborhoods === 'static' ? this.#most : 1
  }

  async assign(state: RunState, part: PointPart, vectors: DeviceRows, round: number): Promise<number> {
    if (!state.labelled) return this.#everything.assign(state, part, vectors, round)
    const { device, centers, control } = state
    const trees = await this.#treesOf(state, part, vectors)
    const { previous, labels, distances } = part
    const workspace = this.#workspaceFor(state)
    await prepareLeafCenters(device, centers, workspace)
    // A point's own centre is always a candidate: its label as a list of one.
    await assignLists(device, { points: vectors, centers, lists: previous, width: 1, labels, distances })
    let looked = part.count
    for (const [index, tree] of trees.entries()) {
      control.signal?.throwIfAborted()
      const { members, offsets, leaves, largest } = tree
      const args = {
        points: vectors,
        centers,
        members,
        offsets,
        leaves,
        largest,
        previous,
        labels,
        distances,
        workspace,
      }
      await assignLeaves(device, args)
      for (const pairs of new Uint32Array(await device.read(workspace.looked)).subarray(0, leaves)) looked += pairs
      // Every tree looks at the own label again.
      looked -= part.count
      control.onProgress?.((part.first + (part.count * (index + 1)) / trees.length) / state.points.rows)
    }
    return looked / part.count
  }

  /** More neighbours when progress slows; done only when there are no more to come. */
  settled({ distortion }: Round): boolean {
    const fall = this.#last === undefined ? 1 : (this.#last - distortion) / this.#last
    this.#last = distortion
    if (this.#wanted >= this.#most) return true
    if (!(fall >= this.#growth)) this.#wanted++
    return false
  }

  async #treesOf(state: RunState, part: PointPart, vectors: DeviceRows): Promise<PartitionTree[]> {
    const trees = this.#trees.get(part) ?? []
    this.#trees.set(part, trees)
    while (trees.length < this.#wanted) {
      const seed = state.seed * 1009 + trees.length + 1
      trees.push(await growTree(state.device, state.scope, vectors, state.settings.leafSize as number, seed))
    }
    return trees
  }

  #workspaceFor(state: RunState): AssignLeavesWorkspace {
    const n = state.points.largestPart
    this.#workspace ??= createAssignLeavesWorkspace(state.scope, n, n, state.centers)
    return this.#workspace
  }
}

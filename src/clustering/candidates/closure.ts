/**
 * Cluster closures (Wang et al., "Fast approximate k-means via cluster closures"): a point looks at
 * the labels now carried by its neighbours, the points that share a leaf with it in random partition
 * trees. Trees are built once; with `adaptive` neighbourhoods there is one at first, and another is
 * added whenever a round lowers the objective by less than the share `treeThreshold`.
 *
 * Two things differ from the paper. A tree sees the labels as the trees before it in the round left
 * them, so news travels several leaves in a round; the order of points still does not matter. And an
 * adaptive round visits the newest few trees, later all of them in turn: what an old tree shows has
 * mostly been seen, and moving the centres in between is worth more than seeing it again.
 *
 * If points have no labels yet (a start from centres), the first round compares with every centre. Each domain of the
 * points has trees of its own. Runs over the same points share trees; one of several that begin from each other
 * (`RunState.treeUse`) may end as soon as a round gains little. Cost a round: at most 3 n d times leaf size times trees
 * visited, whatever k.
 */
import {
  type AssignLeavesWorkspace,
  assignLeaves,
  createAssignLeavesWorkspace,
  prepareLeafCenters,
} from '../../kernels/assign-leaves.ts'
import { assignLists } from '../../kernels/assign-lists.ts'
import type { PointGroups } from '../../kernels/move-batch.ts'
import type { DeviceRows } from '../../kernels/rows.ts'
import { type PartitionTree, type SharedTree, sharedTree } from '../../trees/partition-tree.ts'
import type { PointPart } from '../../vectors/point-part.ts'
import { DomainLabels } from '../domain-labels.ts'
import {
  type CandidateSource,
  type Counted,
  type Round,
  type RunState,
  reportShare,
  type TreeUse,
} from '../run-state.ts'
import { allCandidates } from './all.ts'
import { domainTree } from './domain-tree.ts'

export function closureCandidates(state: RunState): CandidateSource {
  return new ClosureSource(state)
}

/** Trees in the first round of a run that started from a sample. */
const TREES_AFTER_SAMPLE = 2
/** Default leaf sizes of closures-sharp. Where clusters are large, a small leaf holds few different labels. */
const LEAF_SIZE = 16
const LEAF_SIZE_OF_LARGE = 32
const LARGE_CLUSTER = 256

function leafSizeFor({ settings, points, k, treeUse }: RunState): number {
  const asked = settings.leafSize as number
  if (asked > 0) return asked
  return points.rows >= LARGE_CLUSTER * (treeUse?.clusters ?? k) ? LEAF_SIZE_OF_LARGE : LEAF_SIZE
}

class ClosureSource implements CandidateSource {
  readonly #everything = allCandidates()
  /** Trees that other devices grew, by the part of their domain that is here. */
  readonly #others = new Map<PointPart, Map<number, PartitionTree>>()
  /** Trees that the other devices have got from this one. */
  readonly #told = new Map<PointPart, Set<number>>()
  readonly #use: TreeUse
  readonly #most: number
  readonly #treeThreshold: number
  readonly #treesPerRound: number
  /** Runs before this one grew trees, and left clusters that are good by them. */
  readonly #shared: boolean
  /** Rounds of the runs before. */
  readonly #before: number
  #wanted: number
  #last: number | undefined
  /** Rounds since all trees were there, and how many of the last ones changed nothing. */
  #complete = 0
  #quiet = 0
  #workspace: AssignLeavesWorkspace | undefined
  readonly #labels: DomainLabels
  readonly #state: RunState
  #adapted = false

  constructor(state: RunState) {
    const { settings } = state
    this.#state = state
    this.#labels = new DomainLabels(state)
    this.#most = settings.trees as number
    this.#treeThreshold = settings.treeThreshold as number
    const isStatic = settings.neighborhoods === 'static'
    this.#treesPerRound = isStatic ? this.#most : Math.min(this.#most, settings.treesPerRound as number)
    this.#use = state.treeUse ?? { grown: 0, rounds: 0, clusters: state.k }
    const grown = Math.min(this.#most, this.#use.grown)
    this.#wanted = isStatic ? this.#most : Math.max(1, grown)
    this.#shared = grown > 0
    this.#before = this.#use.rounds
  }

  async assign(state: RunState, part: PointPart, vectors: DeviceRows, round: number): Promise<Counted> {
    if (!state.labelled) return this.#everything.assign(state, part, vectors, round)
    const { device, centers, control } = state
    const trees = await this.#treesOf(state, part)
    const { previous, labels, distances } = part
    const workspace = this.#workspaceFor(state)
    await prepareLeafCenters(device, centers, workspace)
    // A point's own centre is always a candidate: its label as a list of one.
    await assignLists(device, { points: vectors, centers, lists: previous, width: 1, labels, distances })
    const evaluated: (() => Promise<ArrayBuffer>)[] = []
    for (const [index, tree] of trees.entries()) {
      control.signal?.throwIfAborted()
      if (part.isPartial) await this.#labels.exchange(part)
      const { members, offsets, leaves, largest } = tree
      const args = {
        points: vectors,
        centers,
        members,
        offsets,
        leaves,
        largest,
        labels,
        distances,
        workspace,
        around: this.#labels.around(part),
      }
      await assignLeaves(device, args)
      evaluated.push(device.stage({ buffer: workspace.evaluated, offset: 0, bytes: leaves * 4 }))
      reportShare(state, part, (index + 1) / trees.length)
    }
    return async () => {
      // Every tree includes the current label again.
      let pairs = (1 - trees.length) * part.count
      for (const bytes of await Promise.all(evaluated.map((read) => read()))) {
        for (const count of new Uint32Array(bytes)) pairs += count
      }
      return pairs
    }
  }

  async groups(state: RunState, part: PointPart): Promise<PointGroups[]> {
    const trees = await this.#treesOf(state, part)
    return trees.map(({ members, offsets, leaves, largest }) => ({
      members,
      offsets,
      groups: leaves,
      largest,
      among: 'labels',
    }))
  }

  /** More neighbours when progress slows; done only when all trees had their turn and there are no more to come. */
  endRound({ distortion, moved }: Round): boolean {
    this.#adaptToStart()
    const fall = this.#last === undefined ? 1 : (this.#last - distortion) / this.#last
    this.#last = distortion
    if (this.#wanted < this.#most) {
      if (!(fall >= this.#treeThreshold)) this.#wanted++
      return this.#shared
    }
    this.#complete++
    this.#use.rounds = this.#before + this.#complete
    if (this.#shared) return true
    this.#quiet = moved === 0 ? this.#quiet + 1 : 0
    return (moved === 0 ? this.#quiet : this.#complete) * this.#treesPerRound >= this.#most
  }

  /** Of `count` trees: the newest while trees are added, then all in turn. */
  #visited(count: number): number[] {
    const from = (this.#before + this.#complete) * this.#treesPerRound
    return Array.from({ length: Math.min(this.#treesPerRound, count) }, (_, i) => count - 1 - ((from + i) % count))
  }

  /** The trees that are looked at in this round; valid until another part is loaded. */
  async #treesOf(state: RunState, part: PointPart): Promise<readonly PartitionTree[]> {
    const { device, points, seed } = state
    const leafSize = leafSizeFor(state)
    this.#adaptToStart()
    this.#use.grown = Math.max(this.#use.grown, this.#wanted)
    const trees: PartitionTree[] = []
    for (const number of this.#visited(this.#wanted)) {
      const tree = { leafSize, seed, number }
      // Stores keep trees themselves, and may put them away; those of another device's rows are kept here.
      const known = this.#others.get(part)?.get(number)
      if (known) trees.push(known)
      else if (part.isPartial) trees.push(await this.#domainTree(state, part, tree))
      else trees.push(await sharedTree(device, points, part, tree))
    }
    return trees
  }

  async #domainTree(state: RunState, part: PointPart, tree: SharedTree): Promise<PartitionTree> {
    const { device, points } = state
    const own = part.first === part.domain.first
    const told = this.#told.get(part) ?? new Set<number>()
    this.#told.set(part, told)
    if (own && told.has(tree.number)) return sharedTree(device, points, part, tree)
    const grown = await domainTree(state, part, tree)
    told.add(tree.number)
    if (!own) this.#others.set(part, (this.#others.get(part) ?? new Map()).set(tree.number, grown))
    return grown
  }

  /** After a sample most labels are right already: with a single tree, points would see too few other clusters. */
  #adaptToStart(): void {
    const { sample, points } = this.#state
    if (this.#adapted || sample === undefined || points.layout.separate) return
    this.#adapted = true
    this.#wanted = Math.max(this.#wanted, Math.min(this.#most, this.#treesPerRound, TREES_AFTER_SAMPLE))
  }

  #workspaceFor(state: RunState): AssignLeavesWorkspace {
    const n = state.points.largestDomain
    this.#workspace ??= createAssignLeavesWorkspace(state.scope, n, n, state.centers)
    return this.#workspace
  }
}

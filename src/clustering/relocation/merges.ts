/**
 * What merging each cluster with one of its neighbours would cost. Few clusters are compared with all others; many only
 * with those that share a leaf with them in partition trees over the centres, so that the cost for a cluster does not
 * grow with their number.
 */
import type { Random } from '../../core/random.ts'
import { BufferScope } from '../../device/contract.ts'
import { assign, assignWorkspaceBytes } from '../../kernels/assign.ts'
import { assignLists, NO_LABEL } from '../../kernels/assign-lists.ts'
import { growTree } from '../../trees/partition-tree.ts'
import type { RunState } from '../run-state.ts'
import { type ClusterMasses, type Merge, mergeCost } from './pairs.ts'

/** Up to here all pairs are cheap whatever else there is. */
const FEW = 512
/** All pairs are also compared where that is at most this many distances for each point. */
const DISTANCES_PER_POINT = 16
/** Nearest others of a cluster that are considered, where all are compared. */
const NEAREST = 4
const TREES = 2
const LEAF = 16

/** The centres of clusters of points. */
type Centers = Pick<RunState, 'device' | 'points' | 'k' | 'centers' | 'unit'>

export interface Merges {
  readonly merges: readonly Merge[]
  /** Distances between centres that were measured. */
  readonly evaluated: number
}

/** Merges of clusters with weight. */
export async function possibleMerges(state: Centers, masses: ClusterMasses, random: Random): Promise<Merges> {
  const { k, points, unit } = state
  const all = k <= FEW || k * k <= DISTANCES_PER_POINT * points.rows
  const found = all ? await nearestOfAll(state) : await nearestInTrees(state, random)
  const merges = new Map<number, Merge>()
  for (const { cluster, other, between } of found.neighbors) {
    const [from, into] = cluster < other ? [other, cluster] : [cluster, other]
    if (other === NO_LABEL || other === cluster || masses.weights[from] === 0 || masses.weights[into] === 0) continue
    merges.set(from * k + into, { from, into, cost: mergeCost(masses, from, into, between, unit) })
  }
  return { merges: [...merges.values()], evaluated: found.evaluated }
}

interface Neighbors {
  readonly neighbors: { readonly cluster: number; readonly other: number; readonly between: number }[]
  readonly evaluated: number
}

async function nearestOfAll({ device, centers, k }: Centers): Promise<Neighbors> {
  const scope = new BufferScope(device)
  try {
    // A cluster finds itself too.
    const m = Math.min(k, NEAREST + 1)
    const labels = scope.allocate(k * m * 4, 'nearest clusters')
    const distances = scope.allocate(k * m * 4, 'distances between clusters')
    const workspace = scope.allocate(assignWorkspaceBytes(centers), 'prepared centres')
    await assign(device, { points: centers, centers, labels, distances, m, workspace })
    const others = new Uint32Array(await device.read(labels), 0, k * m)
    const between = new Float32Array(await device.read(distances), 0, k * m)
    const neighbors = Array.from(others, (other, at) => ({ cluster: Math.floor(at / m), other, between: between[at] }))
    return { neighbors, evaluated: k * k }
  } finally {
    scope.free()
  }
}

async function nearestInTrees({ device, centers, k }: Centers, random: Random): Promise<Neighbors> {
  const scope = new BufferScope(device)
  const neighbors: Neighbors['neighbors'] = []
  try {
    const lists = scope.allocate(k * (LEAF - 1) * 4, 'clusters of the same leaf')
    const labels = scope.allocate(k * 4, 'nearest clusters')
    const distances = scope.allocate(k * 4, 'distances between clusters')
    for (let turn = 0; turn < TREES; turn++) {
      const tree = await growTree(device, scope, centers, LEAF, random.next())
      const members = new Uint32Array(await device.read(tree.members), 0, k)
      const offsets = new Uint32Array(await device.read(tree.offsets), 0, tree.leaves + 1)
      const words = new Uint32Array(k * (LEAF - 1)).fill(NO_LABEL)
      for (let leaf = 0; leaf < tree.leaves; leaf++) {
        const mates = members.subarray(offsets[leaf], offsets[leaf + 1])
        for (const cluster of mates) {
          let at = cluster * (LEAF - 1)
          for (const mate of mates) if (mate !== cluster) words[at++] = mate
        }
      }
      device.write(lists, words)
      await assignLists(device, { points: centers, centers, lists, width: LEAF - 1, labels, distances })
      const others = new Uint32Array(await device.read(labels), 0, k)
      const between = new Float32Array(await device.read(distances), 0, k)
      others.forEach((other, cluster) => {
        neighbors.push({ cluster, other, between: between[cluster] })
      })
    }
    return { neighbors, evaluated: k * (LEAF - 1) * TREES }
  } finally {
    scope.free()
  }
}

/** Which centres a point is compared with by the closure methods: the labels of the points that share a leaf with it. */
import type { TreeLeaves } from '../../src/index.ts'

export interface Neighborhood {
  /** The leaf of the point in each tree. */
  readonly leaves: readonly Uint32Array[]
  /** Clusters of their members, each once, the point's own first. */
  readonly candidates: readonly number[]
}

export class Closures {
  readonly #trees: readonly TreeLeaves[]
  readonly #labels: Uint32Array
  /** For each tree the leaf of each point. */
  readonly #leafOf: readonly Uint32Array[]

  constructor(trees: readonly TreeLeaves[], labels: Uint32Array) {
    this.#trees = trees
    this.#labels = labels
    this.#leafOf = trees.map(({ members, offsets }) => {
      const leafOf = new Uint32Array(labels.length)
      for (let leaf = 0; leaf + 1 < offsets.length; leaf++) {
        for (let i = offsets[leaf]; i < offsets[leaf + 1]; i++) leafOf[members[i]] = leaf
      }
      return leafOf
    })
  }

  of(point: number): Neighborhood {
    const leaves = this.#trees.map(({ members, offsets }, t) => {
      const leaf = this.#leafOf[t][point]
      return members.subarray(offsets[leaf], offsets[leaf + 1])
    })
    const candidates = new Set([this.#labels[point]])
    for (const leaf of leaves) for (const member of leaf) candidates.add(this.#labels[member])
    return { leaves, candidates: [...candidates] }
  }

  /** Points that see a cluster besides their own: 1 for each of them. */
  border(): Uint8Array {
    return Uint8Array.from(this.#labels, (_, point) => (this.of(point).candidates.length > 1 ? 1 : 0))
  }

  /**
   * Distances of a round in which no label changes, per point, as the library counts them: it looks at the labels of each
   * leaf in turn, and at the own label once for all trees.
   */
  measured(): number {
    let pairs = 0
    this.#labels.forEach((own, point) => {
      pairs++
      for (const leaf of this.of(point).leaves) {
        pairs += new Set(Array.from(leaf, (member) => this.#labels[member]).filter((label) => label !== own)).size
      }
    })
    return pairs / this.#labels.length
  }
}

/** Names of rows in each cluster, where the vectors' file has names. */
import type { ClusterModel, VectorSource } from '../index.ts'

export interface Members {
  readonly cluster: number
  readonly size: number
  /** Of its first rows. */
  readonly names: readonly string[]
}

/** Of the largest clusters. */
const MOST_CLUSTERS = 100
const MOST_NAMES = 10
const LONGEST_NAME = 60

/** Undefined where rows have no names. */
export async function membersOf(source: VectorSource, model: ClusterModel): Promise<Members[] | undefined> {
  const names = await source.names?.()
  if (names === undefined) return undefined
  const { sizes, labels } = model
  const largest = Array.from(sizes.keys())
    .filter((cluster) => sizes[cluster] > 0)
    .sort((a, b) => sizes[b] - sizes[a] || a - b)
    .slice(0, MOST_CLUSTERS)
  const found = new Map(largest.map((cluster) => [cluster, [] as string[]]))
  labels.forEach((label, row) => {
    const own = found.get(label)
    if (own && own.length < MOST_NAMES) own.push(names[row].slice(0, LONGEST_NAME))
  })
  return largest.map((cluster) => ({ cluster, size: sizes[cluster], names: found.get(cluster)! }))
}

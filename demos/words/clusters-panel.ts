/** Clusters, the largest first, and the members of the chosen one. */
import type { Matrix } from '../../src/index.ts'
import { clusterColours, cssColour, prefersDark } from '../shell/cluster-colours.ts'
import { element, showNumber } from '../shell/dom.ts'
import { type Dataset, majority, rowName, rowPicture } from './dataset.ts'
import { bySize, type Members, membersOf } from './members.ts'
import { rowButtons } from './row-buttons.ts'
import { thumbnail } from './thumbnails.ts'

export interface Clusters {
  readonly centers: Matrix
  readonly labels: Uint32Array
  readonly sizes: Uint32Array
}

export interface ClustersPanel {
  /** `names` says what stands for each cluster, where rows have names. */
  show(data: Dataset, clusters: Clusters, names: readonly string[] | undefined): void
  /** Nothing is clustered any more. */
  clear(): void
  choose(cluster: number): void
  readonly chosen: number | undefined
}

/** Shown at first; all of them on request. */
const FIRST = 60
/** A page of more clusters than this is no list any more; the map still has them. */
const MOST_LISTED = 1000
/** Nor does anybody read more members; browsers take long over so many buttons. */
const MOST_MEMBERS = 2000

export function clustersPanel(onCluster: (cluster: number) => void, onRow: (row: number) => void): ClustersPanel {
  const list = rowButtons(element('clusters'), choose)
  const members = rowButtons(element('members'), onRow)
  const more = element('more', HTMLButtonElement)
  let held:
    | { readonly data: Dataset; readonly clusters: Clusters; readonly names: readonly string[] | undefined }
    | undefined
  let chosen: number | undefined
  let found: Members | undefined
  more.addEventListener('click', () => showMembers(Number.POSITIVE_INFINITY))

  function choose(cluster: number): void {
    if (!held || !(cluster < held.clusters.centers.rows)) return
    chosen = cluster
    const { data, clusters, names } = held
    found = membersOf(data.vectors, clusters.centers, clusters.labels, cluster)
    const known = majority(data, found.rows)
    element('members-title').textContent =
      `${names ? names[cluster] : `Cluster ${cluster}`}: ${showNumber(found.rows.length)} members${known && `, ${known}`}, nearest to the centre first`
    list.press(cluster)
    showMembers(FIRST)
    onCluster(cluster)
  }

  function showMembers(most: number): void {
    if (!held || !found) return
    const { data } = held
    const { rows, distances } = found
    element('members').classList.toggle('pictures', data.ink !== undefined)
    const all = Math.min(rows.length, MOST_MEMBERS)
    members.show(
      Array.from(rows.subarray(0, Math.min(most, all)), (row, i) => ({
        value: row,
        about: `${rowName(data, row)}, distance ${showNumber(distances[i])}`,
        picture: rowPicture(data, row),
        ...(data.ink === undefined ? { text: `${data.names?.[row] ?? row} · ${showNumber(distances[i])}` } : {}),
      })),
    )
    more.hidden = most >= all
    more.textContent = all < rows.length ? `Show the nearest ${showNumber(all)}` : `Show all ${showNumber(all)}`
  }

  return {
    show(data, clusters, names) {
      held = { data, clusters, names }
      element('clusters').classList.toggle('named', names !== undefined)
      const { centers, sizes } = clusters
      const colours = clusterColours(centers.rows, prefersDark())
      const order = bySize(sizes)
      list.show(
        order.slice(0, MOST_LISTED).map((cluster) => ({
          value: cluster,
          about: `${names ? names[cluster] : `Cluster ${cluster}`}, ${sizes[cluster]} members`,
          text: names ? names[cluster] : showNumber(sizes[cluster]),
          colour: cssColour(colours, cluster),
          picture: data.ink === undefined ? undefined : thumbnail(centers, cluster, data.ink),
        })),
      )
      choose(chosen !== undefined && sizes[chosen] > 0 ? chosen : order[0])
    },
    clear() {
      held = undefined
      chosen = undefined
      found = undefined
      list.show([])
      members.show([])
      more.hidden = true
      element('members-title').textContent = 'Members'
    },
    choose,
    get chosen() {
      return chosen
    },
  }
}

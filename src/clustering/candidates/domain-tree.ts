/** Trees over a domain whose rows several devices own. */
import { type PartitionTree, type SharedTree, sharedTree } from '../../trees/partition-tree.ts'
import type { PointPart } from '../../vectors/point-part.ts'
import type { RunState } from '../run-state.ts'

interface TreeValues {
  readonly members: Uint32Array
  readonly offsets: Uint32Array
  readonly largest: number
}

/**
 * The device that owns the first rows of the domain grows the tree, and the others get a copy: devices of different kinds
 * would grow different trees.
 */
export async function domainTree(state: RunState, part: PointPart, tree: SharedTree): Promise<PartitionTree> {
  const { device, points, scope, team, owner } = state
  const grown = part.first === part.domain.first ? await sharedTree(device, points, part, tree) : undefined
  const own: TreeValues | undefined = grown && {
    members: new Uint32Array(await device.read(grown.members), 0, part.domain.count),
    offsets: new Uint32Array(await device.read(grown.offsets), 0, grown.leaves + 1),
    largest: grown.largest,
  }
  const shared = await team.meet(part.domain, owner, own, (values) => values[0] as TreeValues)
  if (grown) return grown
  const { members, offsets, largest } = shared
  return {
    members: scope.upload(members, 'points by leaf'),
    offsets: scope.upload(offsets, 'leaves'),
    leaves: offsets.length - 1,
    largest,
  }
}

/** Redistribution of groups of shards when workers join later. Pure. */

/** Groups to take from their owners, the last ones first, so that `idle` more workers own about as many as the others. */
export function surplusOf(
  owners: readonly { readonly worker: string; readonly groups: readonly number[] }[],
  idle: number,
): Map<string, number[]> {
  const surplus = new Map<string, number[]>()
  if (idle === 0 || owners.length === 0) return surplus
  const left = owners.map(({ worker, groups }) => ({ worker, groups: [...groups].sort((a, b) => a - b) }))
  const total = left.reduce((sum, { groups }) => sum + groups.length, 0)
  const share = Math.floor(total / (left.length + idle))
  for (let wanted = share * idle; wanted > 0; wanted--) {
    const { worker, groups } = left.reduce((most, each) => (each.groups.length > most.groups.length ? each : most))
    const group = groups.length > share ? groups.pop() : undefined
    if (group === undefined) break
    surplus.set(worker, [...(surplus.get(worker) ?? []), group])
  }
  return surplus
}

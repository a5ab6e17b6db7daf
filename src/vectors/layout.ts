/**
 * How rows are cut. A *shard* is a fixed range of rows: the unit that a device owns and whose partial results are merged.
 * A *domain* is a run of rows that share partition trees: as many as one part of the device's memory holds. Domains follow
 * from the size of the rows alone, shards from the caller; neither depends on how many devices there are, so results do
 * not either. A shard that reaches over the end of a domain counts as two. Pure.
 */
import { badOption } from '../core/errors.ts'
import type { Range } from '../device/plan.ts'
import type { PartPlace, PartShard } from './point-part.ts'

export interface Shard {
  readonly first: number
  readonly count: number
}

export interface Domain {
  readonly index: number
  readonly first: number
  readonly count: number
  /** Shards in the domain. */
  readonly shards: number
}

export interface RowLayout {
  readonly domains: readonly Domain[]
  /** In the order of their rows, none of them empty. */
  readonly shards: readonly Shard[]
  /** True where the caller chose the shards: they may belong to any number of devices. */
  readonly chosen: boolean
  /** True where no domain reaches over the end of a shard: shards may then belong to any number of processes. */
  readonly separate: boolean
}

/** How many shards of equal size, or the rows of each. */
export type ShardChoice = number | readonly number[]

/** Domains are the given ranges. Without a choice each of them is one shard. */
export function layOutRows(rows: number, ranges: readonly Range[], choice?: ShardChoice): RowLayout {
  const ends = shardEnds(rows, choice)
  const shards: Shard[] = []
  let next = 0
  const domains = ranges.map(({ start, end }, index) => {
    const before = shards.length
    let first = start
    while (first < end) {
      while (next < ends.length && ends[next] <= first) next++
      const last = Math.min(end, ends[next] ?? end)
      shards.push({ first, count: last - first })
      first = last
    }
    return { index, first: start, count: end - start, shards: shards.length - before }
  })
  return { domains, shards, chosen: choice !== undefined, separate: false }
}

/** Domains are the given ranges, cut where shards end. */
export function layOutSeparately(rows: number, ranges: readonly Range[], choice: ShardChoice): RowLayout {
  const ends = [0, ...shardEnds(rows, choice)]
  const cut: Range[] = []
  for (let shard = 1; shard < ends.length; shard++) {
    // Ranges are counted from the beginning of each shard, so that shards of equal size are cut alike.
    const [first, end] = [ends[shard - 1], ends[shard]]
    for (const range of ranges) {
      const start = first + range.start
      if (start >= end) break
      cut.push({ start, end: Math.min(end, first + range.end) })
    }
  }
  return { ...layOutRows(rows, cut, choice), separate: true }
}

/** Where shards end, rising. None: only where domains do. */
function shardEnds(rows: number, choice: ShardChoice | undefined): number[] {
  if (choice === undefined) return []
  if (typeof choice === 'number') {
    const count = Math.min(choice, Math.max(1, rows))
    return Array.from({ length: count }, (_, i) => Math.round(((i + 1) * rows) / count))
  }
  let end = 0
  const ends = choice.map((count) => {
    end += count
    return end
  })
  if (end !== rows) throw badOption('shards', `${end} rows in all`, `give sizes that add up to the ${rows} vectors.`)
  return ends
}

/**
 * The parts of each of `owners` devices. Each owns a run of shards with about the same number of rows as the others. Where
 * shards are few or very unequal, the last devices own nothing; the first, which leads, always owns something.
 */
export function partsOf({ domains, shards }: RowLayout, owners: number): PartPlace[] {
  const rows = domains.reduce((sum, { count }) => sum + count, 0)
  const parts: PartPlace[] = []
  let domain = 0
  let owner = 0
  let share = 0
  shards.forEach(({ first, count }, index) => {
    while (first >= domains[domain].first + domains[domain].count) domain++
    const middle = first + count / 2
    const next = Math.min(owners - 1, Math.floor((middle * owners) / rows))
    if (next > share && index > 0) owner++
    share = next
    const last = parts[parts.length - 1]
    if (last !== undefined && last.owner === owner && last.domain === domains[domain]) {
      const shard: PartShard = { index, from: first - last.first, count }
      parts[parts.length - 1] = { ...last, count: last.count + count, shards: [...last.shards, shard] }
    } else {
      parts.push({ owner, first, count, domain: domains[domain], shards: [{ index, from: 0, count }] })
    }
  })
  return parts
}

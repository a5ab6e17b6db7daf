/** How good ranked lists are, where it is known what should have been found. */
import { list, numberList, numberSet, WHOLE_NUMBER } from '../core/arguments.ts'
import { badArgument, CentroidalError, show } from '../core/errors.ts'

/** Images a group has in the set that the N-S score was made for. */
const GROUP = 4

/**
 * Average precision: the mean over all relevant items of the precision at their rank; items that are not listed contribute
 * 0. 1 means that all relevant items come first.
 *
 * @example
 * ```ts
 * import { averagePrecision } from 'centroidal'
 *
 * averagePrecision([7, 3, 9], [7, 9]) // => (1 / 1 + 2 / 3) / 2
 * ```
 */
export function averagePrecision(ranked: ArrayLike<number>, relevant: Iterable<number>): number {
  numberList(ranked, 'the ranked list', WHOLE_NUMBER)
  const wanted = numberSet(relevant, 'what is relevant', WHOLE_NUMBER)
  if (wanted.size === 0) {
    throw new CentroidalError(
      'bad-data',
      'The query has no relevant items, so that the score is undefined: leave out such queries.',
    )
  }
  const seen = new Set<number>()
  let found = 0
  let sum = 0
  // Later items do not change the result.
  for (let rank = 0; rank < ranked.length && found < wanted.size; rank++) {
    meet(seen, ranked[rank], rank)
    if (wanted.has(ranked[rank])) sum += ++found / (rank + 1)
  }
  return sum / wanted.size
}

/**
 * mAP: the mean of {@link averagePrecision} over queries.
 *
 * @example
 * ```ts
 * import { meanAveragePrecision } from 'centroidal'
 *
 * meanAveragePrecision([[1, 2], [5, 6]], [[1], [6]]) // => (1 + 1 / 2) / 2
 * ```
 */
export function meanAveragePrecision(
  ranked: readonly ArrayLike<number>[],
  relevant: readonly Iterable<number>[],
): number {
  requirePairs(ranked, relevant)
  return ranked.reduce((sum, list, query) => sum + averagePrecision(list, relevant[query]), 0) / ranked.length
}

/**
 * N-S score: how many of the first four are relevant, in the mean over queries. For groups of four images that are all
 * in the index, the query among them: 4 is perfect, 1 is finding only itself.
 *
 * @example
 * ```ts
 * import { nsScore } from 'centroidal'
 *
 * nsScore([[1, 2, 9, 3, 4]], [[1, 2, 3, 4]]) // => 3
 * ```
 */
export function nsScore(ranked: readonly ArrayLike<number>[], relevant: readonly Iterable<number>[]): number {
  requirePairs(ranked, relevant)
  let sum = 0
  ranked.forEach((list, query) => {
    numberList(ranked[query], `ranked list ${query}`, WHOLE_NUMBER)
    const wanted = numberSet(relevant[query], `what is relevant to query ${query}`, WHOLE_NUMBER)
    const seen = new Set<number>()
    for (let rank = 0; rank < Math.min(GROUP, list.length); rank++) {
      meet(seen, list[rank], rank)
      if (wanted.has(list[rank])) sum++
    }
  })
  return sum / ranked.length
}

/** Something found twice would count twice. */
function meet(seen: Set<number>, id: number, rank: number): void {
  if (seen.has(id)) {
    throw new CentroidalError(
      'bad-data',
      `${id} occurs twice in a ranked list, the second time at rank ${rank + 1}: list every item once.`,
    )
  }
  seen.add(id)
}

function requirePairs(ranked: readonly unknown[], relevant: readonly unknown[]): void {
  list(ranked, 'the ranked lists', 'lists of whole numbers')
  list(relevant, 'what is relevant', 'sets of whole numbers')
  if (ranked.length === 0) throw new CentroidalError('bad-data', 'There are no ranked lists: give at least one.')
  if (ranked.length === relevant.length) return
  throw new CentroidalError(
    'bad-data',
    `There are ${ranked.length} ranked lists and ${relevant.length} sets of relevant items: give one set for each list.`,
  )
}

/** How good rankings are. */
export interface RankingQuality {
  /** Rankings that were judged. */
  readonly queries: number
  /** Queries that are the only image of their group: they do not count in `map`. */
  readonly alone: number
  /** Mean average precision of finding the rest of the group. The query itself counts neither as found nor as missed. */
  readonly map: number
  /** How many of the first four belong to the group, the query itself among them if it is listed. */
  readonly nsScore: number
}

/**
 * mAP and N-S score of rankings, given the group of each image.
 *
 * @example
 * ```ts
 * import { judgeRankings } from 'centroidal'
 *
 * const groups = new Map([[0, 7], [1, 7], [2, 8]]) // images 0 and 1 show the same
 * const quality = judgeRankings([{ query: 0, images: [0, 2, 1] }], groups)
 * quality.map // => 1 / 2
 * quality.nsScore // => 2
 * ```
 */
export function judgeRankings(
  rankings: readonly { readonly query: number; readonly images: ArrayLike<number> }[],
  groups: ReadonlyMap<number, number>,
): RankingQuality {
  checkRankings(rankings)
  if (!(groups instanceof Map)) throw badArgument('groups', groups, 'give a Map from images to groups.')
  const members = new Map<number, number[]>()
  for (const [image, group] of groups) pushTo(members, group, image)
  const all = rankings.map(({ query, images }) => {
    const group = groups.get(query)
    if (group !== undefined) return { query, images: Array.from(images), group: members.get(group)! }
    throw new CentroidalError('bad-data', `Query image ${query} has no group: give a group for each query.`)
  })
  const paired = all.filter(({ group }) => group.length > 1)
  if (all.length > 0 && paired.length === 0) {
    throw new CentroidalError(
      'bad-data',
      `Each of the ${all.length} query images is the only one of its group, so that there is nothing to find: give groups of two or more images.`,
    )
  }
  const others = (images: readonly number[], query: number): number[] => images.filter((image) => image !== query)
  return {
    queries: all.length,
    alone: all.length - paired.length,
    map: meanAveragePrecision(
      paired.map(({ images, query }) => others(images, query)),
      paired.map(({ group, query }) => others(group, query)),
    ),
    nsScore: nsScore(
      all.map(({ images }) => images),
      all.map(({ group }) => group),
    ),
  }
}

function checkRankings(rankings: unknown): void {
  list(rankings, 'the rankings', 'objects with query and images').forEach((ranking, i) => {
    const { query, images } = (ranking ?? {}) as { query?: unknown; images?: unknown }
    if (!Number.isSafeInteger(query)) {
      throw new CentroidalError('bad-data', `The query of ranking ${i} is ${show(query)}: give a whole number.`)
    }
    numberList(images, `the images of ranking ${i}`, WHOLE_NUMBER)
  })
}

function pushTo(lists: Map<number, number[]>, key: number, value: number): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}

/** Answers of workers, checked: shapes, ranges, and that they are about the shards that were asked for. */
import type { PartialSums } from '../clustering/partial.ts'
import { choice, list, optional, real, record, type Schema, whole, wrongValue } from '../data/schema.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import { checkSumsDelta, fromStore, type Payload, type RunBlob, typed } from './messages.ts'
import { checkPieces } from './reductions.ts'

export interface AnswerContext {
  readonly blob: RunBlob
  /** Groups of shards that the answer is about. */
  readonly groups: readonly number[]
  /** Sums of the same shape, if there are any yet. */
  readonly like: PartialSums | undefined
}

/** First row and number of rows of each group. */
export function rowsOfGroups({
  groups,
  shards,
}: Pick<RunBlob, 'groups' | 'shards'>): { first: number; count: number }[] {
  let first = 0
  return groups.map((own) => {
    const count = own.reduce((sum, shard) => sum + shards[shard].rows, 0)
    const range = { first, count }
    first += count
    return range
  })
}

export function checkAnswer(
  name: Payload['task']['name'],
  value: unknown,
  what: string,
  context: AnswerContext,
): unknown {
  return fromStore((given, at) => answerOf(name, context)(given, at), value, what)
}

function answerOf(name: Payload['task']['name'], { blob, groups, like }: AnswerContext): Schema<unknown> {
  const { run, rows } = blob
  const shardOf = whole(0, run.layout.shards.length - 1)
  const squares = list(record({ shard: shardOf, value: real(0) }))
  const sums: Schema<unknown> = (given, at) => {
    const { delta, pieces } = record({ delta: checkSumsDelta, pieces: checkPieces })(given, at)
    const fits = like === undefined || delta.exact.every(({ words }, i) => like.exact[i]?.length === words)
    if (!fits) throw wrongValue(at, delta.exact.length, 'sums of the same shape as before')
    return { delta, pieces }
  }
  const round = record({ squares, moved: whole(0, rows), evaluated: real(0) })
  switch (name) {
    case 'choose':
      return record({ round, sums })
    case 'take':
      return record({ sums })
    case 'retreat':
      return record({ squares, sums })
    case 'squares':
      return squares
    case 'measure':
      return record({ type: (given) => given, longest: real(0) })
    case 'farthest':
      return (given, at) => {
        const own = record({
          rows: typed(Float64Array),
          distances: typed(Float32Array),
          labels: typed(Uint32Array),
          more: choice(true, false),
          sizes: typed(Uint32Array),
        })(given, at)
        const count = own.rows.length
        const fits =
          own.distances.length === count &&
          own.labels.length === count &&
          own.sizes.length <= run.most &&
          own.labels.every((label) => label < own.sizes.length) &&
          own.rows.every((row) => Number.isInteger(row) && row >= 0 && row < rows)
        if (fits) return own
        throw wrongValue(at, count, 'points with distances and labels')
      }
    case 'labels':
      return rowsOf(blob, groups, (given, at, count) => {
        const labels = typed(Uint32Array, count)(given, at)
        if (labels.every((label) => label < run.most || label === NO_LABEL)) return labels
        throw wrongValue(at, 'a label', `labels below ${run.most}`)
      })
    case 'distances':
      return rowsOf(blob, groups, (given, at, count) => typed(Float32Array, count)(given, at))
    case 'lists':
      return list(
        record({
          first: whole(0, rows),
          count: whole(0, rows),
          lists: typed(Uint32Array),
          names: optional(typed(Uint32Array)),
        }),
      )
    case 'keep':
      return list(record({ group: whole(0, blob.groups.length - 1), bytes: whole(0) }))
    default:
      return () => null
  }
}

/** Values of rows that cover the groups exactly. */
function rowsOf<T>(
  blob: RunBlob,
  groups: readonly number[],
  check: (value: unknown, at: string, count: number) => T,
): Schema<unknown> {
  const ranges = rowsOfGroups(blob)
  const wanted = groups.reduce((sum, group) => sum + ranges[group].count, 0)
  return (value, at) => {
    let found = 0
    const checked = list((entry, place) => {
      const { first, values } = record({ first: whole(0, blob.rows), values: (given) => given })(entry, place)
      const count = (values as { length?: number } | undefined)?.length ?? 0
      found += count
      const inside = groups.some((group) => {
        const range = ranges[group]
        return first >= range.first && first + count <= range.first + range.count
      })
      if (!inside) throw wrongValue(place, first, 'rows of the shards that were asked for')
      return { first, values: check(values, place, count) }
    })(value, at)
    if (found !== wanted) throw wrongValue(at, found, `${wanted} rows`)
    return checked
  }
}

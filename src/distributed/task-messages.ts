/** Tasks and notes of owners of shards, as they come from the store: checked before they are used. */
import type { NoteName, OwnerNotes, OwnerTasks, TaskName } from '../clustering/remote-owners.ts'
import { CentroidalError, show } from '../core/errors.ts'
import { choice, optional, plainObject, real, record, type Schema, whole, wrongValue } from '../data/schema.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import type { SumsDelta } from './deltas.ts'
import { checkCenterDelta, checkSumsDelta, typed } from './messages.ts'

/** Checks of what owners are asked and told; they know the sizes of their run. */
export interface RunSizes {
  readonly rows: number
  readonly cols: number
  readonly most: number
}

const nothing = record({})
const roundSchema: Schema<OwnerNotes['endRound']> = (value, at) => {
  const own = plainObject(value, at)
  whole(1)(own.iteration, `${at}.iteration`)
  real()(own.distortion, `${at}.distortion`)
  whole(0)(own.moved, `${at}.moved`)
  return own as unknown as OwnerNotes['endRound']
}

function checkLabels(rows: number, most: number): Schema<Uint32Array> {
  return (value, at) => {
    const labels = typed(Uint32Array, rows)(value, at)
    if (labels.every((label) => label < most || label === NO_LABEL)) return labels
    throw wrongValue(at, 'a label', `labels below ${most}`)
  }
}

const checkMixture =
  (most: number): Schema<OwnerNotes['centers']['mixture']> =>
  (value, at) => {
    if (value === undefined || value === null) return undefined
    const own = record({ weights: typed(Float64Array), variances: typed(Float64Array) })(value, at)
    const fits = own.weights.length === own.variances.length && own.weights.length <= most
    if (fits && own.weights.every((weight) => weight >= 0) && own.variances.every((variance) => variance > 0))
      return own
    throw wrongValue(at, own.weights.length, 'weights and variances of components')
  }

/** Arguments of a task. */
export function checkTask(name: TaskName, args: unknown, { cols, most }: RunSizes): OwnerTasks[TaskName]['args'] {
  const at = `the arguments of ${name}`
  switch (name) {
    case 'choose':
      return record({ iteration: whole(1) })(args, at)
    case 'take':
      return record({ kind: choice('update', 'means', 'unweighted-means') })(args, at)
    case 'approach': {
      const own = record({ chosen: typed(Float32Array), firstLabel: whole(0, 2 ** 31) })(args, at)
      const count = own.chosen.length / cols
      if (Number.isInteger(count) && count > 0 && own.chosen.every(Number.isFinite)) return own
      throw wrongValue(at, own.chosen.length, `rows of ${cols} numbers`)
    }
    case 'farthest':
      return record({ count: whole(1) })(args, at)
    case 'retreat':
    case 'squares':
    case 'measure':
    case 'nearest':
    case 'labels':
    case 'distances':
    case 'lists':
      return nothing(args, at) as Record<string, never>
    default:
      throw new CentroidalError(
        'bad-data',
        `${show(name)} is not a known task of this version (${most}): install the same version everywhere.`,
      )
  }
}

/** Notes other than centres and follow, which are deltas. */
export function checkNote(name: NoteName, note: unknown, { rows, most }: RunSizes): OwnerNotes[NoteName] {
  const at = `the note ${name}`
  switch (name) {
    case 'endRound':
      return roundSchema(note, at)
    case 'labels':
      return record({ labels: optional(checkLabels(rows, most)) })(note, at) as OwnerNotes['labels']
    case 'relabel': {
      const own = record({ rows: typed(Float64Array), labels: typed(Uint32Array) })(note, at)
      const fits =
        own.rows.length === own.labels.length &&
        own.rows.every((row) => Number.isInteger(row) && row >= 0 && row < rows) &&
        own.labels.every((label) => label < most)
      if (fits) return own
      throw wrongValue(at, own.rows.length, `rows below ${rows} and labels below ${most}`)
    }
    case 'restore': {
      const { arrays } = record({ arrays: plainObject })(note, at)
      for (const [key, values] of Object.entries(arrays)) {
        if (!ArrayBuffer.isView(values)) throw wrongValue(`${at}.${key}`, values, 'an array of numbers')
      }
      return { arrays } as OwnerNotes['restore']
    }
    case 'undo':
      return nothing(note, at) as Record<string, never>
    default:
      throw new CentroidalError(
        'bad-data',
        `${show(name)} is not a known note of this version: install the same version everywhere.`,
      )
  }
}

/** Centres as a delta, with what belongs to them. */
export function checkCenters(note: unknown, { most }: RunSizes) {
  return record({ delta: checkCenterDelta, mixture: checkMixture(most), labelled: choice(true, false) })(
    note,
    'the note centers',
  )
}

export function checkFollow(note: unknown): { delta: SumsDelta; whole: boolean; news: unknown } {
  const {
    delta,
    whole: all,
    news,
  } = record({
    delta: checkSumsDelta,
    whole: choice(true, false),
    news: (value) => value,
  })(note, 'the note follow')
  return { delta, whole: all, news }
}

/** Data of the update for the other owners: the length of the longest point, or new numbers of components. */
export function checkNews(news: unknown, most: number): unknown {
  if (news === undefined || news === null) return undefined
  const own = plainObject(news, 'the news')
  if ('longest' in own) return record({ type: choice('f32', 'u8', 'csr'), longest: real(0) })(own, 'the news')
  const { renamed, before } = record({ renamed: optional(typed(Uint32Array)), before: optional(whole(1, most)) })(
    own,
    'the news',
  )
  if (renamed && (before === undefined || renamed.length !== before))
    throw wrongValue('the news', renamed.length, 'names')
  if (renamed?.some((name) => name >= most && name !== NO_LABEL))
    throw wrongValue('the news', 'a name', `below ${most}`)
  return { renamed, before }
}

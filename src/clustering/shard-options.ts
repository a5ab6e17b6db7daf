/** The options that say where the points of a run live: `devices` and `shards`. */
import { whole } from '../core/arguments.ts'
import { badArgument } from '../core/errors.ts'
import { deviceChoice } from '../vectors/device-choice.ts'
import type { ShardChoice } from '../vectors/layout.ts'
import type { ClusterOptions } from './options.ts'

/** Shards of equal size where several devices share the work and nothing else is said: enough to deal them out evenly. */
const SHARDS_OF_SEVERAL = 16
const MOST_SHARDS = 1_000_000

export function deviceChoices(value: unknown, thing: string): NonNullable<ClusterOptions['devices']> {
  if (!Array.isArray(value) || value.length === 0) {
    throw badArgument(thing, value, 'give a list of one or more devices.')
  }
  const list = value.map((each, i) => deviceChoice(each, `${thing}[${i}]`))
  list.forEach((each, i) => {
    if (typeof each === 'object' && list.indexOf(each) < i) {
      throw badArgument(`${thing}[${i}]`, 'a device that is in the list already', 'give every device once.')
    }
  })
  return list
}

export function checkShards(value: unknown, thing: string): ShardChoice {
  if (typeof value === 'number') return whole(1, MOST_SHARDS)(value, thing)
  if (!Array.isArray(value) || value.length === 0) {
    throw badArgument(thing, value, 'give a number of shards, or a list with the number of vectors of each.')
  }
  return value.map((count, i) => whole(0)(count, `${thing}[${i}]`))
}

/** A run that is resumed keeps its shards. */
export function shardChoice({ shards, devices, resume }: ClusterOptions): ShardChoice | undefined {
  const before = resume?.facts.options.shards as ShardChoice | undefined
  return shards ?? before ?? (devices && devices.length > 1 ? SHARDS_OF_SEVERAL : undefined)
}

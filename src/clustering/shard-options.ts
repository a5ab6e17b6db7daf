/** The options that say where the points of a run live: `devices` and `shards`. */
import { whole } from '../core/arguments.ts'
import { badArgument, badOption } from '../core/errors.ts'
import { deviceChoice } from '../vectors/device-choice.ts'
import type { ShardChoice } from '../vectors/layout.ts'
import type { AnyClusterOptions } from './cluster-options.ts'
import type { Machines } from './remote-owners.ts'

/** Shards of equal size where several devices share the work and nothing else is said: enough to deal them out evenly. */
const SHARDS_OF_SEVERAL = 16
const MOST_SHARDS = 1_000_000

export function deviceChoices(value: unknown, thing: string): NonNullable<AnyClusterOptions['devices']> {
  if (!Array.isArray(value) || value.length === 0) {
    throw badArgument(thing, value, 'give a list of one or more devices.')
  }
  const list = value.map((each, i) => deviceChoice(each, `${thing}[${i}]`))
  list.forEach((each, i) => {
    if (typeof each === 'object' && list.indexOf(each) < i) {
      throw badArgument(`${thing}[${i}]`, 'a device that is already in the list', 'give each device once.')
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

export function checkMachines(value: unknown, thing: string): Machines {
  if (typeof (value as Machines | undefined)?.begin === 'function') return value as Machines
  throw badArgument(thing, value, 'give the result of connect().')
}

/** What other machines cannot do yet is refused before anything begins. */
export function requireDivisible(
  { devices, weights, k }: AnyClusterOptions,
  shards: readonly number[] | undefined,
): void {
  if (shards === undefined) {
    throw badOption(
      'on',
      'other machines',
      'they read shards themselves; instead of vectors, give the result of openShards().',
    )
  }
  if (devices !== undefined)
    throw badOption('devices', devices, 'with option on, every worker opens its own device; leave it out.')
  if (weights !== undefined)
    throw badOption('weights', weights, 'weights are not supported on other machines; leave it out.')
  if (k === 'auto') throw badOption('k', k, 'with option on, give a number, or method egm or agm.')
}

/** A run that is resumed keeps its shards. */
export function shardChoice(
  { shards, devices, resume }: AnyClusterOptions,
  given: readonly number[] | undefined,
): ShardChoice | undefined {
  if (given !== undefined) {
    if (shards !== undefined)
      throw badOption('shards', shards, 'the vectors are already divided into shards; leave it out.')
    const earlier = resume?.facts.options.shards
    if (resume && JSON.stringify(earlier) !== JSON.stringify(given)) {
      throw badOption('resume', 'a model of other shards', 'resume with the manifest it was created from.')
    }
    return given
  }
  const before = resume?.facts.options.shards as ShardChoice | undefined
  return shards ?? before ?? (devices && devices.length > 1 ? SHARDS_OF_SEVERAL : undefined)
}

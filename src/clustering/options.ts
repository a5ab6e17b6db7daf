/** Options of a clustering, checked, with every default filled in. */

import {
  callback,
  choice,
  flag,
  type Given,
  numberList,
  type OptionChecks,
  optionsOf,
  real,
  whole,
} from '../core/arguments.ts'
import { badArgument, badOption, CentroidalError, show } from '../core/errors.ts'
import { denseMatrix, isMatrix, isWideMatrix, type Matrix, toMatrix, type VectorSource } from '../core/matrix.ts'
import type { DeviceSpeed } from '../device/speed.ts'
import type { MethodName, MethodOptions, StartName } from '../models/method-names.ts'
import { type ClusterModel, clusterModel } from '../models/model.ts'
import type { ShardChoice } from '../vectors/layout.ts'
import { checkWeights, type PointWeights, weightedRows } from '../vectors/point-weights.ts'
import { WORK_CHECKS } from '../vectors/work-options.ts'
import type { AnyClusterOptions, StartChoice } from './cluster-options.ts'
import { resolveSettings, type Settings } from './method-options.ts'
import { automaticMethod, type Shape } from './method-task.ts'
import { baseOf, methodRow, type OwnMethod, ownMethod } from './own-method.ts'
import { METHODS } from './presets.ts'
import { relocationChoice } from './relocation/option.ts'
import { checkMachines, checkShards, deviceChoices, requireDivisible, shardChoice } from './shard-options.ts'

type ResolvedStart = StartName | 'all' | number | Matrix

/** Options with every default filled in. */
export interface ResolvedOptions extends PointWeights {
  /** Clusters the run begins with. */
  readonly k: number
  /** Where the caller brings a method: the one whose options and candidates it takes. */
  readonly method: MethodName
  readonly own: OwnMethod | undefined
  /** Why, where it was `auto` that chose. */
  readonly methodReason: string | undefined
  readonly seed: number
  readonly iterations: number
  readonly tolerance: number
  readonly seconds: number
  readonly restarts: number
  readonly start: ResolvedStart
  readonly metric: 'euclidean' | 'cosine'
  readonly empty: 'farthest' | 'keep'
  readonly relocate: boolean
  /** Undefined: as the memory of the device requires. */
  readonly shards: ShardChoice | undefined
  /** Options of the method. */
  readonly settings: Settings
}

/** All values, for programs that offer a choice. */
export const START_NAMES: readonly StartName[] = [
  'auto',
  'random-labels',
  'random',
  'kpp',
  'kpp-parallel',
  'tree',
  'sample',
  'hkm',
  'bisecting',
]

/** The default value. */
export const CLUSTER_DEFAULTS = {
  method: 'auto',
  seed: 0,
  iterations: 100,
  tolerance: 1e-4,
  seconds: Number.POSITIVE_INFINITY,
  restarts: 1,
  start: 'auto',
  metric: 'euclidean',
  empty: 'farthest',
} as const

/** Larger values would practically never finish. */
const MOST_ITERATIONS = 1_000_000_000
const MOST_RESTARTS = 10_000

/** Options of every method. Those of single methods are in the tables of {@link METHODS}. */
const CHECKS: OptionChecks<Omit<AnyClusterOptions, keyof MethodOptions>> = {
  k: anything,
  method: (value, thing) => methodName(value, thing),
  seed: whole(0),
  iterations: whole(1, MOST_ITERATIONS),
  tolerance: real(0),
  seconds: real(0),
  restarts: whole(1, MOST_RESTARTS),
  start: (value, thing) => givenStart(value, thing),
  metric: choice(['euclidean', 'cosine']),
  weights: numberList,
  empty: choice(['farthest', 'keep']),
  relocate: flag,
  ...WORK_CHECKS,
  devices: deviceChoices,
  shards: checkShards,
  on: checkMachines,
  onIteration: callback,
  checkpoint: (value, thing) => checkCheckpoint(value, thing),
  resume: clusterModel,
}

/** What depends on other options is checked where those are known. */
function anything<T>(value: unknown, thing: string): T {
  if (value === null) throw badArgument(thing, value, 'give a value, or leave it out.')
  return value as T
}

/** Centres as a matrix, whatever they were given as. */
function givenStart(value: unknown, thing: string): ResolvedStart {
  if (Array.isArray(value) || isWideMatrix(value)) return toMatrix(value, 'the given centres')
  return anything(value, thing)
}

function methodName(value: unknown, thing: string): 'auto' | MethodName | OwnMethod {
  if (typeof value === 'object' && value !== null) return ownMethod(value)
  return choice(['auto', ...(Object.keys(METHODS) as MethodName[])])(value, thing)
}

function checkCheckpoint(value: unknown, thing: string): NonNullable<AnyClusterOptions['checkpoint']> {
  if (typeof value !== 'object' || value === null) {
    throw badArgument(thing, value, 'give an object with every and save.')
  }
  // An object of the caller's own, with more in it perhaps: save is called as its method.
  const { every, save } = value as { every: unknown; save: unknown }
  const call = callback<(model: ClusterModel) => Promise<void> | void>(save, `${thing}.save`)
  return { every: whole(1)(every, `${thing}.every`), save: (model) => call.call(value, model) }
}

/** What a caller gave to `cluster`: known options only, each read once. */
export function readOptions(options: unknown): AnyClusterOptions {
  const ofMethods = Object.values(METHODS).flatMap((method) => method.options.map(({ name }) => [name, anything]))
  return optionsOf<AnyClusterOptions>('cluster', options, {
    ...CHECKS,
    ...(Object.fromEntries(ofMethods) as OptionChecks<MethodOptions>),
  })
}

/** `speed`: of the device, once it is open. */
export function resolveOptions(options: AnyClusterOptions, shape: Shape, speed?: DeviceSpeed): ResolvedOptions {
  const { rows, cols, shards } = shape
  const given = options.method ?? CLUSTER_DEFAULTS.method
  const own = typeof given === 'object' ? given : undefined
  const method = typeof given === 'object' ? baseOf(given) : given
  if (own) requireFittingOwn(own, options)
  const finds = method !== 'auto' && METHODS[method].findsCount === true
  if (options.device !== undefined && options.devices !== undefined) {
    throw badOption('devices', options.devices, 'give either device or devices.')
  }
  if (options.on) requireDivisible(options, shards)
  const weighted = checkWeights(options.weights, rows)
  const k = finds ? firstCount(options, method, weightedRows(weighted.weights, rows)) : checkCount(options.k, rows)
  const chosen = method === 'auto' ? automaticMethod(options, shape, speed) : undefined
  const name = chosen?.method ?? (method as MethodName)
  const called = own?.name ?? name
  checkNames(options, name, called)
  if (options.weights && METHODS[name].weights === false)
    throw badOption('weights', options.weights, `method ${name} does not support weights; leave them out.`)
  const { seed, iterations, tolerance, seconds, restarts, metric, empty } = {
    ...CLUSTER_DEFAULTS,
    ...(options as Given<AnyClusterOptions>),
  }
  return {
    k,
    method: name,
    own,
    methodReason: chosen?.reason,
    seed,
    iterations,
    tolerance,
    seconds,
    restarts,
    start: checkStart(options.start ?? CLUSTER_DEFAULTS.start, k, cols, finds),
    metric,
    ...weighted,
    empty,
    relocate: relocationChoice(
      options,
      { name: called, able: methodRow(name, own).relocates === true },
      { rows, cols, k, sharded: shards !== undefined },
    ),
    shards: shardChoice(options, shards),
    settings: resolveSettings(name, METHODS[name].options, options),
  }
}

/** Functions stay in this process, and those that choose candidates know the numbers of the rows. */
function requireFittingOwn({ name, candidates }: OwnMethod, { on, start }: AnyClusterOptions): void {
  if (on) throw badOption('method', name, 'a custom method cannot run on other machines; leave out option on.')
  if (typeof candidates === 'function' && start === 'sample') {
    throw badOption(
      'start',
      start,
      `the candidates of ${name} depend on row numbers, which differ in a sample; give another start.`,
    )
  }
}

/** Sparse rows go only where every kernel takes them, so that they are never made dense. */
export function requireSparseOptions(source: VectorSource, { method, start }: ResolvedOptions): void {
  if (source.sparse === undefined) return
  if (!METHODS[method].sparse) {
    const names = (Object.keys(METHODS) as MethodName[]).filter((name) => METHODS[name].sparse)
    const takers = `give ${names.join(', ')}`
    throw badOption('method', method, `it requires dense rows, and ${source.name} is sparse; ${takers}.`)
  }
  if (start === 'tree') {
    throw badOption(
      'start',
      start,
      `it requires dense rows, and ${source.name} is sparse; give random, kpp or parallel.`,
    )
  }
}

function checkCount(k: AnyClusterOptions['k'], rows: number): number {
  if (k === undefined) {
    throw new CentroidalError(
      'bad-option',
      "Option k is missing: give the number of clusters, as in { k: 8 }, or { k: 'auto' } to have it found.",
    )
  }
  if (typeof k !== 'number' || !Number.isInteger(k) || k < 1)
    throw badOption('k', k, "give a whole number of clusters, at least 1, or 'auto'.")
  if (k > rows) throw badOption('k', k, `there are only ${rows} vectors; give at most that many clusters.`)
  return k
}

/** Components to begin with, for methods that find how many there are. */
function firstCount(options: AnyClusterOptions, method: MethodName, rows: number): number {
  const { k, start, resume } = options
  if (k !== undefined) {
    throw badOption(
      'k',
      k,
      `${method} finds the number of clusters itself; leave k out. Option start sets how many it begins with.`,
    )
  }
  if (resume) return resume.facts.k
  if (isMatrix(start)) return start.rows
  if (start === 'all') return rows
  if (start === undefined || start === 'auto') {
    const { startCount, options: own } = METHODS[method]
    return startCount?.(resolveSettings(method, own, options), rows) ?? rows
  }
  if (typeof start === 'number' && Number.isInteger(start) && start >= 1 && start <= rows) return start
  throw badOption(
    'start',
    start,
    `for ${method}, give 'all', a number of initial clusters from 1 to ${rows}, or a matrix of centres.`,
  )
}

/** Refuses options that belong to another method. */
function checkNames(options: AnyClusterOptions, method: MethodName, called: string): void {
  for (const [name, value] of Object.entries(options)) {
    if (Object.hasOwn(CHECKS, name)) continue
    const takes = (of: MethodName): boolean => METHODS[of].options.some((option) => option.name === name)
    if (takes(method)) continue
    const owners = (Object.keys(METHODS) as MethodName[]).filter(takes)
    throw badOption(name, value, `${called} does not support this option; it belongs to ${owners.join(', ')}.`)
  }
}

function checkStart(start: StartChoice, k: number, cols: number, finds: boolean): ResolvedStart {
  // Other values were checked by firstCount.
  if (finds && !isMatrix(start)) return start as ResolvedStart
  if (typeof start === 'string') return choice<StartName | 'all'>(START_NAMES)(start, 'option start')
  if (!isMatrix(start)) throw badOption('start', start, `give ${START_NAMES.join(', ')}, or a matrix of centres.`)
  denseMatrix(start, 'option start')
  if (start.rows > k || start.cols !== cols) {
    const most = k === 1 ? '1 row' : `at most ${k} rows`
    throw badOption(
      'start',
      `a matrix of ${start.rows} x ${start.cols}`,
      `give ${most} of ${cols} columns, one for each initial centre.`,
    )
  }
  start.data.forEach((value, i) => {
    if (!Number.isFinite(value)) {
      throw new CentroidalError(
        'bad-data',
        `Row ${Math.floor(i / cols)} of the initial centres holds ${show(value)}: all must be finite.`,
      )
    }
  })
  return start
}

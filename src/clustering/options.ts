/** What a caller may ask of a clustering, with the defaults and why they are what they are. */
import {
  abortSignal,
  callback,
  choice,
  flag,
  numberList,
  type OptionChecks,
  optionsOf,
  real,
  whole,
} from '../core/arguments.ts'
import { badArgument, badOption, CentroidalError, show } from '../core/errors.ts'
import { denseMatrix, isMatrix, type Matrix, type VectorSource } from '../core/matrix.ts'
import type { Device } from '../device/contract.ts'
import type { DeviceOptions } from '../device/open.ts'
import type { DeviceSpeed } from '../device/speed.ts'
import { type ClusterModel, clusterModel } from '../models/model.ts'
import type { IterationStats } from '../models/stats.ts'
import { deviceChoice } from '../vectors/device-choice.ts'
import type { ShardChoice } from '../vectors/layout.ts'
import { checkWeights, type PointWeights, weightedRows } from '../vectors/point-weights.ts'
import { type MethodOptions, resolveSettings, type Settings } from './method-options.ts'
import { automaticMethod, type Shape } from './method-task.ts'
import { METHODS, type MethodName } from './presets.ts'
import { relocationChoice } from './relocation/option.ts'
import type { Machines } from './remote-owners.ts'
import type { StartName } from './run-state.ts'
import { checkMachines, checkShards, deviceChoices, requireDivisible, shardChoice } from './shard-options.ts'

/** What can be asked of a clustering. Options of single methods are in {@link MethodOptions}. */
export interface ClusterOptions extends MethodOptions {
  /**
   * Number of clusters, which has to be given. `auto`: the library finds it, by `egm` for few vectors and `agm` for many,
   * and checks it by runs on halves of the vectors (`facts.certainty` of the model). Methods that find it themselves take
   * no number.
   */
  readonly k?: number | 'auto'
  /**
   * How to cluster. Default `auto`: `lloyd` below 100 clusters, for sparse rows, and where a round over every centre takes no
   * noticeable time on the device, or clearly less than one of `closures-sharp`; otherwise `closures-sharp`, whose rounds
   * do not cost more with more clusters. It goes by the speed of the device, `info.speed`, so another device may choose
   * otherwise; `facts.options.methodReason` of the model tells why. A run that is resumed keeps its method.
   */
  readonly method?: 'auto' | MethodName
  /** Same seed, same device, same result, bit for bit. Default 0, so that a run repeats without being told to. */
  readonly seed?: number
  /** Most rounds. Default 100: Lloyd on real data has long flattened out by then. */
  readonly iterations?: number
  /** Stop when a round lowers the distortion by less than this share of it. Default 0.0001: what is to be gained after that is hardly seen in the clusters; 0 runs on until nothing moves. */
  readonly tolerance?: number
  /** Stop after the first round that ends later than this many seconds. Default: no limit, so that a run repeats on a slower machine. */
  readonly seconds?: number
  /** Runs from different starts, of which the best is kept. Default 1, as each costs as much as the first. */
  readonly restarts?: number
  /**
   * Where the centres begin: `none` (a random label for each point), `random` points, `kpp` (greedy k-means++, on a sample of
   * at least 16,384 points and 20 for each cluster), `parallel` (k-means||, the same idea in few passes over all points),
   * `tree` (cells of a partition tree), `sample` (a clustering of a sample by the same method: up to 64 points for each
   * cluster and a quarter of all at most; for closures and closures-sharp a quarter of all, if that is large enough to begin
   * from a sample itself), `hkm` (leaves of a tree of small k-means), `bisecting` (the same, always in two), or a
   * matrix of centres. If the matrix has fewer than k rows, the other centres are chosen by greedy k-means++ in addition to
   * these. Methods that find the number of clusters begin with `all` points, with a number of centres, or with
   * given ones. Default `auto`: what suits the method (closures and
   * closures-sharp begin from a sample if there are at least 131,072 points and 192 for each cluster), else greedy k-means++ on a sample that takes less than a fifth of the
   * run, or k-means|| if that sample would be too small.
   */
  readonly start?: StartChoice
  /** `cosine` brings vectors and centres to length one. Default `euclidean`, which leaves vectors as they are. */
  readonly metric?: 'euclidean' | 'cosine'
  /** A weight for each point, 0 or more: it counts as so many points at its place. Default: all 1. */
  readonly weights?: ArrayLike<number>
  /**
   * What becomes of a cluster that lost all its points. `farthest` (default) gives it the point
   * farthest from its centre, which never raises the distortion; `keep` leaves it empty where it was.
   */
  readonly empty?: 'farthest' | 'keep'
  /**
   * Leave poor local optima: when progress slows, and before the run ends, two clusters that are close to each other are
   * merged and one that holds several groups is split instead, wherever that lowers the distortion. Default true for the
   * methods that can (lloyd, sharp, closures, closures-sharp, akm, rakm), except where the centres to start from are given:
   * there the result is that of the plain method, and for shards of more than a billion numbers, because the leading process
   * reads all vectors for it.
   */
  readonly relocate?: boolean
  /** An open device (stays open), or which one to open or share. Default `auto`: a hardware GPU where there is one, else all cores. */
  readonly device?: Device | DeviceOptions | 'auto' | 'webgpu' | 'cpu'
  /**
   * Several devices that work at the same time, each on some of the shards: open ones, or what to open. Instead of `device`.
   * Devices of one kind give the same result as one of them, bit for bit, if `shards` is the same. Default: one device.
   */
  readonly devices?: readonly (Device | DeviceOptions | 'auto' | 'webgpu' | 'cpu')[]
  /**
   * Into how many shards the vectors are cut, or the number of vectors of each. A shard is a fixed range of rows that one
   * device owns; which device that is never changes the result. Default: as many as the memory of the device requires, mostly
   * one; with several devices at least 16.
   */
  readonly shards?: number | readonly number[]
  /**
   * Other machines that do the work: what {@link connect} returned. The vectors must be those of a manifest of shards
   * ({@link openShards}). The result is that of a run in this process over the same shards, bit for bit, on devices of the
   * same kind. `device` is used here for the small part of the work that is not divided. Default: this process works alone.
   */
  readonly on?: Machines
  /** Stops the run; what was reached so far is the result. Default: none. */
  readonly signal?: AbortSignal
  /** Called after every round. Default: nobody is told. */
  readonly onIteration?: (stats: IterationStats) => void
  /** Called while something takes long: what it is, and the share that is done. Default: nobody is told. */
  readonly onProgress?: (phase: string, share: number) => void
  /** Called with the state so far every `every` rounds, for example to save it. Default: none, as reading it takes time. */
  readonly checkpoint?: { readonly every: number; save(model: ClusterModel): Promise<void> | void }
  /**
   * A model to go on from: centres, labels and the count of rounds are taken over. With the same vectors, options and device
   * the result is that of a run that was not interrupted, bit for bit; a run that had converged returns at once. A checkpoint
   * goes on with the restart it was taken in and those after it. Default: none.
   */
  readonly resume?: ClusterModel
}

/** Where centres begin: by name, by a number of points (egm, agm), or given. */
export type StartChoice = StartName | 'all' | number | Matrix

/** Options with every default filled in. */
export interface ResolvedOptions extends PointWeights {
  /** Clusters the run begins with. */
  readonly k: number
  readonly method: MethodName
  /** Why, where it was `auto` that chose. */
  readonly methodReason: string | undefined
  readonly seed: number
  readonly iterations: number
  readonly tolerance: number
  readonly seconds: number
  readonly restarts: number
  readonly start: StartChoice
  readonly metric: 'euclidean' | 'cosine'
  readonly empty: 'farthest' | 'keep'
  readonly relocate: boolean
  /** Undefined: as the memory of the device requires. */
  readonly shards: ShardChoice | undefined
  /** Options of the method. */
  readonly settings: Settings
}

/** All there are, for programs that offer a choice. */
export const START_NAMES: readonly StartName[] = [
  'auto',
  'none',
  'random',
  'kpp',
  'parallel',
  'tree',
  'sample',
  'hkm',
  'bisecting',
]

/** What is taken where nothing is said. */
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
const CHECKS: OptionChecks<Omit<ClusterOptions, keyof MethodOptions>> = {
  k: anything,
  method: (value, thing) => methodName(value, thing),
  seed: whole(0),
  iterations: whole(1, MOST_ITERATIONS),
  tolerance: real(0),
  seconds: real(0),
  restarts: whole(1, MOST_RESTARTS),
  start: anything,
  metric: choice(['euclidean', 'cosine']),
  weights: numberList,
  empty: choice(['farthest', 'keep']),
  relocate: flag,
  device: deviceChoice,
  devices: deviceChoices,
  shards: checkShards,
  on: checkMachines,
  signal: abortSignal,
  onIteration: callback,
  onProgress: callback,
  checkpoint: (value, thing) => checkCheckpoint(value, thing),
  resume: clusterModel,
}

/** What depends on other options is checked where those are known. */
function anything<T>(value: unknown, thing: string): T {
  if (value === null) throw badArgument(thing, value, 'give a value, or leave it out.')
  return value as T
}

function methodName(value: unknown, thing: string): 'auto' | MethodName {
  return choice(['auto', ...(Object.keys(METHODS) as MethodName[])])(value, thing)
}

function checkCheckpoint(value: unknown, thing: string): NonNullable<ClusterOptions['checkpoint']> {
  if (typeof value !== 'object' || value === null) {
    throw badArgument(thing, value, 'give an object with every and save.')
  }
  // An object of the caller's own, with more in it perhaps: save is called as its method.
  const { every, save } = value as { every: unknown; save: unknown }
  const call = callback<(model: ClusterModel) => Promise<void> | void>(save, `${thing}.save`)
  return { every: whole(1)(every, `${thing}.every`), save: (model) => call.call(value, model) }
}

/** What a caller gave to `cluster`: known options only, each read once. */
export function readOptions(options: unknown): ClusterOptions {
  const ofMethods = Object.values(METHODS).flatMap((method) => method.options.map(({ name }) => [name, anything]))
  return optionsOf<ClusterOptions>('cluster', options, {
    ...CHECKS,
    ...(Object.fromEntries(ofMethods) as OptionChecks<MethodOptions>),
  })
}

/** `speed`: of the device, once it is open. */
export function resolveOptions(options: ClusterOptions, shape: Shape, speed?: DeviceSpeed): ResolvedOptions {
  const { rows, cols, shards } = shape
  const method = options.method ?? CLUSTER_DEFAULTS.method
  const finds = method !== 'auto' && METHODS[method].findsCount === true
  if (options.device !== undefined && options.devices !== undefined) {
    throw badOption('devices', options.devices, 'give either device or devices.')
  }
  if (options.on) requireDivisible(options, shards)
  const weighted = checkWeights(options.weights, rows)
  const k = finds ? firstCount(options, method, weightedRows(weighted.weights, rows)) : checkCount(options.k, rows)
  const chosen = method === 'auto' ? automaticMethod(options, shape, speed) : undefined
  const name = chosen?.method ?? (method as MethodName)
  checkNames(options, name)
  if (options.weights && METHODS[name].weights === false)
    throw badOption('weights', options.weights, `${name} takes none.`)
  const { seed, iterations, tolerance, seconds, restarts, metric, empty } = { ...CLUSTER_DEFAULTS, ...options }
  return {
    k,
    method: name,
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
    relocate: relocationChoice(options, name, shards && rows * cols),
    shards: shardChoice(options, shards),
    settings: resolveSettings(name, METHODS[name].options, options),
  }
}

/** Sparse rows go only where every kernel takes them, so that they are never made dense. */
export function requireSparseOptions(source: VectorSource, { method, start }: ResolvedOptions): void {
  if (source.sparse === undefined) return
  if (!METHODS[method].sparse) {
    const names = (Object.keys(METHODS) as MethodName[]).filter((name) => METHODS[name].sparse)
    const takers = names.length > 1 ? `these do: ${names.join(', ')}` : `${names[0]} does`
    throw badOption('method', method, `it does not take sparse rows, and ${source.name} holds such; ${takers}.`)
  }
  if (start === 'tree') {
    throw badOption(
      'start',
      start,
      `it does not take sparse rows, and ${source.name} holds such; give random, kpp or parallel.`,
    )
  }
}

function checkCount(k: ClusterOptions['k'], rows: number): number {
  if (typeof k !== 'number' || !Number.isInteger(k) || k < 1)
    throw badOption('k', k, "give a whole number of clusters, at least 1, or 'auto'.")
  if (k > rows) throw badOption('k', k, `there are only ${rows} vectors; give at most that many clusters.`)
  return k
}

/** Components to begin with, for methods that find how many there are. */
function firstCount(options: ClusterOptions, method: MethodName, rows: number): number {
  const { k, start, resume } = options
  if (k !== undefined) {
    throw badOption('k', k, `${method} finds the number of clusters: leave k out, start says how many it begins with.`)
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
    `${method} begins with all, with a number of vectors from 1 to ${rows}, or with centres.`,
  )
}

/** Refuses options that belong to another method. */
function checkNames(options: ClusterOptions, method: MethodName): void {
  for (const [name, value] of Object.entries(options)) {
    if (Object.hasOwn(CHECKS, name)) continue
    const takes = (of: MethodName): boolean => METHODS[of].options.some((option) => option.name === name)
    if (takes(method)) continue
    const owners = (Object.keys(METHODS) as MethodName[]).filter(takes)
    const verb = owners.length > 1 ? 'do' : 'does'
    throw badOption(name, value, `${method} does not take it, ${owners.join(', ')} ${verb}.`)
  }
}

function checkStart(start: StartChoice, k: number, cols: number, finds: boolean): StartChoice {
  // What else these take was looked at when components were counted.
  if (finds && !isMatrix(start)) return start
  if (typeof start === 'string') return choice<StartName | 'all'>(START_NAMES)(start, 'option start')
  if (!isMatrix(start)) throw badOption('start', start, `give ${START_NAMES.join(', ')}, or a matrix of centres.`)
  denseMatrix(start, 'option start')
  if (start.rows > k || start.cols !== cols) {
    const most = k === 1 ? '1 row' : `at most ${k} rows`
    throw badOption(
      'start',
      `a matrix of ${start.rows} x ${start.cols}`,
      `give ${most} of ${cols} columns: one row for each centre to start from.`,
    )
  }
  start.data.forEach((value, i) => {
    if (!Number.isFinite(value)) {
      throw new CentroidalError(
        'bad-data',
        `Row ${Math.floor(i / cols)} of the centres to start from holds ${show(value)}: all must be finite.`,
      )
    }
  })
  return start
}

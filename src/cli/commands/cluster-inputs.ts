/** Everything a clustering needs from files, read and checked before anything is made or started. */
import {
  CentroidalError,
  CLUSTER_DEFAULTS,
  type ClusterModel,
  type ClusterOptions,
  loadModel,
  METHODS,
  type MethodName,
  type MethodOptions,
  readVectors,
  type VectorSource,
} from '../../index.ts'
import { badValue } from '../option-values.ts'
import type { RunLimits } from '../progress/time-left.ts'
import { readTextFile } from '../text-file.ts'
import { type Classes, namesIn, readClasses, requireLength } from '../truth.ts'
import type { ClusterFlags } from './cluster-options.ts'
import { givenMethodOptions } from './method-flags.ts'

export interface ClusterInputs {
  readonly options: ClusterOptions
  readonly limits: RunLimits
  readonly truth: Classes | undefined
  readonly resumed: ClusterModel | undefined
}

/** The vectors with the names of a text file, if there is one. */
export async function withNames(source: VectorSource, file: string | undefined): Promise<VectorSource> {
  if (file === undefined) return source
  const text = await readTextFile(file)
  if (text === undefined) throw badValue('--names', file, 'there is no such file.')
  const names = namesIn(text)
  requireLength(file, names.length, source.rows, 'vectors', 'names')
  return Object.assign(source, { names: async () => names })
}

export async function readInputs(flags: ClusterFlags, source: VectorSource): Promise<ClusterInputs> {
  const resumed = flags.resume === undefined ? undefined : await loadModel(flags.resume)
  const k = clusterCount(flags, resumed)
  checkImage(flags, source)
  const truth = flags.truth === undefined ? undefined : await readClasses(flags.truth)
  if (truth) requireLength(flags.truth!, truth.length, source.rows, 'vectors', 'classes')
  const earlier = resumed && takenOver(resumed, flags)
  const limits: RunLimits = {
    ...CLUSTER_DEFAULTS,
    ...earlier?.limits,
    ...defined({
      iterations: flags.iterations,
      tolerance: flags.tolerance,
      seconds: flags.seconds,
      restarts: flags.restarts,
    }),
  }
  const { method, metric, empty, relocate, shards, seed } = flags
  const options: ClusterOptions = {
    ...(k === undefined ? {} : { k }),
    ...limits,
    ...earlier?.options,
    ...defined({ method, metric, empty, relocate, shards, seed }),
    ...givenMethodOptions(flags),
    ...(flags.weights === undefined ? {} : { weights: await readWeights(flags.weights, source.rows) }),
    ...(await readStart(flags)),
    ...(resumed ? { resume: resumed } : {}),
  }
  return { options, limits, truth, resumed }
}

/** Undefined where the method finds it. */
function clusterCount({ k, method }: ClusterFlags, resumed: ClusterModel | undefined): ClusterOptions['k'] {
  const name = method ?? resumed?.facts.method
  if (name !== undefined && name in METHODS && METHODS[name as MethodName].findsCount) return k
  const count = k ?? resumed?.facts.k
  if (count === undefined)
    throw new CentroidalError(
      'bad-option',
      'Option -k is missing: give the number of clusters, such as -k 100, or -k auto.',
    )
  return count
}

/** A resumed run goes on as it began, except for the limits that ended it. */
function takenOver(
  { facts }: ClusterModel,
  flags: ClusterFlags,
): { options: Partial<ClusterOptions>; limits: Partial<RunLimits> } {
  const { options } = facts
  if (options.weighted === true && flags.weights === undefined) {
    throw new CentroidalError(
      'bad-option',
      `The run in ${JSON.stringify(flags.resume)} had weights: give the same ones with --weights.`,
    )
  }
  // Another method has other options.
  const same = flags.method === undefined || flags.method === facts.method
  return {
    options: {
      ...(same ? (options.settings as MethodOptions | undefined) : undefined),
      method: facts.method as MethodName,
      metric: facts.metric,
      seed: facts.seed,
      empty: options.empty as 'farthest' | 'keep',
    },
    limits: { tolerance: Number(options.tolerance) },
  }
}

async function readWeights(file: string, rows: number): Promise<Float32Array> {
  const { data } = await readVectors(file)
  requireLength(file, data.length, rows, 'vectors')
  return data instanceof Float32Array ? data : Float32Array.from(data)
}

async function readStart({ start }: ClusterFlags): Promise<Pick<ClusterOptions, 'start'>> {
  if (start === undefined) return {}
  if ('points' in start) return { start: start.points }
  return { start: 'name' in start ? start.name : await readVectors(start.file) }
}

function checkImage({ image }: ClusterFlags, source: VectorSource): void {
  if (image === undefined || image.width * image.height === source.cols) return
  const { width, height } = image
  throw badValue(
    '--image',
    `${width}x${height}`,
    `this is ${width * height} pixels, but ${source.name} has ${source.cols} columns; give a size with as many pixels.`,
  )
}

/** Only what has a value: an option given as undefined is not the same as one that is not given. */
export function defined<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}

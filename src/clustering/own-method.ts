/** Custom methods: candidates of each vector and updates of the centres, as functions on the host. */

import { callback, type OptionChecks, optionsOf } from '../core/arguments.ts'
import { badArgument } from '../core/errors.ts'
import type { WideMatrix } from '../core/matrix.ts'
import type { Random } from '../core/random.ts'
import type { CandidatesName, MethodName } from '../models/method-names.ts'
import { givenCandidates } from './candidates/given.ts'
import { METHODS } from './presets.ts'
import type { Method } from './run-state.ts'
import { givenUpdate } from './updates/given.ts'

const SOURCES: readonly CandidatesName[] = ['lloyd', 'closures', 'akm', 'rakm', 'canopy']

/** The argument of a custom candidate function: a range of vectors in a round. */
export interface CandidateRequest {
  /** Number of the round, from 1. */
  readonly iteration: number
  /** Row number of the first vector. */
  readonly first: number
  /** How many vectors there are. */
  readonly count: number
  /** Clusters there are. */
  readonly k: number
  /** The current cluster of each vector. Undefined in the first round if the run starts from centres. */
  readonly labels: Uint32Array | undefined
  /** The centres, k x d, in the units of the vectors. Read from the device when asked for. */
  centers(): Promise<WideMatrix>
  /** The vectors, count x d. Read when asked for. */
  vectors(): Promise<Float32Array | Uint8Array>
  /** Random numbers that depend only on the seed, the round and the range. */
  readonly random: Random
}

/** The candidate clusters of each vector. */
export interface CandidateTable {
  /** count x width numbers of clusters, row after row; `0xffffffff` where a vector has fewer. */
  readonly clusters: Uint32Array
  /** Number of candidates per vector. */
  readonly width: number
}

/** The argument of a custom update function, called after the vectors were assigned. */
export interface UpdateRequest {
  /** Number of the round, from 1; 0 for labels that a run begins with. */
  readonly iteration: number
  /** The centres of this round, k x d, in the units of the vectors. */
  readonly centers: WideMatrix
  /** The means of the clusters; for an empty cluster, its centre. */
  readonly means: WideMatrix
  /** Sums of the weights of the vectors of each cluster; without weights, their number. */
  readonly weights: Float32Array
}

/** A custom method, given as option `method`. */
export interface OwnMethod {
  /** Name of the method in the facts of a model: lower-case letters and hyphens, different from the built-in methods. */
  readonly name: string
  /**
   * The candidate clusters of each vector: those of another method, with its options, or the result of a function. The
   * current cluster of a vector is always a candidate. Default `lloyd`: all clusters.
   */
  readonly candidates?:
    | CandidatesName
    | ((request: CandidateRequest) => CandidateTable | Promise<CandidateTable>)
    | undefined
  /**
   * Returns the new centres: k x d numbers in the units of the vectors, which are normalised for cosine. Default: the
   * means.
   */
  readonly update?: ((request: UpdateRequest) => ArrayLike<number> | Promise<ArrayLike<number>>) | undefined
}

const CHECKS: OptionChecks<OwnMethod> = {
  name: (value, thing) => ownName(value, thing),
  candidates: (value, thing) => (typeof value === 'string' ? sourceName(value, thing) : callback(value, thing)),
  update: callback,
}

/** A method that a caller gave as an object. */
export function ownMethod(value: unknown): OwnMethod {
  return optionsOf<OwnMethod>('a method of your own', value, CHECKS, ['name'])
}

function ownName(value: unknown, thing: string): string {
  if (typeof value !== 'string' || !/^[a-z][a-z-]{0,39}$/.test(value)) {
    throw badArgument(thing, value, 'give a name of at most 40 small letters and hyphens.')
  }
  if (value === 'auto' || Object.hasOwn(METHODS, value)) {
    throw badArgument(thing, value, 'this is the name of a built-in method; give another name.')
  }
  return value
}

function sourceName(value: string, thing: string): CandidatesName {
  if ((SOURCES as readonly string[]).includes(value)) return value as CandidatesName
  throw badArgument(thing, value, `give one of ${SOURCES.join(', ')}, or a function.`)
}

/** The method whose options are taken, and whose candidates unless there are others. */
export function baseOf({ candidates }: OwnMethod): CandidatesName {
  return typeof candidates === 'string' ? candidates : 'lloyd'
}

/** The row of a method, with what the caller puts in its place. */
export function methodRow(method: MethodName, own: OwnMethod | undefined): Method {
  const base = METHODS[method]
  if (own === undefined) return base
  const { candidates, update } = own
  return {
    ...base,
    summary: own.name,
    // Merging and splitting assume that centres are means, and that a vector can have any cluster.
    relocates: base.relocates === true && typeof candidates !== 'function' && update === undefined,
    ...(typeof candidates === 'function' ? { candidates: (state) => givenCandidates(state, candidates) } : {}),
    ...(update === undefined ? {} : { update: (state) => givenUpdate(state, update) }),
  }
}

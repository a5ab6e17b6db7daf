/** Options of a quantizer, with the defaults and their reasons. */

import { callback, choice, type OptionChecks, optionsOf, real, whole } from '../core/arguments.ts'
import { badArgument, badOption, CentroidalError } from '../core/errors.ts'
import { WORK_CHECKS, type WorkOptions } from '../vectors/work-options.ts'
import type { QuantizerStats } from './stats.ts'
import type { TrainingMachines } from './trainer.ts'

/**
 * `pq`: product quantization, subspaces given by the order of the dimensions. `ck`: Cartesian k-means, which also optimizes
 * a rotation. `ok`: orthogonal k-means, a bit for each of m directions. `itq`: iterative quantization, bits of rotated
 * principal components.
 */
export type QuantizerType = 'pq' | 'ok' | 'ck' | 'itq'

/**
 * How dimensions are initially assigned to subspaces (for `pq`, permanently): `natural` groups neighbouring dimensions,
 * `structured` those with the same number modulo m, `random` random ones; `principal` uses the principal directions,
 * rotated at random so that all subspaces have a similar variance.
 */
export type SubspaceOrder = 'natural' | 'structured' | 'random' | 'principal'

/** Options of a quantizer. */
export interface QuantizerOptions extends WorkOptions {
  /** The type of quantizer, required. */
  readonly type: QuantizerType
  /**
   * Number of subspaces, which is the number of codes per vector; for `ok` and `itq` the number of bits. Default 8, or 64
   * bits.
   */
  readonly m?: number | undefined
  /** Codewords of a subspace. Default 256: one byte per code. `ok` and `itq` always have 2. */
  readonly codewords?: number | undefined
  /**
   * How dimensions are assigned to subspaces. Default `natural`, because neighbouring dimensions are often related, as in
   * SIFT; `principal` if the rank is below the number of dimensions, which requires it.
   */
  readonly order?: SubspaceOrder | undefined
  /** Dimensions that are kept. Default all; `ok` and `itq` keep one for each bit. */
  readonly rank?: number | undefined
  /** Maximum number of rounds. Default 100; most runs reach the tolerance earlier. */
  readonly iterations?: number | undefined
  /** Stop when a round lowers the distortion by less than this fraction. Default 0.00001; 0 runs all rounds. */
  readonly tolerance?: number | undefined
  /** Seed of the random numbers: the same seed and device give the same result, bit for bit. Default 0. */
  readonly seed?: number | undefined
  /**
   * Number of training vectors, drawn with the seed. Default: 256 for each codeword of a subspace, and at least 65,536;
   * more hardly improve a quantizer. Give the number of vectors to use all of them.
   */
  readonly sample?: number | undefined
  /**
   * Other machines that own the vectors, from `connect`: they encode and sum up their shards in every round. Requires vectors
   * from `openShards`. Default: this process alone.
   */
  readonly on?: TrainingMachines | undefined
  /**
   * Stops the training after the current round; the result is the current quantizer. Before the first round is complete,
   * the promise is rejected with the reason of the signal. Optional.
   */
  readonly signal?: AbortSignal | undefined
  /** Called after every round. Optional. */
  readonly onIteration?: ((stats: QuantizerStats) => void) | undefined
}

/** Options with every default filled in. */
export interface ResolvedQuantizerOptions {
  /** Which kind it is. */
  readonly type: QuantizerType
  /** Subspaces, or bits. */
  readonly m: number
  /** Codewords of a subspace. */
  readonly codewords: number
  /** How the dimensions were dealt to the subspaces. */
  readonly order: SubspaceOrder
  /** Dimensions that are kept. */
  readonly rank: number
  /** Most rounds. */
  readonly iterations: number
  /** Smallest relative gain of a round. */
  readonly tolerance: number
  /** Seed of the random numbers. */
  readonly seed: number
}

/** All values, for programs that offer a choice. */
export const QUANTIZER_TYPES: readonly QuantizerType[] = ['pq', 'ok', 'ck', 'itq']
/** All values, for programs that offer a choice. */
export const SUBSPACE_ORDERS: readonly SubspaceOrder[] = ['natural', 'structured', 'random', 'principal']
/** Default values; `bits` is m for `ok` and `itq`. */
export const QUANTIZER_DEFAULTS = { m: 8, bits: 64, codewords: 256, iterations: 100, tolerance: 1e-5, seed: 0 } as const

/** Codes are 32-bit words at most, and tables of a query h floats a subspace. */
const MOST_CODEWORDS = 65536

/** A rotation has rank x d numbers and takes about d^3 operations a round: beyond this a round takes minutes. */
const MOST_ROTATED = 4096
/** Principal directions come from an eigendecomposition on the host, d^3 operations that cannot be stopped half-way. */
const MOST_PRINCIPAL = 2048

/** A larger value would practically never finish. */
const MOST_ITERATIONS = 1_000_000_000

/** Default number of training vectors for each codeword, and the minimum in total. */
const PER_CODEWORD = 256
const LEAST_SAMPLE = 65536

/** As many vectors as make a quantizer better. */
export function vectorsThatHelp(codewords: number = QUANTIZER_DEFAULTS.codewords): number {
  return Math.max(LEAST_SAMPLE, PER_CODEWORD * codewords)
}

function trainingMachines(value: unknown, thing: string): TrainingMachines {
  const begin = typeof value === 'object' && value !== null && (value as Partial<TrainingMachines>).beginTraining
  if (typeof begin === 'function') return value as TrainingMachines
  throw badArgument(thing, value, 'give the result of connect().')
}

const CHECKS: OptionChecks<QuantizerOptions> = {
  type: choice(QUANTIZER_TYPES),
  m: whole(1),
  codewords: whole(1, MOST_CODEWORDS),
  order: choice(SUBSPACE_ORDERS),
  rank: whole(1),
  iterations: whole(1, MOST_ITERATIONS),
  tolerance: real(0),
  seed: whole(0),
  sample: whole(1),
  on: trainingMachines,
  ...WORK_CHECKS,
  onIteration: callback,
}

/** What a caller gave to `trainQuantizer`: known options only, each read once. */
export function readQuantizerOptions(options: unknown): QuantizerOptions {
  return optionsOf('trainQuantizer', options, CHECKS, ['type'])
}

export function resolveQuantizerOptions(
  options: QuantizerOptions,
  rows: number,
  cols: number,
): ResolvedQuantizerOptions {
  const { type } = options
  const bits = type === 'ok' || type === 'itq'
  const m = options.m ?? (bits ? QUANTIZER_DEFAULTS.bits : QUANTIZER_DEFAULTS.m)
  const rank = options.rank ?? (bits ? m : cols)
  if (m > cols) throw badOption('m', m, `the vectors have ${cols} dimensions; give at most as many.`)
  if (rank > cols) throw badOption('rank', rank, `the vectors have ${cols} dimensions; give at most as many.`)
  if (rank < m)
    throw badOption('rank', rank, `each of the ${m} subspaces needs at least one dimension; give ${m} or more.`)
  if (bits && rank !== m)
    throw badOption('rank', rank, `type ${type} keeps one dimension for each of its ${m} bits; leave rank out.`)
  const order = options.order ?? (bits || rank < cols ? 'principal' : 'natural')
  if (order !== 'principal' && (bits || rank < cols)) {
    throw badOption('order', order, `keeping ${rank} of ${cols} dimensions requires order principal; leave it out.`)
  }
  checkWidth(type, order, cols)
  return {
    type,
    m,
    codewords: checkCodewords(options.codewords, bits, type, rows),
    order,
    rank,
    iterations: options.iterations ?? QUANTIZER_DEFAULTS.iterations,
    tolerance: options.tolerance ?? QUANTIZER_DEFAULTS.tolerance,
    seed: options.seed ?? QUANTIZER_DEFAULTS.seed,
  }
}

function checkWidth(type: QuantizerType, order: SubspaceOrder, cols: number): void {
  // There is no rotation then.
  if (type === 'pq' && order === 'natural') return
  const most = order === 'principal' ? MOST_PRINCIPAL : MOST_ROTATED
  if (cols <= most) return
  throw new CentroidalError(
    'bad-option',
    `Type ${type} with order ${order} supports at most ${most} dimensions, these vectors have ${cols}: ` +
      'reduce their dimensions first, or use type pq with order natural.',
  )
}

function checkCodewords(given: number | undefined, bits: boolean, type: QuantizerType, rows: number): number {
  if (bits && given !== undefined && given !== 2) {
    throw badOption(
      'codewords',
      given,
      `type ${type} always has two codewords for each bit; leave it out, or use type ck.`,
    )
  }
  const codewords = given ?? (bits ? 2 : QUANTIZER_DEFAULTS.codewords)
  if (codewords > rows) {
    throw badOption('codewords', codewords, `there are only ${rows} vectors to learn from; give at most that many.`)
  }
  return codewords
}

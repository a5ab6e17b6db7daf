/**
 * What `k: 'auto'` does: a Gaussian mixture finds the number of clusters, and two further runs tell how sure it is.
 *
 * The further runs have other seeds and a random half of the vectors each. A cluster counts as found again by how far
 * it agrees with the most similar cluster of the other run: the Jaccard index of their members, the measure of Hennig,
 * "Cluster-wise assessment of cluster stability" (2007), who calls a cluster stable from 0.75 on.
 */

import { badOption } from '../core/errors.ts'
import { elementBytes, matrix, type VectorInput, type VectorSource } from '../core/matrix.ts'
import { sampleDistinct } from '../core/random.ts'
import { stream } from '../core/streams.ts'
import { type DeviceSpeed, speedWords } from '../device/speed.ts'
import type { CountCertainty } from '../models/certainty.ts'
import type { MethodName } from '../models/method-names.ts'
import type { ClusterModel } from '../models/model.ts'
import { chunks, wideChunks } from '../vectors/frame.ts'
import type { AnyClusterOptions } from './cluster-options.ts'
import { CHEAP_ROUND, secondsWords } from './method-choice.ts'
import { UNKNOWN_SPEED } from './method-task.ts'
import { METHODS } from './presets.ts'

const STABLE = 0.75
const RUNS = 2
/** Fewer vectors than this cannot be halved. */
const LEAST_ROWS = 40
/** Vectors of a further run, and vectors whose clusters are compared. */
const MOST_ROWS = 20_000

/**
 * The method and the reason for it, in place of `k: 'auto'`: every vector is compared with every component if a round of
 * that takes no noticeable time on the device. `speed`: of the device, once it is open.
 */
export function automaticOptions(
  options: AnyClusterOptions,
  { rows, cols, sparse, name }: VectorSource,
  { exact }: DeviceSpeed = UNKNOWN_SPEED,
): { readonly options: AnyClusterOptions; readonly reason: string } {
  const { method = 'auto', resume, k: _, ...rest } = options
  if (sparse) {
    throw badOption('k', 'auto', `finding the number of clusters requires dense rows, and ${name} is sparse; give k.`)
  }
  if (typeof method === 'object') throw badOption('k', 'auto', `${method.name} needs a number; give k.`)
  if (method !== 'auto' && !METHODS[method].findsCount) {
    const finders = (Object.keys(METHODS) as MethodName[]).filter((other) => METHODS[other].findsCount)
    throw badOption('k', 'auto', `${method} needs a number; leave method out, or give ${finders.join(' or ')}.`)
  }
  const resumed = resume && { resume }
  if (method !== 'auto') return { options: { ...rest, ...resumed, method }, reason: `${method} finds the number` }
  if (resume) {
    const same = resume.facts.method as MethodName
    return { options: { ...rest, resume, method: same }, reason: 'chosen by auto when the run began' }
  }
  const start = METHODS.egm.startCount?.({ criterion: 'bic' }, rows) ?? rows
  const seconds = (2 * rows * start * cols) / (exact.gflops * 1e9)
  const small = seconds <= CHEAP_ROUND
  const how = small ? 'exactly' : 'approximately'
  const round = `an exact round ${small ? 'takes' : 'would take'} ${secondsWords(seconds)}`
  return {
    options: { ...rest, method: small ? 'egm' : 'agm' },
    reason: `chosen by auto: finds the number of clusters, ${how}; ${speedWords(exact)}: ${round}`,
  }
}

/** Clusters a part of the vectors, with another seed. */
export type RunAgain = (vectors: VectorInput, seed: number, weights: Float32Array | undefined) => Promise<ClusterModel>

/** Undefined if there are too few vectors to tell. `assign` gives the clusters of vectors by a model. */
export async function certaintyOf(
  model: ClusterModel,
  source: VectorSource,
  {
    weights,
    runAgain,
    assign,
  }: {
    readonly weights: ArrayLike<number> | undefined
    readonly runAgain: RunAgain
    readonly assign: (model: ClusterModel, vectors: VectorInput) => Promise<Uint32Array>
  },
): Promise<CountCertainty | undefined> {
  const { rows } = source
  const { k, seed } = model.facts
  if (rows < LEAST_ROWS) return undefined
  const random = stream(seed, 'certainty')
  const compared = sampleDistinct(random, rows, Math.min(rows, MOST_ROWS)).sort()
  const judged = await pickRows(source, compared)
  const own = Uint32Array.from(compared, (row) => model.labels[row])
  const others: number[] = []
  let cut = isCut(model)
  const stability = new Float64Array(k)
  for (let run = 0; run < RUNS; run++) {
    const half = sampleDistinct(random, rows, Math.min(Math.floor(rows / 2), MOST_ROWS)).sort()
    const halfWeights = weights && Float32Array.from(half, (row) => weights[row])
    const other = await runAgain(await pickRows(source, half), random.next(), halfWeights)
    others.push(other.facts.k)
    cut ||= isCut(other)
    bestOverlaps(own, k, await assign(other, judged), other.facts.k).forEach((index, c) => {
      stability[c] += index / RUNS
    })
  }
  const stable = stability.reduce((sum, index) => sum + Number(index >= STABLE), 0)
  return { others, stability: Array.from(stability), stable, sentence: sentenceFor(k, others, stable, cut) }
}

/** For each cluster of the first labels: the largest Jaccard index with a cluster of the second. */
export function bestOverlaps(labels: Uint32Array, k: number, others: Uint32Array, otherK: number): Float64Array {
  const sizes = new Uint32Array(k)
  const otherSizes = new Uint32Array(otherK)
  const common = new Map<number, number>()
  labels.forEach((label, i) => {
    sizes[label]++
    otherSizes[others[i]]++
    const pair = label * otherK + others[i]
    common.set(pair, (common.get(pair) ?? 0) + 1)
  })
  const best = new Float64Array(k)
  for (const [pair, count] of common) {
    const [label, other] = [Math.floor(pair / otherK), pair % otherK]
    best[label] = Math.max(best[label], count / (sizes[label] + otherSizes[other] - count))
  }
  return best
}

/** The search ended where rounds or seconds did, not where it had found the number. */
function isCut({ facts: { stopped } }: ClusterModel): boolean {
  return stopped === 'iterations' || stopped === 'seconds'
}

function sentenceFor(k: number, others: readonly number[], stable: number, cut: boolean): string {
  const found = `Runs with other seeds on random halves of the vectors found ${others.join(' and ')}`
  if (cut) {
    return `${found} clusters, but the search was cut short: the number is preliminary, allow more rounds (iterations) or time (seconds).`
  }
  if (stable === k && others.every((other) => other === k)) {
    return `${found} clusters too, with the same members: the number is well determined.`
  }
  const part = stable === k ? 'all clusters' : `${stable} of the ${k} clusters`
  const close = others.every((other) => Math.abs(other - k) <= 0.1 * k) && stable >= 0.8 * k
  const verdict = close ? 'the number is about right' : 'the vectors do not determine the number well'
  return `${found} clusters, and ${part} again: ${verdict}.`
}

/** Rows by rising number, in the type they have. */
async function pickRows(source: VectorSource, indices: ArrayLike<number>): Promise<VectorInput> {
  const { cols, type } = source
  if (source.read64) return pickWideRows(source, indices)
  const bytes = elementBytes(type) === 1
  const data = bytes ? new Uint8Array(indices.length * cols) : new Float32Array(indices.length * cols)
  let at = 0
  for await (const { first, data: rows } of chunks(source)) {
    const end = first + rows.length / cols
    for (; at < indices.length && indices[at] < end; at++) {
      const from = (indices[at] - first) * cols
      data.set(rows.subarray(from, from + cols), at * cols)
    }
  }
  return matrix(data, indices.length, cols)
}

/** Rows of 64 bits one by one: they may lie where 32-bit floats cannot tell them apart. */
async function pickWideRows(source: VectorSource, indices: ArrayLike<number>): Promise<Float64Array[]> {
  const { cols } = source
  const picked: Float64Array[] = []
  for await (const { first, data } of wideChunks(source)) {
    const end = first + data.length / cols
    while (picked.length < indices.length && indices[picked.length] < end) {
      const from = (indices[picked.length] - first) * cols
      picked.push(Float64Array.from(data.subarray(from, from + cols)))
    }
  }
  return picked
}

/** One method against the clock. */
import {
  blobs,
  ClusterModel,
  cluster,
  clusterSteps,
  type Device,
  type IterationStats,
  type MethodName,
  type ModelFacts,
  matrix,
  sparseMatrix,
  type VectorInput,
  type VectorSource,
} from '../../index.ts'

export interface RaceOptions {
  readonly k: number
  readonly seconds: number
  readonly seed: number
  readonly metric: 'euclidean' | 'cosine'
}

export interface RaceHooks {
  /** Ctrl-C. */
  readonly signal: AbortSignal
  readonly onRound: (stats: IterationStats) => void
  readonly onProgress: (share: number, phase?: string) => void
}

export interface RaceResult {
  readonly method: MethodName
  /** Those that ended in time. */
  readonly rounds: readonly IterationStats[]
  /** Undefined where no round ended in time. */
  readonly model: ClusterModel | undefined
  /** settled: the run converged; time: the time limit was reached; interrupted: by Ctrl-C. */
  readonly ended: 'settled' | 'time' | 'interrupted'
}

/** More rounds than any budget holds. */
const ENDLESS = 1e9

/**
 * Runs a method until it settles or the time is up, whatever comes first. A round that is under way
 * then does not count, so that methods with long rounds get no more time than others.
 */
export async function race(
  source: VectorSource,
  device: Device,
  method: MethodName,
  { k, seconds, seed, metric }: RaceOptions,
  { signal, onRound, onProgress }: RaceHooks,
): Promise<RaceResult> {
  const clock = new AbortController()
  const timer = setTimeout(() => clock.abort(), seconds * 1000)
  const stop = AbortSignal.any([signal, clock.signal])
  const rounds: IterationStats[] = []
  const ended = (model: ClusterModel | undefined): RaceResult => {
    if (signal.aborted) return { method, rounds, model, ended: 'interrupted' }
    return { method, rounds, model, ended: clock.signal.aborted ? 'time' : 'settled' }
  }
  try {
    const model = await cluster(source, {
      ...{ k, method, seed, metric, device, onProgress },
      ...{ iterations: ENDLESS, tolerance: 0, signal: stop },
      onIteration: (stats) => {
        rounds.push(stats)
        onRound(stats)
      },
    })
    const result = ended(model)
    return result.ended === 'time' ? { ...result, model: stoppedByTime(model, seconds) } : result
  } catch (error) {
    // What goes wrong after the clock struck goes wrong all the same.
    if (!stop.aborted || error !== stop.reason) throw error
    return ended(undefined)
  } finally {
    clearTimeout(timer)
  }
}

/** The clock stopped it, and the model should say so: to the library it was somebody who pressed a key. */
function stoppedByTime(
  { centers, labels, facts, state, tree, weights, sigmas }: ClusterModel,
  seconds: number,
): ClusterModel {
  const told = { ...facts, stopped: 'seconds', options: { ...facts.options, seconds } } as ModelFacts
  return new ClusterModel(centers, labels, told, state, tree, weights && sigmas && { weights, sigmas })
}

/** Enough for a small run to converge, and so to look for clusters to relocate. */
const WARM_ROUNDS = 20

/** Some rounds on a few made-up points, so that no method pays for starting up what others then find running. */
export async function warmUp(
  device: Device,
  method: MethodName,
  source: Pick<VectorSource, 'type' | 'sparse'>,
  metric: RaceOptions['metric'],
  signal: AbortSignal,
): Promise<void> {
  const steps = clusterSteps(pointsLike(source), { k: 8, method, metric, device, iterations: WARM_ROUNDS, signal })
  while (!(await steps.next()).done);
}

/** Bytes, floats or sparse rows: each has code of its own to start up. */
function pointsLike({ type, sparse }: Pick<VectorSource, 'type' | 'sparse'>): VectorInput {
  const [rows, cols] = [400, 8]
  const { vectors } = blobs({ rows, cols, clusters: 4, seed: 1 })
  const { data } = vectors
  if (sparse !== undefined) {
    const offsets = Array.from({ length: rows + 1 }, (_, row) => row * cols)
    return sparseMatrix({ offsets, columns: Array.from(data, (_, at) => at % cols), values: data }, rows, cols)
  }
  if (type !== 'u8') return vectors
  return matrix(
    Uint8Array.from(data, (value) => Math.max(0, Math.min(255, 128 + 8 * value))),
    rows,
    cols,
  )
}

/** Vectors up to this size are read once for all methods. */
const MOST_BYTES = 2 ** 30

/** All vectors in memory where they fit: a method that runs first must not pay for the disk. */
export async function heldInMemory(source: VectorSource): Promise<VectorSource> {
  const { rows, cols, type, name, sparse } = source
  if (sparse !== undefined || rows * cols * (type === 'u8' ? 1 : 4) > MOST_BYTES) return source
  if (source.read64) {
    const wide = await source.read64(0, rows)
    // Vectors that 32-bit floats can hold are held as such when they are clustered.
    const read64 = async (start: number, end: number): Promise<Float64Array> => wide.subarray(start * cols, end * cols)
    return { ...source, read64 }
  }
  const data = await source.read(0, rows)
  return { rows, cols, type, name, read: async (start, end) => data.subarray(start * cols, end * cols) }
}

/**
 * The speed of rounds of closures-sharp on a device, measured by a short run. Only `method: 'auto'` uses it, so it is
 * measured when that has to choose on a hardware GPU, once, and by `tune`.
 */

import type { VectorInput } from '../core/matrix.ts'
import { matrix } from '../core/matrix.ts'
import { createRandom } from '../core/random.ts'
import type { Device, RunControl } from '../device/contract.ts'
import { isTuned, keepSpeed } from '../vectors/tuning.ts'
import type { AnyClusterOptions } from './cluster-options.ts'
import { roundSeconds } from './method-choice.ts'
import type { ClusterStep } from './run-once.ts'

/** The loop of cluster.ts, which measures by this file. */
export type Steps = (vectors: VectorInput, options: AnyClusterOptions) => AsyncGenerator<ClusterStep, unknown>

const COLUMNS = 64
const POINTS_PER_CLUSTER = 32
/** Points of the first try; four times as many are taken until a round is long enough to be timed. */
const FIRST_ROWS = 2048
const MOST_ROWS = 32_768
const LONG_ENOUGH = 0.02
/** The first rounds move most points and compile. */
const ROUNDS = 4

/** Measures and remembers the class. */
export async function measureClosures(device: Device, steps: Steps, { signal }: RunControl = {}): Promise<void> {
  for (let rows = FIRST_ROWS; ; rows *= 4) {
    const seconds = await shortestRound(device, steps, rows, signal)
    if (seconds < LONG_ENOUGH && rows < MOST_ROWS) continue
    const unit = { gflops: 1, source: 'given' } as const
    const { closures } = roundSeconds({ k: 1, rows, cols: COLUMNS, sparse: false }, { exact: unit, closures: unit })
    return keepSpeed(device, 'closures', closures / seconds)
  }
}

/** On a hardware GPU that may be measured and never was. */
export async function ensureClosuresMeasured(device: Device, steps: Steps, control: RunControl = {}): Promise<void> {
  if (!isTuned(device) || device.info.speed.closures.source !== 'assumed') return
  control.onProgress?.(0)
  await measureClosures(device, steps, control)
}

async function shortestRound(
  device: Device,
  steps: Steps,
  rows: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  const options: AnyClusterOptions = {
    method: 'closures-sharp',
    k: rows / POINTS_PER_CLUSTER,
    iterations: ROUNDS,
    tolerance: 0,
    relocate: false,
    device,
    ...(signal && { signal }),
  }
  let before: number | undefined
  let shortest = Number.POSITIVE_INFINITY
  for await (const { seconds } of steps(overlapping(rows), options)) {
    signal?.throwIfAborted()
    if (before !== undefined) shortest = Math.min(shortest, seconds - before)
    before = seconds
  }
  return shortest
}

/** Points whose neighbours have other clusters, as in most data: around few middles, none of them apart. */
function overlapping(rows: number) {
  const random = createRandom(2)
  const middles = Float32Array.from({ length: 16 * COLUMNS }, () => random.normal())
  const data = Float32Array.from(
    { length: rows * COLUMNS },
    (_, at) => middles[(Math.floor(at / COLUMNS) % 16) * COLUMNS + (at % COLUMNS)] + random.normal(),
  )
  return matrix(data, rows, COLUMNS)
}

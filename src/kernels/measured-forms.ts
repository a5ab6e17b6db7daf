/**
 * Times the forms of kernels that have several, on the device at hand. Only forms that give the same bits are compared, so
 * that choosing by time never changes a result.
 */
import { createRandom } from '../core/random.ts'
import { BufferScope, type Device, type RunControl, slice } from '../device/contract.ts'
import type { KernelForms } from '../device/forms.ts'
import { assign, assignWorkspaceBytes } from './assign.ts'
import { allocateRows, writeRows } from './rows.ts'

/** How long one form of a kernel took. */
export interface FormTiming {
  /** The kernel, and what it is applied to. */
  readonly kernel: keyof KernelForms
  /** The form, by name. */
  readonly form: string
  /** The shortest of several runs, in seconds. */
  readonly seconds: number
  /** Billions of floating point operations a second, as the exhaustive search needs them. */
  readonly gflops: number
}

export interface MeasuredForms {
  /** The fastest form of each kernel. */
  readonly forms: KernelForms
  readonly timings: readonly FormTiming[]
}

interface Trial {
  readonly kernel: keyof KernelForms
  readonly type: 'f32' | 'u8'
  /** The default first. All give the same bits. */
  readonly forms: readonly string[]
}

const TRIALS: readonly Trial[] = [
  { kernel: 'assign', type: 'f32', forms: ['scalar', 'wide-tiles'] },
  { kernel: 'assignBytes', type: 'u8', forms: ['bytes', 'scalar', 'wide-tiles'] },
]
/** The form for software adapters. It rounds differently, so hardware never takes it. */
const WITHOUT_BARRIERS = 'blocks'

const COLUMNS = 128
const CENTERS = 512
/** Points of the first try; four times as many are taken until a run is long enough to be timed. */
const FIRST_ROWS = 256
const MOST_ROWS = 65_536
const LONG_ENOUGH = 0.004
const RUNS = 3
/** Another form takes the place of the default one if its time is below this share: smaller differences may be noise. */
const CLEARLY = 0.9
/** How far points lie from their centre, in every column. */
const NOISE = 40

export async function measureForms(device: Device, control: RunControl = {}): Promise<MeasuredForms> {
  const timings: FormTiming[] = []
  const forms: Record<string, string> = {}
  for (const [i, { forms: same, ...trial }] of TRIALS.entries()) {
    const compared = device.info.software ? [WITHOUT_BARRIERS, ...same] : same
    const found = await measureTrial(device, { ...trial, forms: compared }, control)
    timings.push(...found)
    forms[trial.kernel] = found.reduce((best, one) => (one.seconds < CLEARLY * best.seconds ? one : best)).form
    control.onProgress?.((i + 1) / TRIALS.length)
  }
  return { forms: forms as KernelForms, timings }
}

async function measureTrial(
  device: Device,
  { kernel, type, forms }: Trial,
  { signal }: RunControl,
): Promise<FormTiming[]> {
  for (let rows = FIRST_ROWS; ; rows *= 4) {
    const scope = new BufferScope(device)
    try {
      const runOnce = prepare(device, scope, type, rows)
      const shortest = forms.map(() => Number.POSITIVE_INFINITY)
      // The first run compiles. Then the forms take turns, so that a disturbance does not hit one of them alone.
      for (let run = -1; run < RUNS; run++) {
        for (const [i, form] of forms.entries()) {
          signal?.throwIfAborted()
          device.useForms?.({ [kernel]: form } as KernelForms)
          const seconds = await runOnce()
          if (run >= 0) shortest[i] = Math.min(shortest[i], seconds)
        }
        if (run === 0 && Math.min(...shortest) < LONG_ENOUGH && rows < MOST_ROWS) break
      }
      if (Math.min(...shortest) < LONG_ENOUGH && rows < MOST_ROWS) continue
      const operations = 2 * rows * CENTERS * COLUMNS
      return forms.map((form, i) => ({ kernel, form, seconds: shortest[i], gflops: operations / shortest[i] / 1e9 }))
    } finally {
      scope.free()
      device.useForms?.({})
    }
  }
}

/** Random vectors on the device; the result assigns them once and returns the seconds. */
function prepare(device: Device, scope: BufferScope, type: 'f32' | 'u8', rows: number): () => Promise<number> {
  const random = createRandom(1)
  const middles = Float32Array.from({ length: CENTERS * COLUMNS }, () => NOISE + random.below(256 - 2 * NOISE))
  // Points lie around centres, as those of a clustering do: how many of them need exact distances depends on it.
  const values = Float32Array.from({ length: rows * COLUMNS }, (_, at) => {
    const center = Math.floor(at / COLUMNS) % CENTERS
    return middles[center * COLUMNS + (at % COLUMNS)] + random.below(2 * NOISE) - NOISE
  })
  const points = allocateRows(scope, rows, COLUMNS, type, 'points')
  const centers = allocateRows(scope, CENTERS, COLUMNS, 'f32', 'centres')
  writeRows(device, points, type === 'u8' ? Uint8Array.from(values) : values)
  writeRows(device, centers, middles)
  const labels = scope.allocate(rows * 4, 'labels')
  const distances = scope.allocate(rows * 4, 'distances')
  const workspace = scope.allocate(assignWorkspaceBytes(centers), 'workspace')
  return async () => {
    const began = performance.now()
    await assign(device, { points, centers, labels, distances, workspace })
    await device.read(slice(labels, 0, 4))
    return (performance.now() - began) / 1000
  }
}

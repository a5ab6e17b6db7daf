/**
 * Times the forms of kernels that have several, on the device at hand, and picks the fastest.
 *
 * Choosing by time must never change a result, so only forms that give the same bits are exchanged: those of one row of
 * `SAME_BITS`, which a test compares. Forms of other rows round differently. They are timed too if everything is asked for,
 * to be looked at, and are never taken.
 */
import { createRandom } from '../core/random.ts'
import { BufferScope, type Device, type RunControl, slice } from '../device/contract.ts'
import type { KernelForms, KernelName } from '../device/forms.ts'
import { assign, assignWorkspaceBytes } from './assign.ts'
import { distances } from './distances.ts'
import { gram, matmul } from './matmul.ts'
import { respondAll } from './respond.ts'
import { allocateRows, type DeviceRows, writeRows } from './rows.ts'

/** Forms that give the same bits are in one list. In each list the default comes first. */
export const SAME_BITS: { readonly [K in KernelName]: readonly (readonly NonNullable<KernelForms[K]>[])[] } = {
  assign: [['scalar', 'wide-tiles'], ['blocks']],
  assignBytes: [['bytes', 'scalar', 'wide-tiles'], ['blocks']],
  matmul: [['tiles'], ['blocks']],
  gram: [['tiles'], ['blocks']],
  distances: [['products'], ['tiles'], ['blocks']],
  respond: [['products'], ['tiles'], ['blocks']],
}

/** How long one form of a kernel took. */
export interface FormTiming {
  /** The kernel. */
  readonly kernel: KernelName
  /** The shape of the rows it was applied to. */
  readonly shape: 'wide' | 'narrow'
  /** The form, by name. */
  readonly form: string
  /** The shortest of several runs, in seconds. */
  readonly seconds: number
  /** The first run in seconds, with the compilation of shaders that the device did not use before. */
  readonly firstSeconds: number
  /** Billions of floating point operations a second, as the exhaustive computation needs them. */
  readonly gflops: number
  /** True if it gives the same bits as the default form, so that it is selected if it is the fastest. */
  readonly exchangeable: boolean
}

export interface MeasuredForms {
  /** The fastest form of each kernel that has several with the same bits. */
  readonly forms: KernelForms
  readonly timings: readonly FormTiming[]
}

interface Trial {
  readonly kernel: KernelName
  readonly shape: 'wide' | 'narrow'
}

const TRIALS: readonly Trial[] = [
  { kernel: 'assign', shape: 'wide' },
  { kernel: 'assign', shape: 'narrow' },
  { kernel: 'assignBytes', shape: 'wide' },
  { kernel: 'matmul', shape: 'wide' },
  { kernel: 'gram', shape: 'wide' },
  { kernel: 'distances', shape: 'wide' },
  { kernel: 'respond', shape: 'wide' },
]

const COLUMNS = { wide: 128, narrow: 16 } as const
const CENTERS = 512
/**
 * Points of the first try. It is made 4 or 16 times as large until a run is long enough to be timed, with more points first,
 * then with repetitions.
 */
const FIRST_ROWS = 256
const MOST_ROWS = 32_768
const MOST_REPEATS = 16
const LARGEST = (MOST_ROWS / FIRST_ROWS) * MOST_REPEATS
/** By the clock of the host, which also counts the wait for the GPU, and by that of the GPU. */
const LONG_ENOUGH = { wall: 0.003, gpu: 0.001 } as const
const RUNS = 3
/** The speed of a device is remembered and decides more, so it is measured more carefully. */
const SPEED_RUNS = 10
/** Another form takes the place of the default one if its time is below this share: smaller differences may be noise. */
const CLEARLY = 0.9
/** How far points lie from their centre, in every column. */
const NOISE = 40
const LISTED = 8

/** `everything`: forms that are never exchanged, too. */
export async function measureForms(
  device: Device,
  control: RunControl = {},
  { everything = false } = {},
): Promise<MeasuredForms> {
  const timings: FormTiming[] = []
  const forms: Partial<Record<KernelName, string>> = {}
  const narrow: typeof forms = {}
  const trials = TRIALS.map((trial) => ({ ...trial, ...formsToTry(device, trial.kernel, everything) }))
  const chosen = trials.filter((trial) => trial.tried.length > 1)
  for (const [i, { kernel, shape, tried, same }] of chosen.entries()) {
    const found = await timeForms(device, { kernel, shape }, tried, control)
    const marked = found.map((timing) => ({ ...timing, exchangeable: same.includes(timing.form) }))
    timings.push(...marked)
    const able = marked.filter(({ exchangeable }) => exchangeable)
    if (same.length > 1 && able.length > 0) {
      const best = able.reduce((best, one) => (one.seconds < CLEARLY * best.seconds ? one : best))
      ;(shape === 'narrow' ? narrow : forms)[kernel] = best.form
    }
    control.onProgress?.((i + 1) / chosen.length)
  }
  const different = Object.entries(narrow).some(([kernel, form]) => forms[kernel as KernelName] !== form)
  return { forms: { ...forms, ...(different ? { narrow } : {}) } as KernelForms, timings }
}

/** GFLOP/s of exact assignment in the forms that the device uses now. */
export async function measureExact(device: Device, control: RunControl = {}): Promise<number> {
  const [timing] = await timeForms(device, { kernel: 'assign', shape: 'wide' }, [undefined], control, SPEED_RUNS)
  return timing.gflops
}

/** `same`: forms with the bits of this device's default. */
function formsToTry(
  device: Device,
  kernel: KernelName,
  everything: boolean,
): { tried: readonly string[]; same: readonly string[] } {
  const groups: readonly (readonly string[])[] = SAME_BITS[kernel]
  const tiled = device.tiled ?? !device.info.software
  const software = device.softwareTiles?.some((one) => one === kernel) ? 'tiles' : 'blocks'
  const same = (tiled ? groups[0] : groups.find((group) => group.includes(software))) ?? []
  return { same, tried: everything ? [...same, ...groups.flat().filter((form) => !same.includes(form))] : same }
}

/** Undefined as a form: whatever the device uses. */
async function timeForms(
  device: Device,
  trial: Trial,
  forms: readonly (string | undefined)[],
  { signal }: RunControl,
  runs = RUNS,
): Promise<Omit<FormTiming, 'exchangeable'>[]> {
  const refused = new Set<string | undefined>()
  const first = new Map<string | undefined, number>()
  const prepare = WORKLOADS[trial.kernel](COLUMNS[trial.shape])
  const scope = new BufferScope(device)
  let prepared: (Workload & { readonly rows: number }) | undefined
  try {
    for (let size = 1; ; ) {
      const rows = Math.min(MOST_ROWS, FIRST_ROWS * size)
      const repeats = (FIRST_ROWS * size) / rows
      if (prepared?.rows !== rows) {
        scope.free()
        prepared = { rows, ...prepare(device, scope, rows) }
      }
      const { run, operations } = prepared
      const clocks = forms.map(() => new Shortest())
      // The very first run compiles. Then the forms take turns, so that a disturbance does not hit one of them alone.
      for (let turn = size === 1 ? -1 : 0; turn < runs; turn++) {
        for (const [i, form] of forms.entries()) {
          signal?.throwIfAborted()
          if (refused.has(form)) continue
          if (form !== undefined) device.useForms?.({ [trial.kernel]: form } as KernelForms)
          try {
            const taken = await timed(device, run, repeats)
            if (!first.has(form)) first.set(form, taken.wall)
            if (turn >= 0) clocks[i].add(taken)
          } catch (error) {
            // A form that this GPU refuses is left out; a lost device ends the measurement.
            device.requireOpen?.()
            if (form === undefined) throw error
            refused.add(form)
          }
        }
        if (turn === 0 && missing(clocks) > 1 && size < LARGEST) break
      }
      if (missing(clocks) > 1 && size < LARGEST) {
        size = Math.min(LARGEST, size * (missing(clocks) > 4 ? 16 : 4))
        continue
      }
      const byGpu = clocks.every(({ gpu, wall }) => Number.isFinite(gpu) || !Number.isFinite(wall))
      return forms.flatMap((form, i) => {
        const seconds = (byGpu ? clocks[i].gpu : clocks[i].wall) / repeats
        if (!Number.isFinite(seconds)) return []
        const firstSeconds = first.get(form) ?? seconds
        return { ...trial, form: form ?? 'default', seconds, firstSeconds, gflops: operations / seconds / 1e9 }
      })
    }
  } finally {
    scope.free()
    if (forms[0] !== undefined) device.useForms?.({})
  }
}

/** The shortest times, by the clock of the GPU where it has one, and by that of the host. */
class Shortest {
  gpu = Number.POSITIVE_INFINITY
  wall = Number.POSITIVE_INFINITY

  add({ gpu, wall }: { readonly gpu: number | undefined; readonly wall: number }): void {
    this.gpu = Math.min(this.gpu, gpu ?? Number.POSITIVE_INFINITY)
    this.wall = Math.min(this.wall, wall)
  }
}

/** How many times as long the shortest run should be. */
function missing(clocks: readonly Shortest[]): number {
  const gpu = Math.min(...clocks.map((clock) => clock.gpu))
  const wall = Math.min(...clocks.map((clock) => clock.wall))
  return Number.isFinite(gpu) ? LONG_ENOUGH.gpu / gpu : LONG_ENOUGH.wall / wall
}

/** Runs kernels and reads a little of the result. */
type Run = (repeats: number) => Promise<void>

async function timed(device: Device, run: Run, repeats: number): Promise<{ gpu: number | undefined; wall: number }> {
  let wall = 0
  const work = async (): Promise<void> => {
    const began = performance.now()
    await run(repeats)
    wall = (performance.now() - began) / 1000
  }
  if (device.gpuSeconds === undefined) {
    await work()
    return { gpu: undefined, wall }
  }
  let worked = false
  const gpu = await device.gpuSeconds(async () => {
    worked = true
    await work()
  })
  // Without a clock of its own the device does not begin.
  if (!worked) await work()
  return { gpu, wall }
}

interface Workload {
  readonly run: Run
  readonly operations: number
}

type Prepare = (device: Device, scope: BufferScope, rows: number) => Workload

/** Each kernel over rows of so many columns. Values are drawn once, for any number of rows. */
const WORKLOADS: Record<KernelName, (cols: number) => Prepare> = {
  assign: (cols) => assigning(cols, 'f32'),
  assignBytes: (cols) => assigning(cols, 'u8'),
  matmul(cols) {
    const upload = drawVectors(cols, 'f32', cols)
    return (device, scope, rows) => {
      const { points: a, centers: b } = upload(device, scope, rows)
      const out = allocateRows(scope, rows, b.rows, 'f32', 'product')
      return workload(device, () => matmul(device, { a, b, out }), out.buffer, 2 * rows * cols * b.rows)
    }
  },
  gram(cols) {
    const upload = drawVectors(cols, 'f32', 1)
    return (device, scope, rows) => {
      const { points: a } = upload(device, scope, rows)
      const out = scope.allocate(a.stride * a.stride * 4, 'product')
      return workload(device, () => gram(device, { a, b: a, out }), out, 2 * rows * cols * cols)
    }
  },
  distances(cols) {
    const upload = drawVectors(cols, 'f32', CENTERS / 4)
    return (device, scope, rows) => {
      const args = upload(device, scope, rows)
      const out = scope.allocate(rows * args.centers.rows * 4, 'distances')
      return workload(device, () => distances(device, { ...args, out }), out, 3 * rows * cols * args.centers.rows)
    }
  },
  respond(cols) {
    const k = CENTERS / 4
    const upload = drawVectors(cols, 'f32', k)
    return (device, scope, rows) => {
      const args = upload(device, scope, rows)
      const scales = Float32Array.from({ length: 2 * k }, (_, i) => (i % 2) / 1000)
      const given = {
        ...{ ...args, scales: scope.upload(scales, 'scales'), m: LISTED },
        best: scope.allocate(rows * LISTED * 4, 'best'),
        logs: scope.allocate(rows * LISTED * 4, 'logs'),
        evidence: scope.allocate(rows * 4, 'evidence'),
      }
      return workload(device, () => respondAll(device, given), given.best, 3 * rows * cols * k)
    }
  },
}

function assigning(cols: number, type: 'f32' | 'u8'): Prepare {
  const upload = drawVectors(cols, type, CENTERS)
  return (device, scope, rows) => {
    const args = upload(device, scope, rows)
    const labels = scope.allocate(rows * 4, 'labels')
    const buffers = { labels, distances: scope.allocate(rows * 4, 'distances') }
    const workspace = scope.allocate(assignWorkspaceBytes(args.centers), 'workspace')
    return workload(device, () => assign(device, { ...args, ...buffers, workspace }), labels, 2 * rows * cols * CENTERS)
  }
}

function workload(
  device: Device,
  once: () => Promise<void>,
  result: Parameters<typeof slice>[0],
  operations: number,
): Workload {
  const run: Run = async (repeats) => {
    for (let i = 0; i < repeats; i++) await once()
    await device.read(slice(result, 0, 4))
  }
  return { run, operations }
}

/** Points lie around centres, as those of a clustering do: how many of them need exact distances depends on it. */
function drawVectors(cols: number, type: 'f32' | 'u8', k: number) {
  const random = createRandom(1)
  const middles = Float32Array.from({ length: k * cols }, () => NOISE + random.below(256 - 2 * NOISE))
  const values = Float32Array.from({ length: FIRST_ROWS * cols }, (_, at) => {
    const center = Math.floor(at / cols) % k
    return middles[center * cols + (at % cols)] + random.below(2 * NOISE) - NOISE
  })
  const some = type === 'u8' ? Uint8Array.from(values) : values
  return (device: Device, scope: BufferScope, rows: number): { points: DeviceRows; centers: DeviceRows } => {
    const points = allocateRows(scope, rows, cols, type, 'points')
    const centers = allocateRows(scope, k, cols, 'f32', 'centres')
    for (let row = 0; row < rows; row += FIRST_ROWS) writeRows(device, points, some, row)
    writeRows(device, centers, middles)
    return { points, centers }
  }
}

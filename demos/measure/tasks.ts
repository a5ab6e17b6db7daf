/** Measures in the worker: the calls of `npm run bench -- gpu` on the GPU and on the CPU, until the time is up. */
import { measurePeak, type Peak } from '../../bench/gpu/calibration.ts'
import { median } from '../../bench/gpu/median.ts'
import { clustersFor, kernelRates, sizesFor, workMilliseconds } from '../../bench/gpu/rates.ts'
import { type TimedDevice, timedDevice } from '../../bench/gpu/timed-device.ts'
import { type Sizes, type Workload, workloads } from '../../bench/gpu/workloads.ts'
import { type Device, openDevice } from '../../src/index.ts'
import type { TaskContext } from '../engine/task.ts'
import type { CallRow, DeviceFacts, KernelRow, Report } from './report.ts'

export interface MeasureInput {
  /** 0: what suits the device. */
  readonly rows: number
  readonly k: number
  readonly cols: number
  /** Begins no further call after so many seconds. */
  readonly seconds: number
  /** Only calls with this in their names; empty: all. */
  readonly only: string
  readonly version: string
  readonly browser: string
}

/** What is known after each call. */
export interface MeasureRound {
  readonly done: number
  readonly calls: number
  readonly next: string
  readonly report: Report
}

const MOST = { rows: 32_768, k: 512 }
const ROWS_PER_GFLOPS = 32
/** On the CPU alone. */
const CPU_ROWS = 16_384
const WARM_UP = { rows: 512, k: 16 }
/** A call is repeated until it took so long, at most this often. */
const ENOUGH_SECONDS = 0.6
const REPEATS = 3

export async function* measureTask(input: MeasureInput, context: TaskContext): AsyncGenerator<MeasureRound, Report> {
  const { device, signal } = context
  const began = performance.now()
  const gpu = device.info.kind === 'webgpu' ? device : undefined
  const cpu = gpu ? await openDevice({ kind: 'cpu' }) : device
  try {
    const peak = gpu && (await measurePeak(gpu))
    const sizes = chooseSizes(input, peak)
    const state = await Measuring.open({ input, sizes, gpu, cpu, peak, began })
    const list = workloads(sizes).filter(({ name }) => name.includes(input.only))
    const small = workloads({ ...sizes, rows: Math.min(WARM_UP.rows, sizes.rows), k: Math.min(WARM_UP.k, sizes.k) })
    for (const [done, workload] of list.entries()) {
      yield { done, calls: list.length, next: workload.name, report: state.report() }
      signal.throwIfAborted()
      const warmUp = small.find(({ name }) => name === workload.name) as Workload
      await state.measure(workload, warmUp)
    }
    return state.report()
  } finally {
    if (cpu !== device) await cpu.close()
  }
}

function chooseSizes({ rows, k, cols }: MeasureInput, peak: Peak | undefined): Sizes {
  const suited = peak ? sizesFor(peak.gflops, ROWS_PER_GFLOPS, MOST) : { rows: CPU_ROWS }
  const count = rows || suited.rows
  return { rows: count, cols, k: k || clustersFor(count, MOST.k) }
}

interface Setting {
  readonly input: MeasureInput
  readonly sizes: Sizes
  readonly gpu: Device | undefined
  readonly cpu: Device
  readonly peak: Peak | undefined
  readonly began: number
}

interface Timed {
  readonly milliseconds: number
  readonly labels: Uint32Array | undefined
}

class Measuring {
  readonly #setting: Setting
  readonly #timedGpu: TimedDevice | undefined
  readonly #timedCpu: TimedDevice
  readonly #calls: CallRow[] = []
  readonly #skipped: string[] = []
  readonly #failures: string[] = []
  readonly #assignment: { gpu: number | null; cpu: number | null } = { gpu: null, cpu: null }

  private constructor(setting: Setting, timedGpu: TimedDevice | undefined, timedCpu: TimedDevice) {
    this.#setting = setting
    this.#timedGpu = timedGpu
    this.#timedCpu = timedCpu
  }

  static async open(setting: Setting): Promise<Measuring> {
    const { gpu, cpu, peak } = setting
    return new Measuring(
      setting,
      gpu && (await timedDevice(gpu, peak?.overheadSeconds ?? 0)),
      await timedDevice(cpu, 0),
    )
  }

  async measure(workload: Workload, warmUp: Workload): Promise<void> {
    const { gpu, cpu, input } = this.#setting
    if (this.#seconds() > input.seconds) {
      this.#skipped.push(workload.name)
      return
    }
    const onGpu = gpu && (await this.#tryCall(workload, warmUp, gpu))
    // Each kernel by itself, which takes longer than the call.
    if (this.#timedGpu && onGpu) await workload.run(this.#timedGpu)
    const onCpu = await this.#tryCall(workload, warmUp, cpu)
    if (onCpu) await workload.run(this.#timedCpu)
    if (!onGpu && !onCpu) return
    this.#calls.push({
      name: workload.name,
      gpu: onGpu?.milliseconds ?? null,
      cpu: onCpu?.milliseconds ?? null,
      agreement: onGpu && onCpu ? agreementOf(onGpu.labels, onCpu.labels) : null,
    })
    if (workload.name === 'nearest') {
      const { rows, cols, k } = this.#setting.sizes
      const gigaflops = (timed: Timed | undefined) => (timed ? (2 * rows * cols * k) / timed.milliseconds / 1e6 : null)
      Object.assign(this.#assignment, { gpu: gigaflops(onGpu), cpu: gigaflops(onCpu) })
    }
  }

  report(): Report {
    const { input, sizes, gpu, cpu, peak } = this.#setting
    return {
      format: 'centroidal-measure-1',
      date: new Date().toISOString(),
      version: input.version,
      browser: input.browser,
      gpu: gpu ? factsOf(gpu) : null,
      cpu: factsOf(cpu),
      sizes,
      peak: peak ? { gflops: peak.gflops, gigabytes: peak.gigabytes } : null,
      assignment: { ...this.#assignment },
      calls: [...this.#calls],
      kernels: this.#kernels(peak),
      skipped: [...this.#skipped],
      failures: [...this.#failures],
      seconds: this.#seconds(),
    }
  }

  #kernels(peak: Peak | undefined): KernelRow[] {
    const onCpu = [...this.#timedCpu.times.values()]
    const cpuTimes = workMilliseconds(onCpu)
    // Without a GPU the rows are those of the CPU device, which times works as wholes and states no operations.
    const times = this.#timedGpu ? [...this.#timedGpu.times.values()] : onCpu
    return kernelRates(times, peak ?? { gflops: Number.NaN, gigabytes: Number.NaN }).map(
      ({ kernel, work, seconds, rates, shares }) => ({
        kernel,
        work,
        milliseconds: seconds * 1e3,
        gflops: (this.#timedGpu && rates?.gflops) ?? null,
        gigabytes: (this.#timedGpu && rates?.gigabytes) ?? null,
        share: this.#timedGpu && shares ? Math.max(shares.arithmetic, shares.bandwidth) : null,
        cpu: cpuTimes.get(work) ?? null,
      }),
    )
  }

  async #tryCall(workload: Workload, warmUp: Workload, device: Device): Promise<Timed | undefined> {
    try {
      await warmUp.run(device)
      return await timeCall(workload, device)
    } catch (error) {
      this.#failures.push(`${workload.name} on ${device.info.kind}: ${(error as Error).message}`)
      return undefined
    }
  }

  #seconds(): number {
    return (performance.now() - this.#setting.began) / 1000
  }
}

async function timeCall({ run }: Workload, device: Device): Promise<Timed> {
  const times: number[] = []
  const began = performance.now()
  let labels: Uint32Array | undefined
  do {
    const start = performance.now()
    const result = await run(device)
    times.push(performance.now() - start)
    labels = labelsOf(result)
  } while (times.length < REPEATS && performance.now() - began < 1000 * ENOUGH_SECONDS)
  return { milliseconds: median(times), labels }
}

function labelsOf(result: unknown): Uint32Array | undefined {
  const { labels } = (result ?? {}) as { readonly labels?: unknown }
  return labels instanceof Uint32Array ? labels : undefined
}

function agreementOf(a: Uint32Array | undefined, b: Uint32Array | undefined): number | null {
  if (!a || !b || a.length !== b.length) return null
  let equal = 0
  for (let i = 0; i < a.length; i++) if (a[i] === b[i]) equal++
  return equal / a.length
}

function factsOf({ info: { name, software } }: Device): DeviceFacts {
  return { name, software }
}

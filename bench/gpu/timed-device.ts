/**
 * A device that times every kernel it is asked to run. On WebGPU each pass is compiled first, then submitted alone and
 * waited for, and timed by the clock of the GPU where it has one. On the CPU a piece of work is timed as a whole.
 */
import type { Device } from '../../src/index.ts'
import { median } from './median.ts'

type Work = Parameters<Device['run']>[0]
type GpuTarget = Parameters<Work['webgpu']>[0]
export type ComputePass = ReturnType<Work['webgpu']> extends Iterable<infer Pass> ? Pass : never
type DeviceBuffer = ReturnType<Device['allocate']>

/** What one call took: all dispatches of a kernel in one piece of work. */
export interface KernelCall {
  dispatches: number
  seconds: number
  /** As the kernel states them, to keep submits short. */
  operations: number
  /** Bytes of all bindings, each part once: what has to be moved at least. */
  bytes: number
}

export interface KernelTimes {
  /** Name of the shader; on the CPU that of the work. */
  readonly kernel: string
  /** Name of the work it is part of. */
  readonly work: string
  calls: number
  dispatches: number
  seconds: number
  /** A call with most operations; its seconds are the median of all calls with so many. */
  largest: KernelCall
  /** Seconds of these calls. */
  samples: number[]
  /** False if a dispatch takes so little time that rates would be noise: less than submitting it, without a GPU clock. */
  measurable: boolean
}

/** Dispatches that are shorter by the clock of the GPU have no rates: Dawn gives its time in steps of 65 microseconds. */
const CLOCK_SECONDS = 3e-4

export interface TimedDevice extends Device {
  readonly times: ReadonlyMap<string, KernelTimes>
}

/** Runs a single pass. */
export async function runPass(device: Device, pass: ComputePass, name = pass.shader.name): Promise<void> {
  await device.run({ name, webgpu: () => [pass], cpu: () => [] })
}

/** Makes the pipeline of a pass, as a device does before it submits: this work ends before that. */
async function compile(device: Device, pass: ComputePass): Promise<void> {
  const ended = new Error('compiled')
  const webgpu = function* (): Generator<ComputePass> {
    yield { ...pass, operations: 0 }
    throw ended
  }
  await device.run({ name: pass.shader.name, webgpu, cpu: () => [] }).catch((error) => {
    if (error !== ended) throw error
  })
}

/** Waits until all work submitted so far is done. */
export async function finished(device: Device, buffer: DeviceBuffer): Promise<void> {
  await device.read({ buffer, offset: 0, bytes: 4 })
}

/** `overheadSeconds` of a submit are subtracted from every pass. Closing stays with the owner of `device`. */
export async function timedDevice(device: Device, overheadSeconds: number): Promise<TimedDevice> {
  const times = new Map<string, KernelTimes>()
  const marker = device.allocate(16, 'marker')
  const target = device.info.kind === 'webgpu' ? await targetOf(device) : undefined
  const prepared = new Set<string>()
  /** The GPU has a clock. */
  let clocked = false

  async function timePasses(work: Work, gpu: GpuTarget, control: Parameters<Device['run']>[1]): Promise<void> {
    const calls = new Map<string, KernelCall & { parts: Map<string, number> }>()
    for (const pass of work.webgpu(gpu)) {
      const { name } = pass.shader
      const key = `${name} ${pass.entry} ${JSON.stringify(pass.constants)}`
      if (!prepared.has(key)) {
        prepared.add(key)
        await compile(device, pass)
      }
      const seconds = await timePass(pass, work.name)
      const call = calls.get(name) ?? { dispatches: 0, seconds: 0, operations: 0, bytes: 0, parts: new Map() }
      calls.set(name, call)
      call.dispatches++
      call.seconds += seconds
      call.operations += pass.operations ?? 0
      for (const [part, bytes] of partsOf(pass)) call.parts.set(part, bytes)
      control?.signal?.throwIfAborted()
    }
    for (const [kernel, { parts, ...call }] of calls) {
      add(kernel, work.name, { ...call, bytes: [...parts.values()].reduce((sum, bytes) => sum + bytes, 0) })
    }
  }

  /** By the clock of the GPU where it has one. */
  async function timePass(pass: ComputePass, name: string): Promise<number> {
    let wall = 0
    const run = async (): Promise<void> => {
      const began = performance.now()
      await runPass(device, pass, name)
      await finished(device, marker)
      wall = (performance.now() - began) / 1000
    }
    const seconds = await device.gpuSeconds?.(run)
    clocked = seconds !== undefined
    if (seconds !== undefined) return seconds
    if (wall === 0) await run()
    return Math.max(0, wall - overheadSeconds)
  }

  async function timeWork(work: Work, control: Parameters<Device['run']>[1]): Promise<void> {
    const began = performance.now()
    await device.run(work, control)
    add(work.name, work.name, { dispatches: 1, seconds: (performance.now() - began) / 1000, operations: 0, bytes: 0 })
  }

  function add(kernel: string, work: string, call: KernelCall): void {
    const key = `${work} ${kernel}`
    const known: KernelTimes = times.get(key) ?? {
      kernel,
      work,
      calls: 0,
      dispatches: 0,
      seconds: 0,
      largest: call,
      samples: [],
      measurable: false,
    }
    times.set(key, known)
    known.calls++
    known.dispatches += call.dispatches
    known.seconds += call.seconds
    if (call.operations > known.largest.operations) known.samples = []
    if (call.operations < known.largest.operations) return
    known.samples.push(call.seconds)
    known.largest = { ...call, seconds: median(known.samples) }
    const least = clocked ? CLOCK_SECONDS : overheadSeconds
    known.measurable = known.largest.seconds > least * call.dispatches
  }

  // Work is done in the order it was given, and reads wait for all work before them.
  let turn: Promise<void> = Promise.resolve()
  return {
    times,
    info: device.info,
    // Steps on the host depend on it.
    ...(device.tiled === undefined ? {} : { tiled: device.tiled }),
    ...(device.usable ? { usable: (shader) => device.usable?.(shader) ?? true } : {}),
    get allocatedBytes() {
      return device.allocatedBytes
    },
    allocate: (bytes, label) => device.allocate(bytes, label),
    write: (buffer, data, offset) => device.write(buffer, data, offset),
    clear: (part) => device.clear(part),
    copy: (from, to) => device.copy(from, to),
    run(work, control) {
      const done = turn.then(() => (target ? timePasses(work, target, control) : timeWork(work, control)))
      turn = done.catch(() => {})
      return done
    },
    async read(part) {
      await turn
      return device.read(part)
    },
    stage: (part) => device.stage(part),
    close: async () => {},
  }
}

async function targetOf(device: Device): Promise<GpuTarget> {
  let target: GpuTarget | undefined
  const webgpu = (gpu: GpuTarget): ComputePass[] => {
    target = gpu
    return []
  }
  await device.run({ name: 'nothing', webgpu, cpu: () => [] })
  if (!target) throw new Error('The device runs no WebGPU work.')
  return target
}

/** The bindings of a pass, by a key for each part, with their bytes. */
function partsOf({ bindings }: ComputePass): [string, number][] {
  return bindings.map((binding) => {
    const { buffer, offset, bytes } =
      'buffer' in binding ? binding : { buffer: binding, offset: 0, bytes: binding.bytes }
    return [`${numberOf(buffer)} ${offset}`, bytes]
  })
}

const numbers = new WeakMap<DeviceBuffer, number>()
let buffers = 0
function numberOf(buffer: DeviceBuffer): number {
  const number = numbers.get(buffer) ?? buffers++
  numbers.set(buffer, number)
  return number
}

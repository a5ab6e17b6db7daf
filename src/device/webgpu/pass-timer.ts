/** Times compute passes by the clock of the GPU, where the device has timestamp queries. */
import type { CommandRecorder } from './recorder.ts'

/** Passes that can be timed; work of more passes has no time. */
const MOST_PASSES = 64
const BYTES = 8

export class PassTimer {
  readonly #device: GPUDevice
  readonly #queries: GPUQuerySet
  #passes = 0

  /** Undefined where the device has no such queries. */
  static start(device: GPUDevice): PassTimer | undefined {
    return device.features.has('timestamp-query') ? new PassTimer(device) : undefined
  }

  private constructor(device: GPUDevice) {
    this.#device = device
    this.#queries = device.createQuerySet({ type: 'timestamp', count: 2 * MOST_PASSES })
  }

  /** For beginComputePass. */
  nextPass(): GPUComputePassDescriptor {
    const at = 2 * this.#passes++
    if (this.#passes > MOST_PASSES) return {}
    return {
      timestampWrites: { querySet: this.#queries, beginningOfPassWriteIndex: at, endOfPassWriteIndex: at + 1 },
    }
  }

  /** Of all passes, once they are submitted. Undefined if they were too many, or if the clock stood still. */
  async seconds(): Promise<number | undefined> {
    const count = this.#passes
    if (count === 0 || count > MOST_PASSES) return undefined
    const size = 2 * count * BYTES
    const resolved = this.#device.createBuffer({ size, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC })
    const readable = this.#device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ })
    try {
      const encoder = this.#device.createCommandEncoder()
      encoder.resolveQuerySet(this.#queries, 0, 2 * count, resolved, 0)
      encoder.copyBufferToBuffer(resolved, 0, readable, 0, size)
      this.#device.queue.submit([encoder.finish()])
      await readable.mapAsync(GPUMapMode.READ)
      return passSeconds(new BigInt64Array(readable.getMappedRange()))
    } finally {
      resolved.destroy()
      readable.destroy()
    }
  }

  destroy(): void {
    this.#queries.destroy()
  }
}

/** What the work takes that is recorded meanwhile. Undefined, without any work, where there is no clock. */
export async function timePasses(
  device: GPUDevice,
  recorder: CommandRecorder,
  submit: () => void,
  work: () => Promise<void>,
): Promise<number | undefined> {
  const timer = PassTimer.start(device)
  if (timer === undefined) return undefined
  try {
    submit()
    recorder.timer = timer
    await work()
    submit()
    recorder.timer = undefined
    return await timer.seconds()
  } finally {
    recorder.timer = undefined
    timer.destroy()
  }
}

/**
 * The sum over passes of end - begin, in nanoseconds. Some drivers leave timestamps out or reset their clock in between:
 * such a time is undefined.
 */
export function passSeconds(stamps: BigInt64Array): number | undefined {
  let nanoseconds = 0
  for (let i = 0; i + 1 < stamps.length; i += 2) {
    const taken = Number(stamps[i + 1] - stamps[i])
    if (taken < 0 || stamps[i + 1] === 0n) return undefined
    nanoseconds += taken
  }
  return nanoseconds > 0 ? nanoseconds / 1e9 : undefined
}

/**
 * Several kernels in one run: a device to call kernels on that keeps their work until it is asked to run all of it, in
 * order. On the CPU a run wakes the threads and waits for them on the host, which takes longer than the work of small
 * kernels.
 *
 * Only for kernels that do nothing but run. Everything else of the device is refused, because it would happen before the
 * work that waits.
 */
import type { Device, RunControl, Work } from './contract.ts'

export interface Queueing {
  readonly device: Device
  /** Runs what waits. */
  run(control?: RunControl): Promise<void>
}

export function queueing(device: Device): Queueing {
  let waiting: Work[] = []
  const refuse = (): never => {
    throw new Error('A queueing device only runs work')
  }
  return {
    device: {
      info: device.info,
      ...(device.tiled === undefined ? {} : { tiled: device.tiled }),
      allocatedBytes: 0,
      allocate: refuse,
      write: refuse,
      clear: refuse,
      copy: refuse,
      read: refuse,
      stage: refuse,
      async run(work) {
        waiting.push(work)
      },
      close: refuse,
    },
    async run(control) {
      const works = waiting
      waiting = []
      if (works.length > 0) await device.run(inOrder(works), control)
    },
  }
}

function inOrder(works: readonly Work[]): Work {
  return {
    name: works.map(({ name }) => name).join(', '),
    *webgpu(gpu) {
      for (const work of works) yield* work.webgpu(gpu)
    },
    *cpu(memory) {
      for (const work of works) yield* work.cpu(memory)
    },
  }
}

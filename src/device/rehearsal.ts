/**
 * Compiling ahead of a run: a device to call kernels on, with the arguments they will have, that compiles what they need,
 * all at the same time, without running anything. Such calls read zeros.
 */
import { type Device, partOf } from './contract.ts'

export interface Rehearsal {
  readonly device: Device
  /** Resolves when everything asked for so far is compiled, or cannot be, which shows when it is run. */
  ready(): Promise<void>
}

/** Undefined where nothing is compiled. */
export function rehearse(device: Device): Rehearsal | undefined {
  if (device.prepare === undefined) return undefined
  const compiling: Promise<void>[] = []
  const nothing = (): void => {}
  const zeros: Device['read'] = async (target) => new ArrayBuffer(partOf(target).bytes)
  return {
    device: {
      info: device.info,
      allocatedBytes: 0,
      allocate: (bytes, label) => ({ bytes, label, freed: false, free: nothing }),
      write: nothing,
      clear: nothing,
      copy: nothing,
      read: zeros,
      stage: (target) => () => zeros(target),
      async run(work) {
        compiling.push(device.prepare?.(work).catch(nothing) ?? Promise.resolve())
      },
      close: async () => {},
    },
    async ready() {
      await Promise.all(compiling)
    },
  }
}

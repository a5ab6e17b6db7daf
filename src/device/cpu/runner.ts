/** What runs the jobs of the CPU device, on threads (`pool.ts`) or in place (`in-place.ts`). */
import { CentroidalError } from '../../core/errors.ts'
import type { CpuJob, RunControl } from '../contract.ts'
import type { AccessMap } from './access-map.ts'

export interface JobRunner {
  readonly threads: number
  /** Most jobs that `run` takes at a time. */
  readonly queue: number
  /** Why no more work can be done; undefined while it can. */
  readonly lost: CentroidalError | undefined
  /** One job after the other. Ends early, without an error, when the signal fires; the caller looks at the signal. */
  run(jobs: readonly CpuJob[], control?: RunControl): Promise<void>
  close(): Promise<void>
}

/** What tests add to find kernels that read or write where they must not. */
export interface MemoryChecks {
  /** Scratch is filled with this byte before every call of a kernel. */
  readonly fill?: number | undefined
  /** Access map for scratch memory; the device enters buffers in it. */
  readonly access?: AccessMap | undefined
}

/** Tells the access map what a job may touch of scratch memory that begins at `scratch`. */
export function allowScratch(access: AccessMap | undefined, job: CpuJob, scratch: number): void {
  if (access === undefined) return
  const { scratchBytes = 0, scratchAreas = [{ offset: 0, bytes: scratchBytes }] } = job
  for (const { offset, bytes } of scratchAreas) access.allowScratch(scratch + offset, bytes)
}

/** A kernel that traps is a bug, and may have written anywhere in the memory before: nothing on the device can be trusted. */
export function trapError(entry: string, why: string): CentroidalError {
  return new CentroidalError(
    'device-lost',
    `The kernel ${entry} of the CPU device failed (${why}). This is a bug of the library: please report it, and open another device.`,
  )
}

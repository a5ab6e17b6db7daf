/** Options of every call that computes: device, signal and progress. */
import { abortSignal, callback, type OptionChecks } from '../core/arguments.ts'
import type { OnProgress } from '../core/progress.ts'
import { type DeviceChoice, deviceChoice } from './device-choice.ts'

/** Options of every call that computes on a device. */
export interface WorkOptions {
  /** An open device (stays open), or which one to open or share. Default `auto`: a hardware GPU where there is one, else all cores. */
  readonly device?: DeviceChoice
  /** Stops the work; the promise is then rejected with the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Called from time to time with the share that is done, 0 to 1. Optional. */
  readonly onProgress?: OnProgress | undefined
}

export const WORK_CHECKS: OptionChecks<WorkOptions> = {
  device: deviceChoice,
  signal: abortSignal,
  onProgress: callback,
}

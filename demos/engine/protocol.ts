/**
 * What a page and its worker say to each other. A run is a task (see tasks.ts) that goes round by round and ends in a
 * result. It goes as many rounds as were granted, so that a page can step, pause, and never falls behind.
 *
 * The worker opens one device. If that is not there, or goes away while it works, the CPU device takes over: the worker
 * says so (`device` with a note) and begins the runs that were under way again (`restart`).
 */
import type { DeviceInfo, ErrorCode } from '../../src/index.ts'

export const DEVICE_CHOICES = ['auto', 'webgpu', 'cpu'] as const
export type DeviceChoice = (typeof DEVICE_CHOICES)[number]

export type ToWorker =
  /** Stops all runs and opens another device. */
  | { readonly type: 'open'; readonly device: DeviceChoice }
  | {
      readonly type: 'start'
      readonly run: number
      readonly task: string
      readonly input: unknown
      /** Rounds it may go at once; more by `step`. */
      readonly rounds: number
    }
  /** Grants more rounds; 0 takes back what is left of them, which is a pause. */
  | { readonly type: 'step'; readonly run: number; readonly rounds: number }
  /** Ends the run: what was reached is its result. */
  | { readonly type: 'stop'; readonly run: number }
  /** Takes the GPU device away as a driver that crashes does, to see what happens then. */
  | { readonly type: 'lose-device' }

export type FromWorker =
  | { readonly type: 'device'; readonly device: DeviceReport }
  | { readonly type: 'round'; readonly run: number; readonly value: unknown }
  | { readonly type: 'progress'; readonly run: number; readonly phase: string; readonly share: number }
  /** The run begins again, on another device: forget its rounds. */
  | { readonly type: 'restart'; readonly run: number }
  | { readonly type: 'result'; readonly run: number; readonly value: unknown }
  /** Without a run: no device at all. */
  | { readonly type: 'error'; readonly run: number | undefined; readonly failure: Failure }

export interface DeviceReport extends Pick<DeviceInfo, 'kind' | 'name' | 'reason' | 'software'> {
  /** Why this is not the device that was asked for, in a sentence. */
  readonly note: string | undefined
  /** True if it takes the place of one that was lost: runs go on by themselves. Otherwise all runs were stopped. */
  readonly replacesLost: boolean
}

/** `stopped`: there was nothing to show yet when the run was stopped. `broken`: nobody foresaw it. */
export interface Failure {
  readonly code: ErrorCode | 'stopped' | 'broken'
  readonly message: string
}

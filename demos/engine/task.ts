/** A task: what a worker does for a page, a round at a time. Its values go to the page by transfer, so they are its own. */
import type { Device } from '../../src/index.ts'

export interface TaskContext {
  readonly device: Device
  readonly signal: AbortSignal
  /** What takes long, and the share of it that is done. */
  progress(phase: string, share: number): void
}

export type Task<Input, Round, Result> = (input: Input, context: TaskContext) => AsyncGenerator<Round, Result>

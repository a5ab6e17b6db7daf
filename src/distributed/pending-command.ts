/** A command that not all workers have answered yet, and the callbacks of a run about its commands. */
import { CentroidalError } from '../core/errors.ts'
import type { ClusterEvent } from './cluster-events.ts'
import type { Place, Report } from './messages.ts'

export interface PendingCommand {
  readonly seq: number
  readonly payload: Place
  readonly base: number
  readonly log: readonly number[]
}

export interface RunControlOptions {
  readonly signal: AbortSignal | undefined
  /** Share of the shards that have answered. */
  readonly onShare: ((share: number) => void) | undefined
  /** Milliseconds after which a missing answer is an error. Default: it is waited for. */
  readonly patience: number | undefined
}

export interface Pending {
  readonly command: PendingCommand
  readonly remaining: Set<number>
  readonly asked: Map<number, string>
  readonly collect: (report: Report) => Promise<void>
  readonly onShare: ((share: number) => void) | undefined
  stopped: boolean
  settle(): void
  fail(error: unknown): void
}

export interface RunShardsOptions {
  readonly run: string
  readonly groups: number
  readonly onEvent: (event: ClusterEvent) => void
  /** Seconds after which a run whose coordinator is gone is removed. */
  readonly expire: number
  /** Milliseconds after which a worker that does not answer loses its shards. */
  readonly lock: number
}

export function noAnswer(): CentroidalError {
  return new CentroidalError(
    'bad-data',
    'No worker answers: check that the workers are running. A saved run can be resumed.',
  )
}

/** Why a worker refused shards, or failed. */
export function reasonOf({ code, name, error }: Report): CentroidalError {
  const known = (code as CentroidalError['code'] | undefined) ?? 'bad-data'
  return new CentroidalError(known, `Worker ${name}: ${error ?? 'it failed'}`)
}

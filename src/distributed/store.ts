/**
 * A store that coordinator and workers have in common: queues of BullMQ, and blobs beside them. Redis and PostgreSQL meet
 * the same contract.
 */
import { CentroidalError } from '../core/errors.ts'

/** Blobs are stored in pieces of this size. */
export const PIECE_BYTES = 2 ** 20

/** What BullMQ needs to open a queue. */
export interface QueueBackend {
  readonly connection: unknown
  /** Undefined: Redis, the default of BullMQ. */
  readonly factory: unknown
}

export interface BlobStore {
  readonly kind: 'redis' | 'postgres'
  readonly backend: QueueBackend
  /** Writing the same key again does no harm: contents are a function of the key. */
  put(run: string, key: string, bytes: Uint8Array): Promise<void>
  /** Undefined if it is not there, or not all of it. */
  get(run: string, key: string, bytes: number): Promise<Uint8Array | undefined>
  remove(run: string, key: string, bytes: number): Promise<void>
  /** The run is in use; `queues` are those it has, and `workers` those that own its shards. */
  touch(run: string, queues: readonly string[]): Promise<void>
  /** Runs there are, with the seconds since they were last touched. */
  runs(): Promise<readonly { readonly run: string; readonly idle: number; readonly queues: readonly string[] }[]>
  /** All blobs of a run, and the run itself. */
  forget(run: string): Promise<void>
  close(): Promise<void>
}

export function piecesOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / PIECE_BYTES))
}

/** Milliseconds in which a store has to answer; a connection may be dead without an error. */
export const ANSWER_PATIENCE = 20_000
/** How long a store may be unreachable before an operation fails. */
export const PATIENCE = 60_000
/** Milliseconds between two reports that it still is. */
const REPORT_INTERVAL = 5000

/** Called when a store cannot be reached: why, and for how many seconds it is tried again. */
export type OnUnreachable = (why: string, seconds: number) => void

/** How operations on a store are repeated. */
export interface Patience {
  /** The store, for errors. */
  readonly name: string
  /** Milliseconds. */
  readonly patience: number
  readonly onUnreachable: OnUnreachable
}

/** Errors of a connection that may come back, as the drivers name them. */
const PASSING = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  // PostgreSQL: connection exceptions, shutdown, starting up, too many connections.
  '08000',
  '08003',
  '08006',
  '57P01',
  '57P02',
  '57P03',
  '53300',
])

function isPassing(error: unknown): boolean {
  const { code, message = '', name } = error as { code?: string; message?: string; name?: string }
  if (name === 'MaxRetriesPerRequestError') return true
  if (code !== undefined) return PASSING.has(code)
  return /connection (terminated|is closed|ended)|timeout exceeded|timed out|read timeout|socket closed|loading the dataset/i.test(
    message,
  )
}

/** Repeats an operation while the store cannot be reached. */
export async function patiently<T>({ name, patience, onUnreachable }: Patience, work: () => Promise<T>): Promise<T> {
  const began = Date.now()
  let told = Number.NEGATIVE_INFINITY
  for (let wait = 50; ; wait = Math.min(1000, wait * 2)) {
    try {
      return await work()
    } catch (error) {
      if (error instanceof CentroidalError) throw error
      const why = reasonOf(error)
      if (!isPassing(error))
        throw new CentroidalError('bad-data', `The store ${name} reported an error: ${why}`, { cause: error })
      const left = began + patience - Date.now()
      if (left <= 0) throw unreachable(name, why, error)
      if (Date.now() - told >= REPORT_INTERVAL) {
        told = Date.now()
        onUnreachable(unreachable(name, why).message, Math.ceil(left / 1000))
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(wait, left)))
    }
  }
}

function unreachable(name: string, why: string, cause?: unknown): CentroidalError {
  return new CentroidalError(
    'bad-data',
    `The store ${name} cannot be reached (${why}): check its address, and that it is running.`,
    { cause },
  )
}

/** Several addresses of one host fail with an error that holds those of each. */
function reasonOf(error: unknown): string {
  const { message, code, errors } = error as { message?: string; code?: string; errors?: readonly unknown[] }
  if (message) return message
  return errors?.[0] === undefined ? (code ?? 'no reason given') : reasonOf(errors[0])
}

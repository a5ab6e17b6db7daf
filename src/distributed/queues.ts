/** Queues of BullMQ, as they are used here: messages to one receiver, and leases that a living process holds. */
import type { ConnectionOptions, Job, Queue, Worker } from 'bullmq'
import { optionalPackage } from '../data/optional-package.ts'
import { pause } from './pause.ts'
import { type BlobStore, type Patience, patiently } from './store.ts'

type BullMq = typeof import('bullmq')

/** A lock that is not renewed for this long is lost, and the job is handed to another worker. */
export interface LockTimes {
  readonly lockDuration: number
  readonly stalledInterval: number
}

export interface Receiver {
  close(): Promise<void>
}

/** A job that is held as long as its lock is renewed. */
export interface HeldLease {
  readonly id: string
  readonly data: unknown
  /** False if the lock was lost. */
  renew(): Promise<boolean>
  /** Hands it to others immediately. */
  release(): Promise<void>
  /** It is not needed any more. */
  complete(): Promise<void>
}

export interface LeaseQueue {
  /** The next free one; undefined if none came within some seconds. */
  next(): Promise<HeldLease | undefined>
  /** Numbers of leases, and of processes that wait for them. */
  counts(): Promise<{ readonly leases: number; readonly waiting: number; readonly workers: number }>
  close(): Promise<void>
}

/** Jobs of other runs are not lost because one was handed on often. */
const MOST_STALLED = 1_000_000
/** Milliseconds after an error. */
const RETRY_DELAY = 500
/** Seconds for which a queue is listened to at a time. A worker that leaves waits for the end of one. */
const LISTEN = { messages: 2, leases: 0.5 }

export class Queues {
  readonly #bullmq: BullMq
  readonly #store: BlobStore
  readonly #patience: Patience
  readonly #times: LockTimes
  readonly #senders = new Map<string, Queue>()
  /** Those that listen. */
  readonly #workers = new Set<Worker>()

  static async open(store: BlobStore, patience: Patience, times: LockTimes): Promise<Queues> {
    const bullmq = await optionalPackage<BullMq>('bullmq', 'Work on several machines', 'bullmq')
    return new Queues(bullmq, store, patience, times)
  }

  private constructor(bullmq: BullMq, store: BlobStore, patience: Patience, times: LockTimes) {
    this.#bullmq = bullmq
    this.#store = store
    this.#patience = patience
    this.#times = times
  }

  async send(queue: string, data: object, id?: string): Promise<void> {
    const options = { removeOnComplete: true, removeOnFail: true, ...(id === undefined ? {} : { jobId: id }) }
    await patiently(this.#patience, () => this.#sender(queue).add('message', data, options))
  }

  /** Messages one after another; `handle` must not throw. */
  receive(queue: string, handle: (data: unknown) => Promise<void>, concurrency = 1): Receiver {
    const worker = this.#worker(queue, async (job: Job) => handle(job.data), concurrency)
    return { close: () => this.#end(worker) }
  }

  leases(queue: string, name: string): LeaseQueue {
    const { lockDuration } = this.#times
    const worker = this.#worker(queue, null, 1, name)
    let token = 0
    const stalled = worker.startStalledCheckTimer().catch(() => {})
    return {
      next: async () => {
        await stalled
        const own = `${worker.id}:${token++}`
        const job = await worker.getNextJob(own).catch(() => pause(RETRY_DELAY))
        if (job === undefined) return undefined
        return {
          id: job.id ?? '',
          data: job.data,
          renew: async () => {
            try {
              return (await job.extendLock(own, lockDuration)) === 1
            } catch (error) {
              // A store that is away for a moment takes no lease away.
              return !/lock|missing/i.test((error as Error).message)
            }
          },
          release: async () => {
            await job.moveToWait(own)
          },
          complete: async () => {
            await job.moveToCompleted(null, own, false)
          },
        }
      },
      counts: async () => {
        const sender = this.#sender(queue)
        const { wait = 0, active = 0 } = await sender.getJobCounts('wait', 'active')
        const workers = await sender.getWorkersCount().catch(() => 1)
        return { leases: wait + active, waiting: wait, workers: Math.max(1, workers) }
      },
      close: () => this.#end(worker),
    }
  }

  /** Jobs that were not taken yet, or were released. */
  async withdraw(queue: string, ids: readonly string[]): Promise<void> {
    const sender = this.#sender(queue)
    for (const id of ids) await sender.remove(id).catch(() => {})
  }

  /** Waits until the receiver of a queue has taken all messages; gives up after some time. */
  async drained(queue: string, milliseconds: number): Promise<void> {
    const end = Date.now() + milliseconds
    while (Date.now() < end) {
      const { wait = 0, active = 0 } = await this.#sender(queue).getJobCounts('wait', 'active')
      if (wait + active === 0) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  /** The last message of a queue. A receiver that is there removes the queue; for one that has died it is done here. */
  async finish(queue: string, data: object, milliseconds: number): Promise<void> {
    await this.send(queue, data)
    await this.drained(queue, milliseconds)
    await this.remove(queue)
  }

  /** Removes a queue with all that is in it. */
  async remove(queue: string): Promise<void> {
    // Coordinator and worker may remove a queue at the same time: one of them fails, and what it has written since stays.
    for (let attempt = 0; attempt < 3; attempt++) {
      const error = await this.#sender(queue)
        .obliterate({ force: true })
        .then(
          () => undefined,
          (reason: unknown) => reason,
        )
      if (error === undefined) break
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    await this.#senders.get(queue)?.close()
    this.#senders.delete(queue)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => this.#end(worker).catch(() => {})))
    for (const queue of this.#senders.values()) await queue.close().catch(() => {})
    this.#senders.clear()
  }

  async #end(worker: Worker): Promise<void> {
    await worker.close(true)
    this.#workers.delete(worker)
  }

  #sender(name: string): Queue {
    let queue = this.#senders.get(name)
    if (queue === undefined) {
      const { connection, factory } = this.#store.backend
      // Without metadata, which a queue writes when it likes: also after it was removed.
      const options = { connection: connection as ConnectionOptions, skipMetasUpdate: true }
      queue = new this.#bullmq.Queue(name, options, factory as never)
      queue.on('error', () => {})
      this.#senders.set(name, queue)
    }
    return queue
  }

  #worker(queue: string, work: ((job: Job) => Promise<void>) | null, concurrency: number, name?: string): Worker {
    const { connection, factory } = this.#store.backend
    const worker = new this.#bullmq.Worker(
      queue,
      work,
      {
        connection: connection as ConnectionOptions,
        concurrency,
        ...this.#times,
        maxStalledCount: MOST_STALLED,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
        drainDelay: name === undefined ? LISTEN.messages : LISTEN.leases,
        runRetryDelay: RETRY_DELAY,
        ...(name === undefined ? {} : { name }),
      },
      factory as never,
    )
    worker.on('error', () => {})
    this.#workers.add(worker)
    return worker
  }
}

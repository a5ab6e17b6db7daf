/** Bytes that go through the store, round by round. */
import type { RunShards } from './run-shards.ts'

/** Bytes that went through the store for a round. */
export interface RoundTraffic {
  /** From 1. */
  readonly round: number
  /** Bytes that this process wrote to the store. */
  readonly sent: number
  /** Bytes that it read. */
  readonly received: number
  /** Bytes that workers wrote to the store. */
  readonly workersSent: number
  /** Bytes that they read. */
  readonly workersReceived: number
  /** Time since the round before. */
  readonly seconds: number
}

export class RoundMeter {
  readonly #shards: Pick<RunShards, 'traffic' | 'workerBytes'>
  readonly #onRound: (traffic: RoundTraffic) => void
  #before = { at: Date.now(), written: 0, read: 0, workers: { written: 0, read: 0 } }

  constructor(shards: Pick<RunShards, 'traffic' | 'workerBytes'>, onRound: (traffic: RoundTraffic) => void) {
    this.#shards = shards
    this.#onRound = onRound
  }

  /** Tells what went through since the round before. */
  end(round: number): void {
    const { written, read } = this.#shards.traffic
    const now = { at: Date.now(), written, read, workers: this.#shards.workerBytes }
    const before = this.#before
    this.#before = now
    this.#onRound({
      round,
      sent: written - before.written,
      received: read - before.read,
      workersSent: now.workers.written - before.workers.written,
      workersReceived: now.workers.read - before.workers.read,
      seconds: (now.at - before.at) / 1000,
    })
  }
}

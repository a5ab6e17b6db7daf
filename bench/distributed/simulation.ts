/**
 * A round of a run over many workers, simulated piece by piece. The store is one link that serves pieces of 1 MB in the order in
 * which they are asked for, as blobs are written and read. What a round is made of: the coordinator writes the centres; every
 * worker reads them, computes, and writes its sums; any worker adds up ranges of sums; the coordinator reads the result.
 */
import { createRandom } from '../../src/index.ts'

const PIECE = 1e6

export interface SimulatedRound {
  readonly workers: number
  /** Bytes of the centres that are sent, and of the sums of one worker. */
  readonly centers: number
  readonly sums: number
  /** Ranges into which workers cut their sums; 0: the coordinator adds them up. */
  readonly ranges: number
  /** Bytes in a second. */
  readonly bandwidth: number
  /** Seconds in which all workers together compute a round, divided evenly. */
  readonly compute: number
  /** Part by which workers differ from each other. */
  readonly spread: number
  /** Seconds of an empty round: messages. */
  readonly overhead: number
  /** A worker dies halfway through computing; others notice after so many seconds. */
  readonly death?: number | undefined
  readonly seed: number
}

/** Seconds of the round. */
export function simulateRound(round: SimulatedRound): number {
  const { workers, centers, sums, ranges, bandwidth, spread, overhead, death, seed } = round
  const random = createRandom(seed)
  const store = new Link(bandwidth)
  const written = store.transfer(0, centers)
  const speeds = Array.from({ length: workers }, () => 1 + spread * random.normal())
  const share = round.compute / workers
  const ready = store.together(
    speeds.map(() => written),
    centers,
  )
  const done = ready.map((at, i) => at + share * Math.max(0.2, speeds[i]))
  if (death !== undefined && workers > 1) {
    // Its shards are spread over the others, which have finished their own or do so first.
    const [died, ...others] = done
    const noticed = died - share / 2 + death
    const survivors = others.map((at) => Math.max(at, noticed) + share / others.length)
    done.splice(0, done.length, ...survivors)
  }
  const sent = store.together(done, sums)
  if (ranges === 0) return overhead + store.transfer(Math.max(...sent), sums * done.length)
  // Ranges can be added up when all workers have sent them; whoever is free takes one.
  const free = done.map(() => Math.max(...sent))
  for (let range = 0; range < ranges; range++) {
    const who = free.indexOf(Math.min(...free))
    const read = store.transfer(free[who], (sums * done.length) / ranges)
    free[who] = store.transfer(read, sums / ranges)
  }
  return overhead + store.transfer(Math.max(...free), sums)
}

class Link {
  readonly #bandwidth: number
  /** When everything that was asked for so far is served. */
  #busy = 0

  constructor(bandwidth: number) {
    this.#bandwidth = bandwidth
  }

  /** When a transfer that is asked for at `at` is over. */
  transfer(at: number, bytes: number): number {
    this.#busy = Math.max(this.#busy, at) + bytes / this.#bandwidth
    return this.#busy
  }

  /** Several transfers of as many bytes each, piece by piece in turn. */
  together(starts: readonly number[], bytes: number): number[] {
    const waiting = starts.map((at, i) => ({ at, i, left: bytes }))
    const ends = [...starts]
    while (waiting.length > 0) {
      waiting.sort((a, b) => a.at - b.at)
      const [next] = waiting
      const piece = Math.min(PIECE, next.left)
      next.at = this.transfer(next.at, piece)
      next.left -= piece
      ends[next.i] = next.at
      if (next.left <= 0) waiting.shift()
    }
    return ends
  }
}

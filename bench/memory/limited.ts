/** One run over a file in limited memory, and the peak memory of this process. */
import { cluster, openDevice, openVectors } from '../../src/index.ts'
import { type Holder, watchPeak } from './peak.ts'

export interface LimitedRun {
  readonly file: string
  readonly k: number
  readonly rounds: number
  readonly threads: number
  /** 0: no limit. */
  readonly megabytes: number
  readonly partBytes: number
}

export interface LimitedResult {
  readonly rows: number
  readonly megabytes: number
  readonly rounds: number
  readonly seconds: number
  readonly startSeconds: number
  readonly roundSeconds: number
  readonly peakBytes: number
  readonly holders: readonly Holder[]
  readonly distortion: number
  /** The same for the same labels. */
  readonly labels: string
}

export async function measureLimited(run: LimitedRun): Promise<LimitedResult> {
  const { k, rounds, threads, megabytes, partBytes } = run
  const source = await openVectors(run.file)
  const device = await openDevice({
    kind: 'cpu',
    threads,
    limits: { partBytes },
    ...(megabytes > 0 ? { totalBytes: megabytes * 2 ** 20 } : {}),
  })
  const peak = watchPeak(device)
  const began = performance.now()
  try {
    const { facts, labels, distortion } = await cluster(source, {
      k,
      method: 'closures-sharp',
      iterations: rounds,
      tolerance: 0,
      relocate: false,
      seed: 1,
      device,
      onIteration: ({ iteration, seconds }) => console.error(`round ${iteration} after ${seconds.toFixed(1)} s`),
    })
    const seconds = (performance.now() - began) / 1000
    const measured = peak()
    const { iterations } = facts
    const [first, last] = [iterations[0], iterations[iterations.length - 1]]
    return {
      rows: source.rows,
      megabytes,
      rounds: iterations.length,
      seconds,
      startSeconds: facts.startSeconds ?? 0,
      roundSeconds: (last.seconds - first.seconds) / Math.max(1, iterations.length - 1),
      peakBytes: measured.peakBytes,
      holders: measured.holders,
      distortion,
      labels: hashOf(labels).toString(16),
    }
  } finally {
    await device.close()
    await source.close?.()
  }
}

function hashOf(labels: Uint32Array): number {
  let hash = 0x811c9dc5
  for (const label of labels) hash = Math.imul(hash ^ label, 0x01000193)
  return hash >>> 0
}

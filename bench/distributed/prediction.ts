/**
 * Seconds of a round with more workers than there are here. Assumptions, all in the table below: bytes of a round grow with
 * k d and the number of workers; all of them pass through one store with the bandwidth of its network; computing is divided
 * evenly. A prediction, not a measurement.
 */
import { readFileSync } from 'node:fs'
import { writePlot } from '../curves.ts'
import type { Cell } from '../table.ts'

const [N, D, K] = [1e9, 128, 1e5]
/** Bytes in a second: 10 GbE. */
const BANDWIDTH = 1.25e9
/** Multiplications in a second of one worker with a GPU, as bench/results/gpu.json or the vendor says; here 10 T. */
const OPERATIONS = 1e13
/** Centres a point looks at in a closure round. */
const CANDIDATES = 60
/** What a round costs besides, in seconds: measured by the part `overhead`, or 0.05. */
const OVERHEAD = measuredOverhead()

/** Centres as 4 bytes a number, sums as 8 (the lowest of three words of byte sums is zero and not sent). */
const [CENTER_BYTES, SUM_BYTES] = [4 * K * D, 8 * K * D]

function measuredOverhead(): number {
  try {
    const { overhead } = JSON.parse(readFileSync('bench/results/cluster.json', 'utf8')) as {
      overhead?: { 'median ms': number }[]
    }
    return (overhead?.[0]['median ms'] ?? 50) / 1000
  } catch {
    return 0.05
  }
}

function secondsOf(workers: number, candidates: number, changed: number): { compute: number; network: number } {
  const compute = (N * D * candidates) / (OPERATIONS * workers)
  const network = (changed * workers * (CENTER_BYTES + SUM_BYTES)) / BANDWIDTH
  return { compute, network }
}

const CASES = [
  { name: 'lloyd, everything changed', candidates: K, changed: 1 },
  { name: 'closures, everything changed', candidates: CANDIDATES, changed: 1 },
  { name: 'closures, 5 % changed', candidates: CANDIDATES, changed: 0.05 },
]

/** A table, and a picture of it. */
export function predict(picture: string): Record<string, Cell>[] {
  const counts = [1, 2, 4, 8, 16, 32, 64]
  const rows: Record<string, Cell>[] = []
  const curves = CASES.map(({ name, candidates, changed }) => ({
    name,
    points: counts.map((workers) => {
      const { compute, network } = secondsOf(workers, candidates, changed)
      const seconds = OVERHEAD + compute + network
      rows.push({ rounds: name, workers, 'compute s': compute, 'store s': network, 'seconds of a round': seconds })
      return [workers, seconds] as const
    }),
  }))
  const title = 'Predicted: n = 10^9, d = 128, k = 100,000'
  writePlot(picture, curves, { title, x: 'workers', y: 'seconds of a round', xLog: true, yLog: true })
  return rows
}

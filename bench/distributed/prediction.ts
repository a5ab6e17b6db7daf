/**
 * Seconds of a round with more workers than there are here. Taken from measurements in bench/results/cluster.json: the time of an
 * empty round, the bytes that a number of a centre costs the store, and the multiplications of a worker on this machine.
 * Assumed: all bytes pass through one store with the bandwidth of its network, computing is divided evenly, and a GPU does
 * 10^13 multiplications in a second. A prediction, not a measurement.
 */
import { writePlot } from '../curves.ts'
import type { Cell } from '../table.ts'

const [N, D, K] = [1e9, 128, 1e5]
/** Bytes in a second: 10 GbE. */
const BANDWIDTH = 1.25e9
/** Assumed, of one worker with a GPU. */
const GPU_OPERATIONS = 1e13
/** Centres a point looks at in a closure round. */
const CANDIDATES = 60

type Rows = readonly Record<string, Cell>[]

interface Figures {
  /** Seconds of an empty round. */
  readonly overhead: number
  /** Bytes that each worker moves for a number of a centre, and those of the coordinator, in a round that moves all. */
  readonly workerBytes: number
  readonly coordinatorBytes: number
  /** Multiplications of one worker in a second. */
  readonly cpuOperations: number
}

/** Workers of the part `bytes`, dimensions there, and the size of the part `workers`. */
const [WORKERS, COLS] = [3, 128]

function figuresFrom(results: Record<string, Rows>, size: { rows: number; cols: number; k: number }): Figures {
  const largest = [...(results.bytes ?? [])]
    .filter(({ round }) => round === 1)
    .sort((a, b) => Number(b.k) - Number(a.k))[0]
  const numbers = Number(largest?.k ?? 1) * COLS
  const bytesOf = (...names: string[]): number =>
    names.reduce((sum, name) => sum + Number(largest?.[name] ?? 0), 0) * 1e6
  const alone = (results.workers ?? []).find(({ workers }) => workers === 1)
  const seconds = Number(alone?.['seconds of a round'] ?? Number.NaN)
  return {
    overhead: Number(results.overhead?.[0]?.['median ms'] ?? Number.NaN) / 1000,
    workerBytes: bytesOf('workers sent MB', 'workers received MB') / WORKERS / numbers,
    coordinatorBytes: bytesOf('coordinator sent MB', 'received MB') / numbers,
    cpuOperations: (size.rows * size.cols * size.k) / seconds,
  }
}

const CASES = [
  { name: 'lloyd, GPU (assumed), everything changed', gpu: true, candidates: K, changed: 1 },
  { name: 'closures, GPU (assumed), everything changed', gpu: true, candidates: CANDIDATES, changed: 1 },
  { name: 'closures, GPU (assumed), 5 % changed', gpu: true, candidates: CANDIDATES, changed: 0.05 },
  { name: 'closures, this CPU (measured), 5 % changed', gpu: false, candidates: CANDIDATES, changed: 0.05 },
]

/** A table, and a picture of it. Undefined if something was not measured yet. */
export function predict(
  picture: string,
  results: Record<string, Rows>,
  size: { rows: number; cols: number; k: number },
): Record<string, Cell>[] | undefined {
  const { overhead, workerBytes, coordinatorBytes, cpuOperations } = figuresFrom(results, size)
  if (![overhead, workerBytes, coordinatorBytes, cpuOperations].every((value) => value > 0)) return undefined
  const counts = [1, 2, 4, 8, 16, 32, 64]
  const rows: Record<string, Cell>[] = []
  const curves = CASES.map(({ name, gpu, candidates, changed }) => ({
    name,
    points: counts.map((workers) => {
      const compute = (N * D * candidates) / ((gpu ? GPU_OPERATIONS : cpuOperations) * workers)
      const bytes = changed * K * D * (workers * workerBytes + coordinatorBytes)
      const network = bytes / BANDWIDTH
      const seconds = overhead + compute + network
      rows.push({ rounds: name, workers, 'compute s': compute, 'store s': network, 'seconds of a round': seconds })
      return [workers, seconds] as const
    }),
  }))
  const title = 'Predicted: n = 10^9, d = 128, k = 100,000'
  writePlot(picture, curves, { title, x: 'workers', y: 'seconds of a round', xLog: true, yLog: true })
  return rows
}

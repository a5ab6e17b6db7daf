/**
 * Seconds of a round with more workers than there are here: simulated (simulation.ts) with figures from
 * bench/results/cluster.json. Measured are the time of an empty round, the bytes of centres and sums, the multiplications of
 * one worker on this machine, and the time in which a death is noticed beyond the lock. Assumed are the bandwidth of the store,
 * a GPU's multiplications, the number of candidates, how much workers differ, and that messages take no longer with more
 * workers. A prediction, not a measurement.
 */
import { writePlot } from '../curves.ts'
import { type Cell, median } from '../table.ts'
import { simulateRound } from './simulation.ts'

const [N, D, K] = [1e9, 128, 1e5]
/** Bytes in a second: 10 GbE. */
const BANDWIDTH = 1.25e9
/** Assumed, of one worker with a GPU. */
const GPU_OPERATIONS = 1e13
/** Centres a point looks at in a closure round. */
const CANDIDATES = 60
/** Standard deviation of the speed of workers. */
const SPREAD = 0.05
/** Numbers of a range, the default of `connect`. */
const RANGE = 2 ** 18
/** Seconds: the default. */
const LOCK = 15
const SEEDS = Array.from({ length: 25 }, (_, i) => i + 1)

type Row = Record<string, Cell>
type Rows = readonly Row[]

/** Of the part `workers`. */
export interface MeasuredSize {
  readonly rows: number
  readonly cols: number
  readonly k: number
}

/** Workers and dimensions of the part `bytes`. */
const [WORKERS, COLS] = [3, 128]

interface Figures {
  /** Seconds of an empty round. */
  readonly overhead: number
  /** Bytes of centres and of the sums of a worker, for each number of a centre, in a round that moves all. */
  readonly centers: number
  readonly sums: number
  /** Multiplications of one worker in a second. */
  readonly operations: number
  /** Seconds between the end of the lock and the end of the round. */
  readonly notice: number
}

function figuresFrom(results: Record<string, Rows>, store: string, size: MeasuredSize): Figures | undefined {
  const of = (part: string): Rows => (results[part] ?? []).filter((row) => row.store === store)
  const largest = of('bytes')
    .filter(({ round }) => round === 1)
    .sort((a, b) => Number(b.k) - Number(a.k))[0]
  const numbers = Number(largest?.k) * COLS
  const alone = of('workers').find(({ workers }) => workers === 1)
  const [recovery] = of('recovery')
  const figures = {
    overhead: Number(of('overhead')[0]?.['median ms']) / 1000,
    centers: (Number(largest?.['coordinator sent MB']) * 1e6) / numbers,
    // Each worker sends its sums and, where they are large, a part of what workers add up.
    sums: ((Number(largest?.['workers sent MB']) - Number(largest?.['received MB'])) * 1e6) / WORKERS / numbers,
    operations: (size.rows * size.cols * size.k) / Number(alone?.['seconds of a round']),
    notice: Number(recovery?.['recovery s']) - Number(recovery?.['lock s']),
  }
  return Object.values(figures).every(Number.isFinite) ? figures : undefined
}

const CASES = [
  { name: 'lloyd on GPUs, all moved', gpu: true, candidates: K, changed: 1, death: false },
  { name: 'closures on GPUs, all moved', gpu: true, candidates: CANDIDATES, changed: 1, death: false },
  { name: 'closures on GPUs, 5 % moved', gpu: true, candidates: CANDIDATES, changed: 0.05, death: false },
  { name: 'closures on CPUs, 5 % moved', gpu: false, candidates: CANDIDATES, changed: 0.05, death: false },
  { name: 'the same, and a worker dies', gpu: false, candidates: CANDIDATES, changed: 0.05, death: true },
]

/** A table, and a picture of it. Undefined if something was not measured yet. */
export function predict(
  picture: string,
  results: Record<string, Rows>,
  store: string,
  size: MeasuredSize,
): Row[] | undefined {
  const figures = figuresFrom(results, store, size)
  if (figures === undefined) return undefined
  const rows: Row[] = []
  const curves = CASES.map(({ name, gpu, candidates, changed, death }) => ({
    name,
    points: [1, 2, 4, 8, 16, 32, 64].flatMap((workers) => {
      if (death && workers === 1) return []
      const compute = (N * D * candidates) / (gpu ? GPU_OPERATIONS : figures.operations)
      const round = {
        workers,
        centers: changed * K * D * figures.centers,
        sums: changed * K * D * figures.sums,
        ranges: Math.ceil((K * D) / RANGE),
        bandwidth: BANDWIDTH,
        compute,
        spread: SPREAD,
        overhead: figures.overhead,
        death: death ? LOCK + Math.max(0, figures.notice) : undefined,
      }
      const seconds = median(SEEDS.map((seed) => simulateRound({ ...round, seed })))
      rows.push({ rounds: name, workers, 'compute s': compute / workers, 'seconds of a round': seconds })
      return [[workers, seconds] as const]
    }),
  }))
  const title = 'Predicted, not measured: n = 10^9, d = 128, k = 100,000'
  writePlot(picture, curves, { title, x: 'workers', y: 'seconds of a round', xLog: true, yLog: true, margin: 190 })
  return rows
}

/** The part `workers` beside a simulation that knows only its first row: says how far to trust the prediction. */
export function compareWithSimulation(results: Record<string, Rows>, store: string, { k, cols }: MeasuredSize): Row[] {
  const measured = (results.workers ?? []).filter((row) => row.store === store)
  const [alone] = measured
  const overhead = Number(results.overhead?.find((row) => row.store === store)?.['median ms']) / 1000
  if (alone === undefined || !(overhead > 0)) return []
  return measured.map((row) => {
    const workers = Number(row.workers)
    // All share the cores of this machine: each takes as long for its part as one worker for everything.
    const compute = Number(alone['seconds of a round']) - overhead
    const round = { workers, centers: 4 * k * cols, sums: 12 * k * cols, ranges: 0, bandwidth: BANDWIDTH, overhead }
    const seconds = simulateRound({ ...round, compute: compute * workers, spread: 0, seed: 1 })
    return { store, workers, 'measured s': row['seconds of a round'], 'simulated s': seconds }
  })
}

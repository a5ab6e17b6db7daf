/** What every part of the benchmark of closures works with. */
import {
  type ClusterOptions,
  cluster,
  type Device,
  type IterationStats,
  type Matrix,
  type MethodName,
} from '../../src/index.ts'
import { type Series, writePlot } from '../curves.ts'
import { printTable } from '../table.ts'

/** The paper's method, its rivals in the paper, and the exact one. */
export const RIVALS: readonly MethodName[] = ['closures', 'rakm', 'akm', 'hkm', 'canopy', 'lloyd']

export interface Setting {
  readonly vectors: Matrix
  readonly device: Device
  readonly threads: number
  readonly ks: readonly number[]
  readonly rounds: number
  /** What is kept as JSON; every part adds to it. */
  readonly results: Record<string, unknown>
}

export async function curve({ vectors, device }: Setting, options: ClusterOptions): Promise<IterationStats[]> {
  const steps: IterationStats[] = []
  await cluster(vectors, { tolerance: 0, seed: 1, device, onIteration: (step) => steps.push(step), ...options })
  return steps
}

/** A round of closures is cheaper and does less than the others' rounds: it gets more of them. */
export const roundsOf = (method: MethodName, rounds: number): number => (method === 'closures' ? 2 * rounds : rounds)

export const asSeries = (name: string, steps: readonly IterationStats[]): Series => ({
  name,
  points: steps.map((step) => [step.seconds, step.distortion]),
})

export function reportSeries({ results }: Setting, name: string, title: string, series: readonly Series[]): void {
  const rows = series.map(({ name: of, points }) => {
    const [seconds, end] = points[points.length - 1]
    return { run: of, rounds: points.length, seconds, distortion: end.toFixed(0) }
  })
  printTable(title, rows)
  writePlot(`closures-${name}`, series, { title, x: 'seconds', y: 'distortion', xLog: true })
  results[name] = series
}

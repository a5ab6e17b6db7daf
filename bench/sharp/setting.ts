/** What every part of the benchmark of k-means# works with. */
import { type ClusterOptions, cluster, type Device, type IterationStats, type Matrix } from '../../src/index.ts'

export interface Setting {
  readonly device: Device
  readonly threads: number
  /** What is kept as JSON; every part adds to it. */
  readonly results: Record<string, unknown>
}

/** A run, round by round, to its last round: nothing but the absence of any change ends it early. */
export async function curve(vectors: Matrix, device: Device, options: ClusterOptions): Promise<IterationStats[]> {
  const steps: IterationStats[] = []
  await cluster(vectors, { tolerance: 0, seed: 1, device, onIteration: (step) => steps.push(step), ...options })
  return steps
}

/** With the seconds of all threads together: far fewer than the clock's mean that the work waited. */
export async function withCpuTime<T>(work: () => Promise<T>): Promise<{ result: T; cpu: number }> {
  const before = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(before)
  return { result, cpu: (user + system) / 1e6 }
}

export function last<T>(list: readonly T[]): T {
  return list[list.length - 1]
}

/** `-1.30 %` for a value below the reference. */
export function against(value: number, reference: number): string {
  return `${((value / reference - 1) * 100).toFixed(2)} %`
}

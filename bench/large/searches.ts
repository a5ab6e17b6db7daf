/** What rounds of akm and rakm cost against rounds of closures-sharp, in processor time of one run. */
import { type ClusterOptions, cluster, type Matrix, openDevice } from '../../src/index.ts'
import { type Cell, printTable } from '../table.ts'
import { processorSeconds } from './processor-time.ts'

const METHODS = ['closures-sharp', 'akm', 'rakm'] as const

export interface SearchContest {
  readonly vectors: Matrix
  readonly threads: number
  readonly k: number
  readonly rounds: number
}

export interface SearchResult {
  readonly rows: number
  readonly k: number
  readonly method: string
  readonly rounds: number
  /** Of the processor, per vector and round, without the start and the first round. */
  readonly microseconds: number
  /** Against closures-sharp. */
  readonly factor: number
  /** Of the processor, for the whole run. */
  readonly seconds: number
  readonly wholeFactor: number
  readonly distortion: number
}

export async function compareSearches({ vectors, threads, k, rounds }: SearchContest): Promise<SearchResult[]> {
  const results: SearchResult[] = []
  for (const method of METHODS) {
    const measured = await measure(vectors, threads, { k, method, iterations: rounds })
    const { microseconds, seconds } = results[0] ?? measured
    const factor = measured.microseconds / microseconds
    results.push({ rows: vectors.rows, k, method, ...measured, factor, wholeFactor: measured.seconds / seconds })
  }
  const size = `${vectors.rows.toLocaleString('en')} x ${vectors.cols}`
  printTable(`Rounds of searches: ${size}, k = ${k}, CPU device, ${threads} threads`, results.map(cells))
  return results
}

async function measure(vectors: Matrix, threads: number, options: ClusterOptions) {
  const before = processorSeconds()
  const device = await openDevice({ kind: 'cpu', threads })
  const processor: number[] = []
  try {
    const { distortion } = await cluster(vectors, {
      tolerance: 0,
      seed: 1,
      device,
      onIteration: () => processor.push(processorSeconds()),
      ...options,
    })
    const rounds = processor.length
    const microseconds = (1e6 * (processor[rounds - 1] - processor[0])) / ((rounds - 1) * vectors.rows)
    return { rounds, microseconds, seconds: processorSeconds() - before, distortion }
  } finally {
    await device.close()
  }
}

function cells(result: SearchResult): Record<string, Cell> {
  const { method, rounds, microseconds, factor, seconds, wholeFactor, distortion } = result
  return {
    method,
    rounds,
    'processor us / vector and round': microseconds,
    'of closures-sharp': factor,
    'whole run, processor s': seconds,
    'of the whole run': wholeFactor,
    distortion,
  }
}

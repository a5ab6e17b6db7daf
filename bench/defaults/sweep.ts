/**
 * What a sweep costs in processor time against a clustering with its largest number of clusters, and what beginning each
 * clustering from the one before costs in distortion: the excess over clusterings of their own with the same seed.
 *
 * Vectors are those of --data, or else made blobs and handwritten digits.
 */
import { blobs, type ClusterOptions, cluster, type Matrix, readVectors, sweep } from '../../src/index.ts'
import { loadDigits } from '../closures/digits.ts'
import { type Cell, median, printTable } from '../table.ts'
import type { Setting } from './setting.ts'

interface SweptSet {
  readonly name: string
  readonly vectors: Matrix
  readonly from: number
  readonly to: number
}

interface Entry {
  readonly set: string
  readonly method: string
  readonly seconds: { readonly alone: number; readonly oneSeed: number; readonly byDefault: number }
  readonly steps: readonly { readonly k: number; readonly rounds: number; readonly excess: number }[]
  readonly stability: readonly (number | undefined)[]
}

const METHODS = ['auto', 'lloyd', 'closures', 'closures-sharp'] as const
/** Rows of the blobs. */
const BLOB_ROWS = 50_000
/** Sets of fewer numbers take a second: the median of several runs is taken. */
const SHORT = 1e7
const REPEATS = 5

export async function measureSweep(setting: Setting): Promise<object> {
  const entries: Entry[] = []
  for (const set of await sweptSets(setting)) {
    if (!set.name.includes(setting.only)) continue
    for (const method of METHODS) {
      const entry = await measure(setting, set, method)
      console.error(`${set.name}, ${method}: ${(entry.seconds.oneSeed / entry.seconds.alone).toFixed(2)}`)
      entries.push(entry)
    }
  }
  printTable(
    `Sweeps of 12 numbers of clusters, ${setting.device.info.kind}, ${setting.threads} threads, seed ${setting.firstSeed}`,
    entries.map(row),
  )
  for (const name of new Set(entries.map(({ set }) => set))) {
    printTable(
      `${name}: distortion of each step above that of a clustering of its own, %`,
      entries
        .filter(({ set }) => set === name)
        .map(({ method, steps }) => ({
          method,
          ...Object.fromEntries(steps.map(({ k, excess }) => [`k = ${k}`, (100 * excess).toFixed(2)])),
        })),
    )
  }
  return { firstSeed: setting.firstSeed, entries }
}

async function sweptSets({ data, firstSeed }: Setting): Promise<SweptSet[]> {
  if (data !== undefined) return [{ name: 'data', vectors: await readVectors(data), from: 10, to: 1000 }]
  const made = blobs({ rows: BLOB_ROWS, cols: 32, clusters: 200, seed: firstSeed })
  return [
    { name: '200 blobs', vectors: made.vectors, from: 10, to: 1000 },
    { name: 'digits', vectors: (await loadDigits()).vectors, from: 10, to: 200 },
  ]
}

async function measure(
  { device, firstSeed: seed }: Setting,
  { name, vectors, from, to }: SweptSet,
  method: (typeof METHODS)[number],
): Promise<Entry> {
  const options: ClusterOptions = { method, seed, device }
  const k = { from, to }
  const sweepOnce = () => sweep(vectors, { k, method, seed, seeds: 1, device, keep: false })
  // Compiling is not part of the runs that count. Where these are short, so is one that compiles.
  await cluster(vectors, { ...options, k: from, iterations: 1 })
  const short = vectors.rows * vectors.cols < SHORT
  if (short) await sweepOnce()
  const repeats = short ? REPEATS : 1
  const largest = await timed(repeats, () => cluster(vectors, { ...options, k: to }))
  const one = await timed(repeats, sweepOnce)
  const byDefault = await timed(1, () => sweep(vectors, { k, method, seed, device, keep: false }))
  const steps = []
  for (const step of one.result.steps) {
    const own = step.k === to ? largest.result : await cluster(vectors, { ...options, k: step.k })
    steps.push({ k: step.k, rounds: step.rounds, excess: step.distortion / own.distortion - 1 })
  }
  return {
    set: name,
    method,
    seconds: { alone: largest.seconds, oneSeed: one.seconds, byDefault: byDefault.seconds },
    steps,
    stability: byDefault.result.steps.map(({ stability }) => stability),
  }
}

/** Processor time of all threads, so that other work on the machine does not count; the median of several runs. */
async function timed<T>(
  repeats: number,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly seconds: number }> {
  const seconds: number[] = []
  for (;;) {
    const began = process.cpuUsage()
    const result = await work()
    const { user, system } = process.cpuUsage(began)
    seconds.push((user + system) / 1e6)
    if (seconds.length >= repeats) return { result, seconds: median(seconds) }
  }
}

function row({ set, method, seconds: { alone, oneSeed, byDefault }, steps }: Entry): Record<string, Cell> {
  const worst = steps.reduce((most, step) => (step.excess > most.excess ? step : most))
  return {
    set,
    method,
    'largest k alone, s': alone,
    'sweep, one seed, s': oneSeed,
    ratio: (oneSeed / alone).toFixed(2),
    'by default, s': byDefault,
    'ratio by default': (byDefault / alone).toFixed(2),
    'largest excess': `${(100 * worst.excess).toFixed(2)} %`,
    'at k': worst.k,
  }
}

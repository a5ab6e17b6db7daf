/**
 * Time and device memory of agm on all rows of a file, against rakm, which measures as many distances per round as agm
 * of the paper does: agm by default until it ends, agm as in the paper for ten rounds, and rakm with as many clusters as
 * that found, for as many rounds.
 *
 * Where a run was kept before, in bench/results/defaults-cost.json, its figures for the same file are printed beside the
 * new ones. They were taken at another time, perhaps on a machine with more to do: processor seconds and the ratio to
 * rakm say more than seconds then.
 *
 * Every run has a device of its own, so that none inherits scratch memory; compiling is done before the run. The first
 * round is counted without the choice of centres or components to begin with.
 */
import { existsSync, readFileSync } from 'node:fs'
import { type ClusterOptions, cluster, type Matrix, matrix, openDevice, readVectors } from '../../src/index.ts'
import { watchAllocations } from '../sharp/memory.ts'
import { type Cell, printTable } from '../table.ts'
import { mean, type Setting } from './setting.ts'

interface Cost {
  readonly name: string
  readonly clusters: number
  readonly rounds: number
  readonly seconds: number
  readonly startSeconds: number
  readonly firstRound: number
  /** Mean of the rounds after the first; undefined if there is only one. */
  readonly otherRounds: number | undefined
  /** Processor seconds of the first round, with the choice of centres to begin with, and the mean of the others. */
  readonly firstProcessor: number
  readonly otherProcessor: number | undefined
  /** The most bytes allocated on the device at a time, vectors included. */
  readonly deviceBytes: number
}

const ROUNDS = 10
/** Components that a point remembers in the paper. */
const MEMORY = 50
/** A point of agm measures those it remembers and twice as many newly found ones. */
const CHECKS = 3 * MEMORY
const KEPT = 'bench/results/defaults-cost.json'
/** Vectors of the run that compiles. */
const WARM = 1000

export async function measureCost(setting: Setting): Promise<object> {
  if (setting.data === undefined) throw new Error('The section cost needs vectors: --data descriptors.bvecs')
  const vectors = await readVectors(setting.data)
  const byDefault = await run(setting, vectors, 'agm, default', { method: 'agm' })
  const paper = await run(setting, vectors, 'agm, paper', {
    method: 'agm',
    criterion: 'overlap',
    start: 'all',
    memory: MEMORY,
    iterations: ROUNDS,
    tolerance: 0,
  })
  const rakm = await run(setting, vectors, 'rakm', {
    method: 'rakm',
    k: paper.clusters,
    checks: CHECKS,
    start: 'random',
    relocate: false,
    iterations: ROUNDS,
    tolerance: 0,
  })
  const runs = [byDefault, paper, rakm]
  const { rows, cols } = vectors
  printTable(
    `Cost on ${rows.toLocaleString('en')} x ${cols}, ${setting.device.info.kind}, ${setting.threads} threads`,
    runs.map((cost) => row(cost, rakm)),
  )
  const before = keptBefore(rows, cols)
  if (before !== undefined) {
    printTable(`Before (commit ${before.machine.commit}) and now`, comparison(before.runs, runs))
  }
  return {
    data: { rows, cols },
    seed: setting.firstSeed,
    runs,
    ...(before && { before: { commit: before.machine.commit, date: before.date, runs: before.runs } }),
  }
}

interface Kept {
  readonly date: string
  readonly machine: { readonly commit: string }
  readonly data: { readonly rows: number; readonly cols: number }
  readonly runs: readonly Cost[]
}

/** The results kept last, if they are of as many vectors. */
function keptBefore(rows: number, cols: number): Kept | undefined {
  if (!existsSync(KEPT)) return undefined
  const kept = JSON.parse(readFileSync(KEPT, 'utf8')) as Kept
  return kept.data.rows === rows && kept.data.cols === cols ? kept : undefined
}

function comparison(before: readonly Cost[], now: readonly Cost[]): Record<string, Cell>[] {
  const last = (runs: readonly Cost[]): Cost => runs[runs.length - 1]
  const rows = (name: string, of: (cost: Cost, rakm: Cost) => Cell): Record<string, Cell>[] =>
    now.flatMap((cost) => {
      const old = before.find(({ name }) => name === cost.name)
      if (old === undefined) return []
      return [{ method: cost.name, figure: name, before: of(old, last(before)), now: of(cost, last(now)) }]
    })
  return [
    ...rows('first round, seconds', ({ firstRound }) => firstRound),
    ...rows('other rounds, mean, seconds', ({ otherRounds }) => otherRounds ?? '-'),
    ...rows('first round / other rounds of rakm', ({ firstRound }, rakm) => firstRound / (rakm.otherRounds ?? 1)),
    ...rows('other rounds / those of rakm', ({ otherRounds = 0 }, rakm) => otherRounds / (rakm.otherRounds ?? 1)),
    ...rows('first round, processor seconds', ({ firstProcessor }) => firstProcessor),
    ...rows('other rounds, mean, processor seconds', ({ otherProcessor }) => otherProcessor ?? '-'),
    ...rows('device, MB', ({ deviceBytes }) => Math.round(deviceBytes / 2 ** 20)),
    ...rows('memory / rakm', ({ deviceBytes }, rakm) => deviceBytes / rakm.deviceBytes),
  ]
}

async function run(
  { device: { info }, threads, firstSeed }: Setting,
  vectors: Matrix,
  name: string,
  options: ClusterOptions,
): Promise<Cost> {
  const device = await openDevice({ kind: info.kind, threads })
  try {
    await warmUp(vectors, { ...options, device })
    const peak = watchAllocations(device)
    const began = performance.now()
    const processor: number[] = [processorSeconds()]
    const onIteration = (): void => {
      processor.push(processorSeconds())
    }
    const { facts } = await cluster(vectors, { ...options, seed: firstSeed, device, onIteration })
    const seconds = (performance.now() - began) / 1000
    console.error(`${name}: ${facts.k} clusters, ${seconds.toFixed(1)} s`)
    const { iterations, startSeconds = 0, k } = facts
    const [first, last] = [iterations[0].seconds, iterations[iterations.length - 1].seconds]
    const others = iterations.length - 1
    return {
      name,
      clusters: k,
      rounds: iterations.length,
      seconds,
      startSeconds,
      firstRound: first - startSeconds,
      otherRounds: others > 0 ? (last - first) / others : undefined,
      firstProcessor: processor[1] - processor[0],
      otherProcessor: others > 0 ? (processor[others + 1] - processor[1]) / others : undefined,
      deviceBytes: peak(),
    }
  } finally {
    await device.close()
  }
}

/** What this process has taken, all its threads together. */
function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** Two rounds on a few of the vectors, so that all kernels are compiled. */
async function warmUp({ data, rows, cols }: Matrix, options: ClusterOptions): Promise<void> {
  const count = Math.min(rows, WARM)
  const few = matrix(data.slice(0, count * cols), count, cols)
  const k = options.k === undefined ? {} : { k: Math.max(1, Math.floor(count / 10)) }
  await cluster(few, { ...options, ...k, iterations: 2 })
}

function row(cost: Cost, rakm: Cost): Record<string, Cell> {
  const round = (of: Cost): number => mean([of.firstRound, ...Array(of.rounds - 1).fill(of.otherRounds)])
  return {
    method: cost.name,
    clusters: cost.clusters,
    rounds: cost.rounds,
    seconds: cost.seconds,
    start: cost.startSeconds,
    'first round': cost.firstRound,
    'other rounds, mean': cost.otherRounds ?? '-',
    'first round, processor': cost.firstProcessor,
    'other rounds, processor': cost.otherProcessor ?? '-',
    'device, MB': Math.round(cost.deviceBytes / 2 ** 20),
    'seconds / rakm': cost.seconds / rakm.seconds,
    'round / rakm': round(cost) / round(rakm),
    'memory / rakm': cost.deviceBytes / rakm.deviceBytes,
  }
}

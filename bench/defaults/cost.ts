/**
 * Time and device memory of agm on the rows of a file, against rakm, which measures as many distances per round as agm
 * of the paper does: agm by default until it ends, agm as in the paper for ten rounds, and rakm with as many clusters as
 * that found, for as many rounds.
 *
 * With --before the same is done with the library of another folder, which holds a build of an older commit, in turn with
 * this one and in the same process:
 *
 *   git worktree add ../older 37a37e5 && (cd ../older && npm ci && npm run build)
 *   npm run bench -- defaults --parts cost --data descriptors.bvecs --before ../older
 *
 * (37a37e5 is the last commit in which agm was that of the paper alone.) What both ran is compared; an older agm has no other
 * form.
 *
 * Every run has a device of its own, so that none inherits scratch memory; compiling is done before the run. The first
 * round is counted without the choice of centres or components to begin with. A vector operation is one distance between
 * vectors, of nodes of the tree over the centres too.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as library from '../../src/index.ts'
import { type ClusterOptions, type Matrix, matrix, readVectors } from '../../src/index.ts'
import { watchAllocations } from '../sharp/memory.ts'
import { type Cell, printTable } from '../table.ts'
import { randomRows } from './sets.ts'
import type { Setting } from './setting.ts'

/** This library, or that of an older build. */
type Library = Pick<typeof library, 'METHODS' | 'cluster' | 'openDevice'>

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
  /** Distances measured for each vector, in all rounds. */
  readonly operations: number
  /** The most bytes allocated on the device at a time, vectors included. */
  readonly deviceBytes: number
}

const ROUNDS = 10
/** Components that a point remembers in the paper. */
const MEMORY = 50
/** A point of agm measures those it remembers and twice as many newly found ones. */
const CHECKS = 3 * MEMORY
/** Vectors of the run that compiles. */
const WARM = 1000

export async function measureCost(setting: Setting): Promise<object> {
  if (setting.data === undefined) throw new Error('The section cost needs vectors: --data descriptors.bvecs')
  const all = await readVectors(setting.data)
  const vectors = setting.costRows === 0 ? all : randomRows(all, setting.costRows, setting.firstSeed)
  const older = setting.before === undefined ? undefined : await olderLibrary(setting.before)
  const runs: Cost[] = []
  const before: Cost[] = []
  const both = async (name: string, options: ClusterOptions): Promise<Cost> => {
    if (older !== undefined) before.push(await run(older, setting, vectors, name, knownTo(older, options)))
    const own = await run(library, setting, vectors, name, options)
    runs.push(own)
    return own
  }
  runs.push(await run(library, setting, vectors, 'agm, default', { method: 'agm' }))
  const paper = await both('agm, paper', {
    method: 'agm',
    criterion: 'overlap',
    start: 'all',
    memory: MEMORY,
    iterations: ROUNDS,
    tolerance: 0,
  })
  await both('rakm', {
    method: 'rakm',
    k: paper.clusters,
    checks: CHECKS,
    start: 'random',
    relocate: false,
    iterations: ROUNDS,
    tolerance: 0,
  })
  const { rows, cols } = vectors
  printTable(
    `Cost on ${rows.toLocaleString('en')} x ${cols}, ${setting.device.info.kind}, ${setting.threads} threads`,
    runs.map((cost) => row(cost, runs[runs.length - 1])),
  )
  if (before.length > 0) printTable(`Before (${setting.before}) and now`, comparison(before, runs))
  return { data: { rows, cols }, seed: setting.firstSeed, runs, ...(before.length > 0 && { before }) }
}

async function olderLibrary(folder: string): Promise<Library> {
  return (await import(pathToFileURL(resolve(folder, 'dist/index.js')).href)) as Library
}

/** Builds that have no criteria of agm do not relocate clusters either. */
function knownTo({ METHODS }: Library, options: ClusterOptions & { criterion?: unknown }): ClusterOptions {
  if (METHODS.agm.options.some(({ name }) => name === 'criterion')) return options
  const { criterion, relocate, ...known } = options
  return known
}

function comparison(before: readonly Cost[], now: readonly Cost[]): Record<string, Cell>[] {
  const last = (runs: readonly Cost[]): Cost => runs[runs.length - 1]
  const figures: Record<string, (cost: Cost, rakm: Cost) => number> = {
    'vector operations for each vector': ({ operations }) => operations,
    seconds: ({ seconds }) => seconds,
    'processor seconds': processor,
    'first round, processor seconds': ({ firstProcessor }) => firstProcessor,
    'other rounds, mean, processor seconds': ({ otherProcessor = 0 }) => otherProcessor,
    'first round / other rounds': ({ firstProcessor, otherProcessor = 1 }) => firstProcessor / otherProcessor,
    'processor seconds / rakm': (cost, rakm) => processor(cost) / processor(rakm),
    'device, MB': ({ deviceBytes }) => Math.round(deviceBytes / 2 ** 20),
    'memory / rakm': ({ deviceBytes }, rakm) => deviceBytes / rakm.deviceBytes,
  }
  return before.flatMap((old) => {
    const cost = now.find(({ name }) => name === old.name) as Cost
    return Object.entries(figures).map(([figure, of]) => {
      const [then, here] = [of(old, last(before)), of(cost, last(now))]
      return { method: cost.name, figure, before: then, now: here, 'now / before': here / then }
    })
  })
}

/** Of all rounds, and of the choice of centres to begin with. */
function processor({ firstProcessor, otherProcessor = 0, rounds }: Cost): number {
  return firstProcessor + (rounds - 1) * otherProcessor
}

async function run(
  { cluster, openDevice }: Library,
  { device: { info }, threads, firstSeed }: Setting,
  vectors: Matrix,
  name: string,
  options: ClusterOptions,
): Promise<Cost> {
  const device = await openDevice({ kind: info.kind, threads })
  try {
    await warmUp(cluster, vectors, { ...options, device })
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
      operations: iterations.reduce((sum, { candidates }) => sum + candidates, 0),
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
async function warmUp(
  cluster: Library['cluster'],
  { data, rows, cols }: Matrix,
  options: ClusterOptions,
): Promise<void> {
  const count = Math.min(rows, WARM)
  const few = matrix(data.slice(0, count * cols), count, cols)
  const k = options.k === undefined ? {} : { k: Math.max(1, Math.floor(count / 10)) }
  await cluster(few, { ...options, ...k, iterations: 2 })
}

function row(cost: Cost, rakm: Cost): Record<string, Cell> {
  const round = (of: Cost): number => processor(of) / of.rounds
  return {
    method: cost.name,
    clusters: cost.clusters,
    rounds: cost.rounds,
    'vector operations': cost.operations,
    seconds: cost.seconds,
    start: cost.startSeconds,
    'first round': cost.firstRound,
    'other rounds, mean': cost.otherRounds ?? '-',
    'first round, processor': cost.firstProcessor,
    'other rounds, processor': cost.otherProcessor ?? '-',
    'device, MB': Math.round(cost.deviceBytes / 2 ** 20),
    'seconds / rakm': cost.seconds / rakm.seconds,
    'processor seconds of a round / rakm': round(cost) / round(rakm),
    'memory / rakm': cost.deviceBytes / rakm.deviceBytes,
  }
}

/**
 * Approximate Gaussian mixtures as in the paper (criterion overlap), from all points of a file: what is left after each
 * round and what it costs, against AKM and RAKM with as many clusters and equal checks; and what the words are worth.
 *
 *   npm run bench -- agm --data vectors.bvecs [--queries q.bvecs --truth q.ivecs] [--memory 50] [--rounds 10]
 *                        [--start all] [--neighbors 10] [--device cpu] [--parts course,checks] [--checks 50,100,200]
 *                        [--seeds 1,2,3]
 *
 * A vector operation is one distance between vectors: nodes of the tree over the centres count too, and
 * so does looking for overlaps. Words are tried out for every seed; means are shown, and how far they lie apart.
 */
import { parseArgs } from 'node:util'
import {
  type ClusterOptions,
  type ClusterStep,
  clusterSteps,
  type IterationStats,
  type Matrix,
  matrix,
  nearest,
  openDevice,
  readIntegers,
  readVectors,
} from '../src/index.ts'
import { type Series, writePlot } from './curves.ts'
import { type Cell, keepResults, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    data: { type: 'string' },
    queries: { type: 'string' },
    truth: { type: 'string' },
    memory: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '10' },
    start: { type: 'string', default: 'all' },
    neighbors: { type: 'string', default: '10' },
    device: { type: 'string', default: 'cpu' },
    parts: { type: 'string', default: 'course,checks' },
    checks: { type: 'string', default: '50,100,200' },
    seeds: { type: 'string', default: '1,2,3' },
  },
})
if (!flags.data) {
  console.error('Which vectors? npm run bench -- agm --data vectors.bvecs')
  process.exit(2)
}
/** Rounds after which the words are tried out. */
const TRIED = new Set([1, 2, 3, 5, 7, 10, 15, 20])
/** Points whose distance to the nearest centre is taken, exactly. */
const SAMPLE = 10_000
const SOFT = [1, 3, 5] as const

const vectors = await readVectors(flags.data)
const device = await openDevice({ kind: flags.device as 'cpu' | 'webgpu' })
const memory = Number(flags.memory)
const rounds = Number(flags.rounds)
const sample = everySo(vectors, SAMPLE)
const trial = await readTrial()

interface Tried {
  readonly round: number
  readonly operations: number
  readonly distortion: number
  /** Share of true neighbours under the first, the first 3, the first 5 words of a query. */
  readonly recall: readonly number[]
  /** The first of them: the best seed less the worst. */
  readonly apart: number
}

interface Run {
  readonly name: string
  readonly steps: readonly IterationStats[]
  readonly tried: readonly Tried[]
  readonly clusters: number
  readonly peakDevice: number
  readonly peakProcess: number
}

const seeds = flags.seeds.split(',').map(Number)
/** Of the others: as many as a point of agm searches for and remembers. */
const CHECKS = 3 * memory

const parts = flags.parts.split(',')
const start = flags.start === 'all' ? 'all' : Number(flags.start)
if (parts.includes('course')) {
  const mixture = await followAll('agm', { method: 'agm', criterion: 'overlap', memory, start })
  const rivals: Run[] = []
  for (const method of ['akm', 'rakm'] as const) {
    rivals.push(
      await followAll(method, {
        method,
        k: mixture.clusters,
        checks: CHECKS,
        branching: 16,
        start: 'random',
        // Their papers do not move clusters elsewhere.
        relocate: false,
      }),
    )
  }
  report(mixture, rivals)
}
if (parts.includes('checks')) await survivorsByChecks()
await device.close()

/** What is left after the first round depends on how many components a point hears of. */
async function survivorsByChecks(): Promise<void> {
  const rows: Record<string, Cell>[] = []
  for (const checks of flags.checks.split(',').map(Number)) {
    const run = clusterSteps(vectors, {
      method: 'agm',
      criterion: 'overlap',
      memory,
      checks,
      start,
      iterations: 1,
      seed: 1,
      device,
    })
    for await (const { extra, seconds, candidates } of run) {
      rows.push({
        checks,
        'components left': extra?.components ?? 0,
        'share of the start': `${((100 * (extra?.components ?? 0)) / startCount()).toFixed(1)} %`,
        seconds,
        'vector operations a point': candidates,
      })
    }
  }
  printTable(`Left after the first round, memory ${memory}`, rows)
  keepResults('agm-checks', {
    data: { rows: vectors.rows, cols: vectors.cols },
    device: device.info.name,
    memory,
    rows,
  })
}

/** The course of the first seed; words of all. */
async function followAll(name: string, options: ClusterOptions): Promise<Run> {
  const runs: Run[] = []
  for (const seed of seeds) runs.push(await follow(name, { ...options, seed }))
  const [first] = runs
  const tried = first.tried.map((one, i): Tried => {
    const all = runs.map((run) => run.tried[i])
    const recalls = all.map(({ recall }) => recall[0])
    return {
      ...one,
      operations: mean(all.map(({ operations }) => operations)),
      distortion: mean(all.map(({ distortion }) => distortion)),
      recall: one.recall.map((_, place) => mean(all.map(({ recall }) => recall[place]))),
      apart: Math.max(...recalls) - Math.min(...recalls),
    }
  })
  return { ...first, tried }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

async function follow(name: string, options: ClusterOptions): Promise<Run> {
  const steps: IterationStats[] = []
  const tried: Tried[] = []
  let operations = 0
  let clusters = 0
  let paused = 0
  let [peakDevice, peakProcess] = [0, 0]
  const watch = setInterval(() => {
    peakDevice = Math.max(peakDevice, device.allocatedBytes)
    peakProcess = Math.max(peakProcess, process.memoryUsage().rss)
  }, 100)
  for await (const step of clusterSteps(vectors, { tolerance: 0, device, iterations: rounds, ...options })) {
    const { centers: _, labels: __, sigmas: ___, ...stats } = step
    // Trying out the words is not part of the run.
    steps.push({ ...stats, seconds: step.seconds - paused })
    const began = performance.now()
    operations += step.candidates
    if (TRIED.has(step.iteration) || step.iteration === rounds) tried.push(await tryOut(step, operations))
    clusters = (await step.centers()).rows
    console.log(`${name}, round ${step.iteration}: ${clusters} clusters, ${(step.seconds - paused).toFixed(0)} s`)
    paused += (performance.now() - began) / 1000
  }
  clearInterval(watch)
  return { name, steps, tried, clusters, peakDevice, peakProcess }
}

async function tryOut(step: ClusterStep, operations: number): Promise<Tried> {
  const centers = await step.centers()
  const { distances } = await nearest(sample, centers, { device })
  const distortion = distances.reduce((sum, distance) => sum + distance, 0) / sample.rows
  return { round: step.iteration, operations, distortion, recall: await recallOf(centers), apart: 0 }
}

/** Of the true neighbours of a query, how many have a word that is among the first of the query. */
async function recallOf(centers: Matrix): Promise<number[]> {
  if (trial === undefined) return []
  const most = Math.min(SOFT[SOFT.length - 1], centers.rows)
  const { labels: asked } = await nearest(trial.queries, centers, { m: most, device })
  const { labels: words } = await nearest(trial.neighbors, centers, { device })
  return SOFT.map((soft) => {
    let found = 0
    trial.places.forEach((place, at) => {
      const query = Math.floor(at / trial.perQuery)
      const own = asked.subarray(query * most, query * most + Math.min(soft, most))
      if (own.includes(words[place])) found++
    })
    return found / trial.places.length
  })
}

async function readTrial() {
  if (!flags.queries || !flags.truth) return undefined
  const queries = await readVectors(flags.queries)
  const truth = await readIntegers(flags.truth)
  const perQuery = Math.min(Number(flags.neighbors), truth.cols)
  // Only points that are somebody's neighbour need a word.
  const numbers = new Map<number, number>()
  const places = new Uint32Array(queries.rows * perQuery)
  for (let query = 0; query < queries.rows; query++) {
    for (let rank = 0; rank < perQuery; rank++) {
      const id = truth.data[query * truth.cols + rank]
      if (!numbers.has(id)) numbers.set(id, numbers.size)
      places[query * perQuery + rank] = numbers.get(id) as number
    }
  }
  return { queries, perQuery, places, neighbors: rowsOf(vectors, [...numbers.keys()]) }
}

function rowsOf({ data, cols }: Matrix, ids: readonly number[]): Matrix {
  const rows = data.slice(0, ids.length * cols)
  ids.forEach((id, i) => {
    rows.set(data.subarray(id * cols, (id + 1) * cols), i * cols)
  })
  return matrix(rows, ids.length, cols)
}

function everySo(all: Matrix, count: number): Matrix {
  const step = Math.max(1, Math.floor(all.rows / count))
  const ids = Array.from({ length: Math.min(count, all.rows) }, (_, i) => i * step)
  return rowsOf(all, ids)
}

function report(mixture: Run, rivals: readonly Run[]): void {
  const survivors = mixture.steps.map((step, i) => ({
    round: step.iteration,
    components: step.extra?.components ?? 0,
    'share of the start': `${((100 * (step.extra?.components ?? 0)) / startCount()).toFixed(1)} %`,
    purged: step.extra?.purged ?? 0,
    'log-likelihood': step.extra?.logLikelihood ?? 0,
    distortion: step.distortion,
    seconds: step.seconds - (mixture.steps[i - 1]?.seconds ?? 0),
    'vector operations a point': step.candidates,
  }))
  printTable(`agm, memory ${memory}, from ${startCount()} of ${vectors.rows} x ${vectors.cols}`, survivors)
  const runs = [mixture, ...rivals]
  const worth = runs.flatMap(({ name, steps, tried, clusters }) =>
    tried.map(({ round, operations, distortion, recall, apart }): Record<string, Cell> => {
      const step = steps[round - 1]
      return {
        method: name,
        clusters: step.extra?.components ?? clusters,
        round,
        seconds: step.seconds,
        'vector operations a point': operations,
        distortion: distortion.toFixed(0),
        ...Object.fromEntries(SOFT.map((soft, i) => [`recall, ${soft} word${soft > 1 ? 's' : ''}`, recall[i] ?? '-'])),
        'seeds apart, 1 word': apart,
      }
    }),
  )
  printTable(
    `Words against vector operations: ${2 * memory} + ${memory} for agm, ${CHECKS} checks for the others, ${seeds.length} seeds`,
    worth,
  )
  const memoryRows = runs.map(({ name, peakDevice, peakProcess }) => ({
    method: name,
    'device, MB': Math.round(peakDevice / 2 ** 20),
    'process, MB': Math.round(peakProcess / 2 ** 20),
  }))
  printTable('Most memory at a time', memoryRows)
  const curve = (pick: (tried: Tried) => number): Series[] =>
    runs.map(({ name, tried }) => ({ name, points: tried.map((each) => [each.operations, pick(each)] as const) }))
  const title = `${mixture.clusters.toLocaleString('en')} clusters`
  const x = 'vector operations a point'
  writePlot(
    'agm-distortion',
    curve(({ distortion }) => distortion),
    { title, x, y: 'distortion', yCut: 2 },
  )
  if (trial)
    writePlot(
      'agm-recall',
      curve(({ recall }) => recall[0]),
      { title, x, y: 'neighbours that share a word' },
    )
  const left = mixture.steps.map((step): [number, number] => [step.iteration, step.extra?.components ?? 0])
  writePlot('agm-survivors', [{ name: 'agm', points: [[0, startCount()], ...left] }], {
    title: 'components left',
    x: 'round',
    y: 'components',
  })
  keepResults('agm', {
    data: { rows: vectors.rows, cols: vectors.cols },
    device: device.info.name,
    memory,
    seeds,
    rounds: survivors,
    worth,
    peak: memoryRows,
  })
}

function startCount(): number {
  return flags.start === 'all' ? vectors.rows : Number(flags.start)
}

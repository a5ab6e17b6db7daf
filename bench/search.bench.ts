/**
 * Searching an inverted file against faiss, usearch and hnswlib: queries per second and latency against recall.
 *
 *   npm run bench -- search --base base.bvecs --queries query.bvecs [--truth groundtruth.ivecs] [--rows 1000000]
 *                           [--lists 4096] [--threads 2] [--rounds 5] [--single 300] [--keep folder]
 *                           [--probes 1,2,4,8] [--candidates 20,100] [--faiss-learn 262144] [--save name]
 *                           [--engines centroidal,centroidal-8,faiss,faiss-fastscan,usearch,hnswlib-node]
 *
 * With more --rows than the file has, further vectors are copies with noise of up to 15 in each byte, and the truth is found
 * by exact search. Every engine runs in a process of its own. Each effort (lists to look into, candidates) is tried for
 * the plot; at the cheapest that reaches a recall@10 of 0.9 the engines are then timed in turn, round after round. --keep
 * keeps the indexes, and a later run with the same options loads them instead of building. --faiss-learn trains faiss on
 * about so many of the vectors, where all would take too long; its seconds of building are then too few. Results are kept as
 * --save, a hyphen and the number of threads.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Matrix, matrix, nearest, readIntegers, readVectors, writeVectors } from '../src/index.ts'
import { writePlot } from './curves.ts'
import { PEERS_HINT } from './peers.ts'
import { answerAsEngine } from './search/answer.ts'
import { type Effort, type Engine, type EngineProcess, findEngines, isKept } from './search/engines.ts'
import { type Cell, keepResults, median, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    base: { type: 'string' },
    queries: { type: 'string' },
    truth: { type: 'string' },
    rows: { type: 'string' },
    lists: { type: 'string' },
    threads: { type: 'string', default: String(availableParallelism()) },
    rounds: { type: 'string', default: '5' },
    single: { type: 'string', default: '300' },
    keep: { type: 'string' },
    engines: { type: 'string', default: 'centroidal,centroidal-8,faiss,faiss-fastscan,usearch,hnswlib-node' },
    probes: { type: 'string', default: '1,2,4,8,16,32,48,64,96,128,192,256' },
    candidates: { type: 'string', default: '20,50,100,200' },
    'faiss-learn': { type: 'string', default: '0' },
    save: { type: 'string', default: 'search' },
    engine: { type: 'string' },
  },
})

const NEAREST = 10
const RECALL = 0.9
const NOISE = 15

interface Tried {
  readonly effort: Effort
  readonly recall: number
  readonly perSecond: number
  readonly p50: number
}

/** Seconds by the clock and of the processor. */
interface Built {
  readonly seconds: number
  readonly cpu: number
}

interface Contestant {
  readonly engine: Engine
  readonly process: EngineProcess
  readonly build: Built | undefined
  readonly disk: number
  readonly version: string
  /** A process that has loaded the index. */
  load(): Promise<EngineProcess>
  tried: Tried[]
}

if (flags.engine !== undefined) await answerAsEngine(flags.engine, Number(flags.threads))
else await compare()

async function compare(): Promise<void> {
  if (flags.base === undefined || flags.queries === undefined) {
    console.error('Which vectors? npm run bench -- search --base base.bvecs --queries query.bvecs')
    process.exit(2)
  }
  const temporary = mkdtempSync(join(tmpdir(), 'centroidal-bench-'))
  const keep = flags.keep ?? temporary
  mkdirSync(keep, { recursive: true })
  const contestants: Contestant[] = []
  try {
    const given = await readVectors(flags.base)
    const base = enlarged(given, Number(flags.rows ?? given.rows))
    const queries = await readVectors(flags.queries)
    const truth = await truthOf(base, queries, base === given, join(keep, `truth-${base.rows}.json`))
    const files = { base: join(keep, `base-${base.rows}.npy`), asked: join(keep, 'queries.npy') }
    if (!isKept(files.base)) await writeVectors(files.base, base)
    await writeVectors(files.asked, queries)
    const lists = Number(flags.lists ?? 2 ** Math.round(Math.log2(4 * Math.sqrt(base.rows))))
    const threads = Number(flags.threads)
    const engines = await findEngines({
      ...{ lists, threads, names: flags.engines.split(',') },
      ...{ probes: flags.probes.split(',').map(Number), candidates: flags.candidates.split(',').map(Number) },
    })
    console.log(
      `${base.rows} x ${base.cols}, ${queries.rows} queries, ${lists} lists, ${threads} threads. ${PEERS_HINT}`,
    )
    for (const engine of engines)
      contestants.push(
        await prepared(engine, files, keep, { rows: base.rows, lists, learn: Number(flags['faiss-learn']) }),
      )
    for (const each of contestants) each.tried = await tryEfforts(each, truth)
    const rows = await timeTogether(contestants, truth, Number(flags.rounds))
    const title = `${basename(flags.base)}, ${base.rows.toLocaleString('en')} x ${base.cols}`
    printTable(`${title}: at recall@${NEAREST} of ${RECALL}, ${threads} threads`, rows)
    plot(title, contestants, threads)
    keepResults(`${flags.save}-${threads}`, {
      data: {
        name: basename(flags.base),
        rows: base.rows,
        cols: base.cols,
        queries: queries.rows,
        noisy: base !== given,
      },
      ...{
        lists,
        threads,
        faissLearn: Number(flags['faiss-learn']),
        rounds: Number(flags.rounds),
        nearest: NEAREST,
        recall: RECALL,
        table: rows,
      },
      engines: contestants.map(({ engine, build, version, tried }) => ({
        ...{ name: engine.name, index: engine.index, version, build, tried },
      })),
    })
  } finally {
    for (const each of contestants) each.process.close()
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** The rows, then copies of them with noise. */
function enlarged(given: Matrix, rows: number): Matrix {
  if (rows <= given.rows) return given
  const { cols } = given
  const data = new Uint8Array(rows * cols)
  let state = 1
  for (let i = 0; i < data.length; i++) {
    const value = given.data[i % given.data.length]
    if (i < given.data.length) {
      data[i] = value
      continue
    }
    // xorshift, as good as noise needs it
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    data[i] = Math.max(0, Math.min(255, value + ((state >>> 8) % (2 * NOISE + 1)) - NOISE))
  }
  return matrix(data, rows, cols)
}

async function truthOf(base: Matrix, queries: Matrix, asGiven: boolean, kept: string): Promise<Set<number>[]> {
  if (asGiven && flags.truth !== undefined) {
    const { data, rows, cols } = await readIntegers(flags.truth)
    return Array.from(
      { length: rows },
      (_, i) => new Set(Array.from(data.subarray(i * cols, i * cols + NEAREST), Number)),
    )
  }
  if (!isKept(kept)) {
    const { labels } = await nearest(queries, base, { m: NEAREST, device: 'cpu' })
    writeFileSync(kept, JSON.stringify(Array.from(labels)))
  }
  const labels = JSON.parse(readFileSync(kept, 'utf8')) as number[]
  return Array.from({ length: queries.rows }, (_, i) => new Set(labels.slice(i * NEAREST, (i + 1) * NEAREST)))
}

async function prepared(
  engine: Engine,
  files: { readonly base: string; readonly asked: string },
  keep: string,
  { rows, lists, learn }: { readonly rows: number; readonly lists: number; readonly learn: number },
): Promise<Contestant> {
  const path = join(keep, `${engine.name}-${rows}-${lists}`)
  const times = `${path}.json`
  if (!isKept(path)) {
    const builder = engine.start()
    const built = await builder.ask('build', { ...files, lists, ...(engine.name.startsWith('faiss') ? { learn } : {}) })
    await builder.ask('save', { path })
    builder.close()
    writeFileSync(times, JSON.stringify({ seconds: built.seconds, cpu: built.cpu }))
  }
  const load = async (): Promise<EngineProcess> => {
    const started = engine.start()
    await started.ask('load', { ...files, path })
    return started
  }
  const process = engine.start()
  const { bytes = 0, version = '' } = await process.ask('load', { ...files, path })
  const build = isKept(times) ? (JSON.parse(readFileSync(times, 'utf8')) as Built) : undefined
  console.log(
    `${engine.name}: ${engine.index}, built in ${build?.seconds.toFixed(1)} s (processor ${build?.cpu.toFixed(1)} s)`,
  )
  return { engine, process, build, disk: bytes, version, load, tried: [] }
}

function recallOf(ids: readonly number[][], truth: readonly Set<number>[]): number {
  let hits = 0
  ids.forEach((found, i) => {
    for (const id of found) if (truth[i].has(id)) hits++
  })
  return hits / (ids.length * NEAREST)
}

async function tryEfforts({ engine, process }: Contestant, truth: readonly Set<number>[]): Promise<Tried[]> {
  const tried: Tried[] = []
  for (const effort of engine.efforts) {
    const values = { ...effort, nearest: NEAREST, most: 50 }
    const first = await process.ask('search', { ...values, single: false })
    const { ids = [], seconds = 0 } = await process.ask('search', { ...values, single: false })
    const { times = [] } = await process.ask('search', { ...values, single: true })
    const perSecond = truth.length / Math.min(seconds, first.seconds ?? seconds)
    tried.push({ effort, recall: recallOf(ids, truth), perSecond, p50: median(times) })
  }
  return tried
}

/** The quickest effort that finds enough, for batches or for single queries. */
function cheapest(tried: readonly Tried[], by: (each: Tried) => number): Tried | undefined {
  return tried.filter(({ recall }) => recall >= RECALL).sort((a, b) => by(a) - by(b))[0]
}

async function timeTogether(
  contestants: readonly Contestant[],
  truth: readonly Set<number>[],
  rounds: number,
): Promise<Record<string, Cell>[]> {
  const ready = contestants.flatMap((each) => {
    const batch = cheapest(each.tried, ({ perSecond }) => -perSecond)
    const single = cheapest(each.tried, ({ p50 }) => p50)
    return batch && single
      ? [{ ...each, batch, single, seconds: [] as number[], cpu: [] as number[], times: [] as number[][] }]
      : []
  })
  for (let round = 0; round < rounds; round++) {
    for (const each of ready) {
      const common = { nearest: NEAREST, most: Number(flags.single) }
      const answer = await each.process.ask('search', { ...each.batch.effort, ...common, single: false })
      each.seconds.push(answer.seconds ?? 0)
      each.cpu.push(answer.cpu ?? 0)
    }
    for (const each of ready) {
      const common = { nearest: NEAREST, most: Number(flags.single) }
      const { times = [] } = await each.process.ask('search', { ...each.single.effort, ...common, single: true })
      each.times.push(times.sort((a, b) => a - b))
    }
  }
  const rows: Record<string, Cell>[] = []
  for (const { engine, load, build, disk, batch, single, seconds, cpu, times } of ready) {
    const memory = await memoryOf(await load(), batch.effort)
    const at = (share: number): number => median(times.map((sorted) => sorted[Math.floor(share * (sorted.length - 1))]))
    rows.push({
      engine: engine.name,
      'recall@10': batch.recall.toFixed(3),
      'probe, candidates': `${batch.effort.probe}, ${batch.effort.candidates}`,
      'queries/s, batch': truth.length / median(seconds),
      'CPU ms a query': (1000 * median(cpu)) / truth.length,
      'single p50 ms': at(0.5) * 1000,
      'p99 ms': at(0.99) * 1000,
      'single at': `${single.effort.probe}, ${single.effort.candidates}`,
      'build s': build?.seconds ?? '-',
      'build CPU s': build?.cpu ?? '-',
      'memory MB': memory / 1e6,
      'disk MB': disk / 1e6,
    })
  }
  return rows
}

/** Bytes that an index takes while it is searched, in a process that has done nothing else. */
async function memoryOf(process: EngineProcess, effort: Effort): Promise<number> {
  const common = { ...effort, nearest: NEAREST, most: 100 }
  await process.ask('search', { ...common, single: false })
  await process.ask('search', { ...common, single: true })
  const { bytes = 0, before = 0 } = await process.ask('memory')
  process.close()
  return bytes - before
}

/** The best of all efforts: nothing that is as quick finds more. */
function frontier(tried: readonly Tried[], by: (each: Tried) => number): [number, number][] {
  const sorted = [...tried].sort((a, b) => by(b) - by(a))
  const best: [number, number][] = []
  let recall = 0.5
  for (const each of sorted) {
    if (each.recall <= recall) continue
    recall = each.recall
    best.push([each.recall, by(each)])
  }
  return best
}

function plot(title: string, contestants: readonly Contestant[], threads: number): void {
  const series = (by: (each: Tried) => number) =>
    contestants.map(({ engine, tried }) => ({ name: engine.name, points: frontier(tried, by) }))
  const axes = { x: 'recall@10', y: 'queries per second', yLog: true }
  writePlot(
    `${flags.save}-batch-${threads}`,
    series(({ perSecond }) => perSecond),
    { title: `Batches: ${title}, ${threads} threads`, ...axes },
  )
  writePlot(
    `${flags.save}-single-${threads}`,
    series(({ p50 }) => 1 / p50),
    { title: `One query at a time: ${title}, ${threads} threads`, ...axes },
  )
}

/**
 * closures-sharp on more and more vectors: what a vector costs in a round, and which kernels take the time.
 *
 *   npm run bench -- large [--data vectors.bvecs] [--sizes 100000,1000000,10000000] [--per-cluster 100,1000]
 *                          [--rounds 10] [--threads 2] [--kernels]
 *                          [--parts sizes,many,faiss,searches] [--many-rows 10000000] [--faiss-rows 1000000] [--faiss-ks 1000,10000,100000]
 *                          [--search-rows 130709,300000] [--search-k 10000]
 *
 * Vectors are those of the file, repeated with noise of up to 15 in each byte, or random blobs of 128 bytes without one.
 * Seconds of rounds leave out the start; processor seconds are those of the whole run. With --kernels each kernel is
 * timed, for which every call waits for the one before. The part `many` clusters vectors to a
 * tenth as many clusters; its memory is the peak. The part `faiss` takes about half an hour, most of it in faiss. The part
 * `searches` compares rounds of akm and rakm with those of closures-sharp.
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { cluster, type Device, type Matrix, openDevice, readVectors } from '../src/index.ts'
import { type Series, writePlot } from './curves.ts'
import { againstFaiss } from './large/faiss.ts'
import { compareSearches, type SearchResult } from './large/searches.ts'
import { bytesOfBlobs, repeated } from './large/vectors.ts'
import { type Cell, keepResults, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    data: { type: 'string' },
    sizes: { type: 'string', default: '100000,1000000,10000000' },
    'per-cluster': { type: 'string', default: '100,1000' },
    rounds: { type: 'string', default: '10' },
    threads: { type: 'string', default: String(availableParallelism()) },
    kernels: { type: 'boolean', default: false },
    parts: { type: 'string', default: 'sizes' },
    'many-rows': { type: 'string', default: '10000000' },
    'faiss-rows': { type: 'string', default: '1000000' },
    'faiss-ks': { type: 'string', default: '1000,10000,100000' },
    'search-rows': { type: 'string', default: '130709,300000' },
    'search-k': { type: 'string', default: '10000' },
  },
})
interface Measured {
  readonly rows: number
  readonly perCluster: number
  readonly k: number
  readonly rounds: number
  readonly sampled: number
  readonly startSeconds: number
  readonly roundSeconds: number
  readonly microseconds: number
  readonly processorMicroseconds: number
  readonly memory: number
  readonly distortion: number
  readonly kernels?: Readonly<Record<string, number>>
}

const threads = Number(flags.threads)
const rounds = Number(flags.rounds)
const numbers = (text: string): number[] => text.split(',').map(Number)
const different = flags.data ? await readVectors(flags.data) : await bytesOfBlobs()
const results: Measured[] = []
/** Vectors for each cluster, where there are very many clusters. */
const VECTORS_OF_MANY = 10
const parts = new Set(flags.parts.split(','))
if (parts.has('sizes')) await measureSizes()
if (parts.has('many')) {
  const measured = await measure(repeated(different, Number(flags['many-rows'])), VECTORS_OF_MANY)
  printTable('Very many clusters', [cells(measured)])
  keepResults('large-many', { data: described(), threads, result: measured })
}
if (parts.has('faiss')) {
  const vectors = repeated(different, Number(flags['faiss-rows']))
  const contest = { vectors, threads, ks: numbers(flags['faiss-ks']) }
  await againstFaiss(contest, (results) => keepResults('large-faiss', { data: described(), threads, results }))
}
if (parts.has('searches')) {
  const k = Number(flags['search-k'])
  const found: SearchResult[] = []
  for (const rows of numbers(flags['search-rows'])) {
    found.push(...(await compareSearches({ vectors: repeated(different, rows), threads, k, rounds })))
  }
  keepResults('large-searches', { data: described(), threads, results: found })
}

async function measureSizes(): Promise<void> {
  for (const perCluster of numbers(flags['per-cluster'])) {
    for (const rows of numbers(flags.sizes)) {
      results.push(await measure(repeated(different, rows), perCluster))
      console.error(`${rows.toLocaleString('en')} vectors, ${perCluster} for each cluster: done`)
      if (flags.kernels) keepResults('large-kernels', { data: described(), threads, results })
    }
  }
  printTable(`closures-sharp, CPU device, ${threads} threads, ${rounds} rounds at most`, results.map(cells))
  if (flags.kernels) {
    printTable('Processor microseconds per vector and round, by kernel, with the start', kernelRows())
    return
  }
  writePlot('large', series(), {
    title: 'closures-sharp',
    x: 'vectors',
    y: 'microseconds per vector and round',
    xLog: true,
  })
  keepResults('large', { data: described(), threads, results })
}

function described(): string {
  return flags.data ? 'a file, repeated with noise' : 'blobs'
}

async function measure(vectors: Matrix, perCluster: number): Promise<Measured> {
  const { rows } = vectors
  const k = Math.round(rows / perCluster)
  const device = await openDevice({ kind: 'cpu', threads })
  const kernels = new Map<string, number>()
  if (flags.kernels) timeKernels(device, kernels)
  try {
    const before = process.cpuUsage()
    const options = { k, method: 'closures-sharp', seed: 1, iterations: rounds, tolerance: 0, device } as const
    const { facts, distortion } = await cluster(vectors, options)
    const { user, system } = process.cpuUsage(before)
    const last = facts.iterations[facts.iterations.length - 1]
    const done = facts.iterations.length
    // What precedes the rounds: checking and loading the vectors, then the start.
    const first = facts.iterations[0]
    const roundSeconds = ((last.seconds - first.seconds) / (done - 1)) * done
    const perRound = rows * done
    return {
      rows,
      perCluster,
      k,
      rounds: done,
      sampled: facts.sample?.rows ?? 0,
      startSeconds: facts.startSeconds ?? 0,
      roundSeconds,
      microseconds: (roundSeconds * 1e6) / perRound,
      processorMicroseconds: (user + system) / perRound,
      memory: process.resourceUsage().maxRSS * 1024,
      distortion,
      ...(flags.kernels && {
        kernels: Object.fromEntries([...kernels].map(([name, time]) => [name, time / perRound])),
      }),
    }
  } finally {
    await device.close()
  }
}

/** Microseconds of the processor by the name of the work. */
function timeKernels(device: Device, kernels: Map<string, number>): void {
  const run = device.run.bind(device)
  device.run = async (work, control) => {
    const before = process.cpuUsage()
    await run(work, control)
    const { user, system } = process.cpuUsage(before)
    kernels.set(work.name, (kernels.get(work.name) ?? 0) + user + system)
  }
}

function cells(measured: Measured): Record<string, Cell> {
  const { rows, k, rounds: done, sampled, startSeconds, microseconds, processorMicroseconds, memory } = measured
  const smallest = results.find(({ perCluster }) => perCluster === measured.perCluster)
  return {
    vectors: rows,
    k,
    rounds: done,
    sample: sampled,
    'start s': startSeconds,
    'us / vector and round': microseconds,
    'against the smallest': microseconds / (smallest ?? measured).microseconds,
    'processor us, with start': processorMicroseconds,
    'peak memory MB': Math.round(memory / 1e6),
  }
}

function kernelRows(): Record<string, Cell>[] {
  const names = [...new Set(results.flatMap(({ kernels = {} }) => Object.keys(kernels)))]
  const most = (name: string): number => Math.max(...results.map(({ kernels = {} }) => kernels[name] ?? 0))
  return names
    .sort((a, b) => most(b) - most(a))
    .map((name) => ({
      kernel: name,
      ...Object.fromEntries(
        results.map(({ rows, k, kernels = {} }) => [`${rows.toLocaleString('en')} / ${k}`, kernels[name] ?? 0]),
      ),
    }))
}

function series(): Series[] {
  return numbers(flags['per-cluster']).map((perCluster) => ({
    name: `k = n / ${perCluster}`,
    points: results
      .filter((result) => result.perCluster === perCluster)
      .map(({ rows, microseconds }) => [rows, microseconds] as const),
  }))
}

/** Runs with worker processes on this machine. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  blobs,
  type ClusterOptions,
  cluster,
  connect,
  createRandom,
  type Matrix,
  matrix,
  openDevice,
  openShards,
  type RoundTraffic,
  writeShards,
  writeVectors,
} from '../../src/index.ts'
import { type Cell, median } from '../table.ts'

type Row = Record<string, Cell>

const SHARDS = 12
/** Seconds. On a loaded machine a worker may not answer for longer than a short one. */
const [LOCK, SHORT_LOCK] = [15, 2]

interface Setting {
  readonly url: string
  readonly vectors: Matrix
  readonly workers: number
  readonly threads: number
  readonly options: ClusterOptions
  /** Seconds. Default LOCK. */
  readonly lock?: number
  /** Called after each round, with the workers. */
  readonly disturb?: (round: number, workers: ChildProcess[]) => void
}

interface Measured {
  readonly traffic: readonly RoundTraffic[]
  readonly seconds: number
}

async function run({ url, vectors, workers, threads, options, disturb, lock = LOCK }: Setting): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-bench-'))
  const children: ChildProcess[] = []
  const device = await openDevice({ kind: 'cpu', threads })
  try {
    const file = join(folder, 'vectors.npy')
    await writeVectors(file, vectors)
    await writeShards(join(folder, 'shards.json'), [file], { rows: Math.ceil(vectors.rows / SHARDS) })
    const source = await openShards(join(folder, 'shards.json'))
    for (let i = 0; i < workers; i++) children.push(await startWorker(url, folder, threads, lock))
    const traffic: RoundTraffic[] = []
    const on = await connect(url, { lock, onTraffic: (each) => traffic.push(each) })
    const began = performance.now()
    await cluster(source, {
      ...options,
      device,
      on,
      onIteration: ({ iteration }) => disturb?.(iteration, children),
    })
    const seconds = (performance.now() - began) / 1000
    await on.close()
    await source.close?.()
    return { traffic, seconds }
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await device.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function startWorker(url: string, folder: string, threads: number, lock: number): Promise<ChildProcess> {
  const flags = ['--data', folder, '--device', 'cpu', '--threads', String(threads), '--lock', String(lock)]
  const child = spawn(process.execPath, ['dist/cli.js', 'worker', url, ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The worker ended with ${code}`)))
    child.stderr?.on('data', (text: Buffer) => {
      if (text.toString().includes('ready')) resolve(child)
    })
  })
}

/** Numbers without groups, so that rounds go on. */
function noise(rows: number, cols: number, seed: number): Matrix {
  const random = createRandom(seed)
  return matrix(
    Float32Array.from({ length: rows * cols }, () => random.uniform()),
    rows,
    cols,
  )
}

const PLAIN: ClusterOptions = { method: 'lloyd', tolerance: 0, relocate: false, seed: 1, start: 'random' }

export async function measureOverhead(store: string, url: string, rounds: number): Promise<Row> {
  const options = { ...PLAIN, k: 64, iterations: rounds }
  const { traffic } = await run({ url, vectors: noise(2400, 4, 1), workers: 3, threads: 1, options })
  // The first round waits for workers.
  const seconds = traffic.slice(1).map((each) => each.seconds)
  return { store, rounds: seconds.length, 'median ms': 1000 * median(seconds), 'least ms': 1000 * Math.min(...seconds) }
}

export async function measureWorkers(store: string, url: string, rows: number, threads: number): Promise<Row[]> {
  const { vectors } = blobs({ rows, cols: 64, clusters: 3000, seed: 5 })
  const options = { ...PLAIN, k: 1000, iterations: 8 }
  const table: Row[] = []
  for (const workers of [1, 2, 4]) {
    const each = Math.max(1, Math.floor(threads / workers))
    const { traffic } = await run({ url, vectors, workers, threads: each, options })
    const seconds = traffic.slice(1).map((round) => round.seconds)
    table.push({ store, workers, 'threads each': each, 'seconds of a round': median(seconds) })
  }
  return table
}

export async function measureBytes(store: string, url: string, k: number): Promise<Row[]> {
  const rows = Math.max(60_000, Math.ceil(1.2 * k))
  const random = createRandom(3)
  const vectors = matrix(
    Uint8Array.from({ length: rows * 128 }, () => random.below(256)),
    rows,
    128,
  )
  // All centres move in the first round, and few in the last.
  const iterations = k >= 100_000 ? 4 : 12
  const options: ClusterOptions = { ...PLAIN, method: 'closures', start: 'random-labels', k, iterations }
  const { traffic, seconds } = await run({ url, vectors, workers: 3, threads: 1, options })
  const table = [traffic[0], traffic[traffic.length - 1]].map((round) => ({
    store,
    k,
    round: round.round,
    'coordinator sent MB': round.sent / 1e6,
    'received MB': round.received / 1e6,
    'workers sent MB': round.workersSent / 1e6,
    'workers received MB': round.workersReceived / 1e6,
    'seconds of the round': round.seconds,
    'seconds of the run': seconds,
  }))
  return table
}

export async function measureRecovery(store: string, url: string): Promise<Row> {
  const { vectors } = blobs({ rows: 60_000, cols: 32, clusters: 400, seed: 2 })
  const options = { ...PLAIN, k: 200, iterations: 12 }
  const setting = { url, vectors, workers: 3, threads: 1, lock: SHORT_LOCK, options }
  const quiet = await run(setting)
  const killed = await run({
    ...setting,
    disturb: (round, workers) => {
      if (round === 5) workers[0].kill('SIGKILL')
    },
  })
  const usual = median(quiet.traffic.slice(1).map(({ seconds }) => seconds))
  const worst = Math.max(...killed.traffic.slice(1).map(({ seconds }) => seconds))
  return {
    store,
    'lock s': SHORT_LOCK,
    'usual round s': usual,
    'round with the death s': worst,
    'recovery s': worst - usual,
  }
}

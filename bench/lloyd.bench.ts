/**
 * Lloyd from the same start on both devices, in faiss and in scikit-learn: where each ends, and when.
 *
 *   npm run bench -- lloyd --data vectors.bvecs [--k 256] [--rounds 25] [--devices cpu,webgpu]
 *
 * Every end is judged alike: mean squared distance of the points to the nearest of the final centres.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  cluster,
  createRandom,
  type Matrix,
  matrix,
  nearest,
  openDevice,
  readVectors,
  writeVectors,
} from '../src/index.ts'
import { PEERS_HINT, pythonWith, runPython } from './peers.ts'
import { keepResults, printTable } from './table.ts'

const { values: options } = parseArgs({
  options: {
    data: { type: 'string' },
    k: { type: 'string', default: '256' },
    rounds: { type: 'string', default: '25' },
    devices: { type: 'string', default: 'cpu,webgpu' },
  },
})
if (!options.data) {
  console.error('Which vectors? npm run bench -- lloyd --data vectors.bvecs')
  process.exit(2)
}
const vectors = await readVectors(options.data)
const k = Number(options.k)
const rounds = Number(options.rounds)
const threads = availableParallelism()
const start = differentRows(vectors, k)
const judge = await openDevice({ kind: 'cpu' })

interface Row {
  name: string
  on: string
  distortion: number
  seconds: number
}
const rows: Row[] = []
const folder = mkdtempSync(join(tmpdir(), 'centroidal-bench-'))
try {
  for (const kind of options.devices.split(',') as ('cpu' | 'webgpu')[]) await ours(kind)
  await writeVectors(join(folder, 'x.npy'), vectors)
  await writeVectors(join(folder, 'start.npy'), start)
  for (const [tool, module] of [
    ['faiss', 'faiss'],
    ['scikit-learn', 'sklearn'],
  ]) {
    await theirs(tool, module)
  }
} finally {
  await judge.close()
  rmSync(folder, { recursive: true, force: true })
}
report()

async function ours(kind: 'cpu' | 'webgpu'): Promise<void> {
  const device = await openDevice({ kind })
  const began = performance.now()
  const model = await cluster(vectors, { k, method: 'lloyd', start, iterations: rounds, tolerance: 0, device })
  const seconds = (performance.now() - began) / 1000
  rows.push({ name: `centroidal ${kind}`, on: device.info.name, distortion: await judged(model.centers), seconds })
  await device.close()
}

async function theirs(tool: string, module: string): Promise<void> {
  const python = pythonWith(module)
  if (!python) return
  const file = join(folder, 'centers.npy')
  const result = runPython<{ seconds: number; version: string }>(python, 'kmeans.py', [
    tool,
    join(folder, 'x.npy'),
    join(folder, 'start.npy'),
    rounds,
    threads,
    file,
  ])
  const distortion = await judged(await readVectors(file))
  rows.push({ name: `${tool} ${result.version}`, on: `${threads} threads`, distortion, seconds: result.seconds })
}

async function judged(centers: Matrix): Promise<number> {
  const { distances } = await nearest(vectors, centers, { device: judge })
  let sum = 0
  for (const distance of distances) sum += distance
  return sum / distances.length
}

function differentRows(from: Matrix, count: number): Matrix {
  const random = createRandom(1)
  const seen = new Set<string>()
  const data = new Float32Array(count * from.cols)
  while (seen.size < count) {
    const i = random.below(from.rows)
    const row = from.data.subarray(i * from.cols, (i + 1) * from.cols)
    const key = row.join()
    if (seen.has(key)) continue
    data.set(row, seen.size * from.cols)
    seen.add(key)
  }
  return matrix(data, count, from.cols)
}

function report(): void {
  const peer = rows.find((row) => row.name.startsWith('faiss')) ?? rows.find((row) => row.name.startsWith('scikit'))
  const cells = rows.map((row) => ({
    name: row.name,
    on: row.on,
    distortion: row.distortion.toFixed(1),
    'against peer': peer ? `${((row.distortion / peer.distortion - 1) * 100).toFixed(3)} %` : '-',
    seconds: row.seconds,
  }))
  printTable(`Lloyd, ${vectors.rows} x ${vectors.cols}, k = ${k}, ${rounds} rounds from the same start`, cells)
  console.log(`\n${PEERS_HINT}`)
  keepResults('lloyd', { rows: vectors.rows, cols: vectors.cols, k, rounds, threads, results: rows })
}

/**
 * Exact assignment, 65,536 x 128 against 1,024 centres, f32: GFLOP/s (2 n k d over the time) of both
 * devices and of what people use instead, in one run, equal threads.
 *
 * Ours take host memory to host memory (upload and read-back included), as faiss does; TensorFlow.js
 * is timed with its tensors already on the device, which favours it.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRandom, type Device, type Matrix, matrix, nearest, openDevice, writeVectors } from '../src/index.ts'
import { PEERS_HINT, peerPackage, pythonWith, runPython } from './peers.ts'
import { tensorflowAssign } from './peers-tensorflow.ts'
import { type Cell, fastest, keepResults, median, printTable } from './table.ts'

const n = 65_536
const k = 1024
const d = 128
const threads = availableParallelism()
const gigaflops = (seconds: number, rows = n): number => (2 * rows * k * d) / seconds / 1e9

const random = createRandom(7)
const filled = (rows: number): Matrix =>
  matrix(
    Float32Array.from({ length: rows * d }, () => random.normal()),
    rows,
    d,
  )
const vectors = filled(n)
const centers = filled(k)

interface Row {
  name: string
  on: string
  gflops: number
  agree: number | undefined
}

interface FaissResult {
  seconds: number
  labels: number[]
  version: string
}

const rows: Row[] = []
const folder = mkdtempSync(join(tmpdir(), 'centroidal-bench-'))
try {
  const cpu = await openDevice({ kind: 'cpu', threads })
  const reference = (await nearest(vectors, centers, { device: cpu })).labels
  const agreement = (labels: ArrayLike<number>): number => {
    let same = 0
    for (let i = 0; i < labels.length; i++) same += labels[i] === reference[i] ? 1 : 0
    return same / labels.length
  }
  await compareWithFaiss(cpu, agreement)
  await javascriptPeers(agreement)
  await cpu.close()
  await compareWithTensorflow(agreement)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
report()

/** Taking turns, so that both meet the machine in the same moods. */
async function compareWithFaiss(cpu: Device, agreement: (labels: ArrayLike<number>) => number): Promise<void> {
  const python = pythonWith('faiss')
  await writeVectors(join(folder, 'x.npy'), vectors)
  await writeVectors(join(folder, 'c.npy'), centers)
  const ours: number[] = []
  const theirs: number[] = []
  let faiss: FaissResult | undefined
  for (let turn = 0; turn < 5; turn++) {
    ours.push(await fastest(4, () => nearest(vectors, centers, { device: cpu })))
    if (python) {
      const args = [join(folder, 'x.npy'), join(folder, 'c.npy'), threads, 4]
      faiss = runPython<FaissResult>(python, 'faiss_assign.py', args)
      theirs.push(faiss.seconds)
    }
  }
  rows.push({ name: 'centroidal cpu', on: cpu.info.name, gflops: gigaflops(median(ours)), agree: 1 })
  if (faiss) {
    const agree = agreement(faiss.labels)
    rows.push({ name: `faiss ${faiss.version}`, on: `${threads} threads`, gflops: gigaflops(median(theirs)), agree })
  }
}

async function javascriptPeers(agreement: (labels: ArrayLike<number>) => number): Promise<void> {
  interface KMeans {
    kmeans(data: number[][], k: number, options: object): { clusters: number[] }
  }
  const peer = await peerPackage<KMeans>('ml-kmeans')
  if (!peer) return
  const few = 4096
  const toRows = (m: Matrix, count: number): number[][] =>
    Array.from({ length: count }, (_, i) => Array.from(m.data.subarray(i * d, (i + 1) * d)))
  const data = toRows(vectors, few)
  const initialization = toRows(centers, k)
  let clusters: number[] = []
  const seconds = await fastest(2, async () => {
    // No round at all still assigns every point once.
    clusters = peer.kmeans(data, k, { initialization, maxIterations: 1, tolerance: 0 }).clusters
  })
  rows.push({
    name: 'ml-kmeans 7',
    on: 'plain JavaScript',
    gflops: gigaflops(seconds, few),
    agree: agreement(clusters),
  })
}

async function compareWithTensorflow(agreement: (labels: ArrayLike<number>) => number): Promise<void> {
  const gpu = await openDevice({ kind: 'webgpu' })
  const first = await nearest(vectors, centers, { device: gpu })
  const seconds = await fastest(2, () => nearest(vectors, centers, { device: gpu }))
  rows.push({
    name: 'centroidal webgpu',
    on: gpu.info.name,
    gflops: gigaflops(seconds),
    agree: agreement(first.labels),
  })
  const name = gpu.info.name
  await gpu.close()
  const tensorflow = await tensorflowAssign(vectors, centers)
  if (tensorflow) {
    const agree = agreement(tensorflow.labels)
    rows.push({ name: 'TensorFlow.js webgpu', on: name, gflops: gigaflops(tensorflow.seconds), agree })
  }
}

function report(): void {
  const speed = (name: string): number | undefined => rows.find((row) => row.name.startsWith(name))?.gflops
  const ratio = (a: string, b: string): Cell => {
    const [x, y] = [speed(a), speed(b)]
    return x && y ? x / y : '-'
  }
  const cells = rows.map(({ name, on, gflops, agree }) => ({
    name,
    on,
    'GFLOP/s': gflops,
    'same labels': agree === undefined ? '-' : `${(agree * 100).toFixed(3)} %`,
  }))
  printTable(`Exact assignment, ${n} x ${d} against ${k}, f32`, cells)
  const ratios = {
    'cpu over faiss': ratio('centroidal cpu', 'faiss'),
    'webgpu over TensorFlow.js': ratio('centroidal webgpu', 'TensorFlow'),
    'cpu over ml-kmeans': ratio('centroidal cpu', 'ml-kmeans'),
  }
  printTable('Ratios', [ratios])
  console.log(`\n${PEERS_HINT}`)
  keepResults('assign', { n, k, d, threads, rows, ratios })
}

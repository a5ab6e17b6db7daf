/**
 * Product quantization, Cartesian and orthogonal k-means and ITQ, with faiss in the same run.
 *
 *   npm run bench -- quantizers --learn a.bvecs --base b.bvecs --queries q.bvecs --truth g.ivecs
 *                               [--parts training,throughput,recall,bits,files,rotation] [--seeds 1,2,3,4,5] [--rounds 100] [--device cpu]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  type CodeDistance,
  cluster,
  InvertedFile,
  openDevice,
  type Quantizer,
  type QuantizerOptions,
  readIntegers,
  readVectors,
  recallAt,
  trainQuantizer,
  writeNeighbors,
  writeVectors,
} from '../src/index.ts'
import { type Series, writePlot } from './curves.ts'
import { PEERS_HINT, pythonWith, runPython } from './peers.ts'
import { rotationShare } from './quantizers-rotation.ts'
import { type Cell, fastest, keepResults, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    learn: { type: 'string' },
    base: { type: 'string' },
    queries: { type: 'string' },
    truth: { type: 'string' },
    parts: { type: 'string', default: 'training,throughput,recall,bits,files,rotation' },
    seeds: { type: 'string', default: '1,2,3,4,5' },
    rounds: { type: 'string', default: '100' },
    device: { type: 'string', default: 'cpu' },
  },
})
if (!flags.learn || !flags.base || !flags.queries || !flags.truth) {
  console.error(
    'Which vectors? npm run bench -- quantizers --learn a.bvecs --base b.bvecs --queries q.bvecs --truth g.ivecs',
  )
  process.exit(2)
}
const learn = await readVectors(flags.learn)
const base = await readVectors(flags.base)
const queries = await readVectors(flags.queries)
const truth = await readIntegers(flags.truth)
const threads = availableParallelism()
const device = await openDevice({ kind: flags.device as 'cpu' | 'webgpu' })
const rounds = Number(flags.rounds)
const seeds = flags.seeds.split(',').map(Number)
const parts = new Set(flags.parts.split(','))
const REPEATS = 5
/** Rounds of the trainings that are timed against faiss; its own default. */
const TIMED_ROUNDS = 50

interface Peer {
  readonly seconds: number
  readonly rotationSeconds: number
  readonly encode: number
  readonly search: number
  readonly recall: readonly number[]
  readonly distortion: number
  readonly version: string
}

const python = pythonWith('faiss')
const peers = new Map<string, Peer>()
const folder = mkdtempSync(join(tmpdir(), 'centroidal-bench-'))
try {
  await writeVectors(join(folder, 'learn.npy'), learn)
  await writeVectors(join(folder, 'base.npy'), base)
  await writeVectors(join(folder, 'queries.npy'), queries)
  await writeNeighbors(join(folder, 'truth.npy'), Uint32Array.from(truth.data), truth.cols)
  const all: Record<string, () => Promise<unknown>> = {
    training: trainingTime,
    throughput,
    recall: recallAndDistortion,
    bits: recallAgainstBits,
    files: invertedFiles,
    rotation: () => rotationShare(device),
  }
  for (const [name, part] of Object.entries(all)) {
    if (!parts.has(name)) continue
    // A file for each part, so that one can be repeated alone.
    keepResults(`quantizers-${name}`, {
      data: { learn: learn.rows, base: base.rows, queries: queries.rows, cols: learn.cols },
      device: device.info.name,
      threads,
      rows: await part(),
    })
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
  await device.close()
}
console.log(`\n${PEERS_HINT}`)

/** steps: k-means steps of a round; 0 leaves faiss its own. seed: 0 too. */
function faiss(kind: 'pq' | 'opq', m: number, peerRounds: number, steps = 0, seed = 0): Peer | undefined {
  if (!python) return undefined
  const args = [kind, m, peerRounds, steps, threads, REPEATS, seed]
  const key = args.join(' ')
  const known = peers.get(key) ?? runPython<Peer>(python, 'quantizers.py', [folder, ...args])
  peers.set(key, known)
  return known
}

function train(options: QuantizerOptions): Promise<Quantizer> {
  return trainQuantizer(learn, { tolerance: 0, device, ...options })
}

async function recallsOf(quantizer: Quantizer, distance: CodeDistance): Promise<number[]> {
  const codes = await quantizer.encode(base, { device })
  const { labels } = await quantizer.search(codes, queries, { nearest: 100, distance, device })
  return [1, 10, 100].map((r) => recallAt({ rows: queries.rows, cols: 100, data: labels }, truth, r))
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function recallRow(
  name: string,
  distance: string,
  recalls: readonly (readonly number[])[],
  distortions: readonly number[],
): Record<string, Cell> {
  const [one, ten, hundred] = [0, 1, 2].map((i) => (100 * mean(recalls.map((recall) => recall[i]))).toFixed(1))
  const tens = recalls.map((recall) => recall[1])
  return {
    quantizer: name,
    distance,
    runs: recalls.length,
    'recall@1': one,
    '@10': ten,
    'worst to best @10': [Math.min, Math.max].map((pick) => (100 * pick(...tens)).toFixed(1)).join(' to '),
    '@100': hundred,
    distortion: mean(distortions).toFixed(0),
  }
}

/** Figures 2 and 5 of the paper: 64 bits, three orders; means over the seeds for the ones that are compared. */
async function recallAndDistortion(): Promise<unknown> {
  const rows: Record<string, Cell>[] = []
  const curves: Series[] = []
  const measure = async (
    name: string,
    options: QuantizerOptions,
    distances: readonly (readonly [CodeDistance, string])[],
    of: readonly number[],
  ): Promise<void> => {
    const recalls = distances.map((): number[][] => [])
    const distortions: number[] = []
    for (const seed of of) {
      const quantizer = await train({ ...options, seed })
      distortions.push(await quantizer.distortionOf(base, { device }))
      for (const [i, [distance]] of distances.entries()) recalls[i].push(await recallsOf(quantizer, distance))
    }
    distances.forEach(([, words], i) => {
      rows.push(recallRow(name, words, recalls[i], distortions))
      if (!/structured|random/.test(name)) {
        const label = distances.length > 1 ? `${name}, ${words}` : name
        curves.push({
          name: label,
          points: [1, 10, 100].map((r, at) => [r, mean(recalls[i].map((found) => found[at]))]),
        })
      }
    })
  }
  const asymmetric = [['asymmetric', 'asymmetric']] as const
  const bits = [
    ['hamming', 'Hamming'],
    ['asymmetric', 'asymmetric'],
  ] as const
  await measure('pq, natural', { type: 'pq', iterations: 50 }, asymmetric, seeds)
  await measure('pq, structured', { type: 'pq', iterations: 50, order: 'structured' }, asymmetric, [seeds[0]])
  await measure('pq, random', { type: 'pq', iterations: 50, order: 'random' }, asymmetric, [seeds[0]])
  await measure('ck, natural', { type: 'ck', iterations: rounds }, asymmetric, seeds)
  await measure('ck, structured', { type: 'ck', iterations: rounds, order: 'structured' }, asymmetric, [seeds[0]])
  await measure('ck, random', { type: 'ck', iterations: rounds, order: 'random' }, asymmetric, [seeds[0]])
  await measure('ok', { type: 'ok', iterations: 50 }, bits, seeds)
  await measure('itq', { type: 'itq', iterations: 50 }, bits, seeds)
  for (const kind of ['pq', 'opq'] as const) {
    // OPQ takes too long for more than its own seed.
    const found = (kind === 'pq' ? seeds : [0]).flatMap((seed) => {
      return faiss(kind, 8, kind === 'pq' ? 25 : TIMED_ROUNDS, 0, seed) ?? []
    })
    if (found.length === 0) continue
    const name = `faiss ${found[0].version} ${kind.toUpperCase()}`
    const recalls = found.map(({ recall }) => recall)
    rows.push(
      recallRow(
        name,
        'asymmetric',
        recalls,
        found.map(({ distortion }) => distortion),
      ),
    )
    curves.push({
      name: `faiss ${kind.toUpperCase()}`,
      points: [1, 10, 100].map((r, i) => [r, mean(recalls.map((recall) => recall[i]))]),
    })
  }
  printTable(`64 bits, ${base.rows} vectors, ${queries.rows} queries, distortion of the base`, rows)
  writePlot('quantizers-recall', curves, { title: '64 bits', x: 'R', y: 'recall@R', xLog: true })
  return rows
}

async function trainingTime(): Promise<unknown> {
  const own = (): Promise<number> => fastest(1, () => train({ type: 'ck', iterations: TIMED_ROUNDS, seed: 1 }))
  // Between and around the peers: a machine that others use is not the same from minute to minute.
  const before = await own()
  const plain = faiss('opq', 8, TIMED_ROUNDS, 1)
  const between = await own()
  const whole = faiss('opq', 8, TIMED_ROUNDS)
  const after = await own()
  const rows: Record<string, Cell>[] = []
  const row = (words: string, seconds: number | undefined, ck: number): void => {
    if (seconds === undefined) return
    rows.push({
      trained: words,
      seconds,
      'ck, 50 rounds, beside it': ck,
      'ck takes': `1/${(seconds / ck).toFixed(1)} of it`,
    })
  }
  row('faiss OPQ, 50 rounds of one k-means step, as ck', plain?.rotationSeconds, (before + between) / 2)
  row('faiss OPQ, 50 rounds as it comes, 4 k-means steps each', whole?.rotationSeconds, (between + after) / 2)
  printTable(`Training, ${learn.rows} vectors, 64 bits, ${threads} threads`, rows)
  return rows
}

async function throughput(): Promise<unknown> {
  const rows: Record<string, Cell>[] = []
  for (const type of ['pq', 'ck'] as const) {
    const quantizer = await train({ type, iterations: 5, seed: 1 })
    const codes = await quantizer.encode(base, { device })
    const own = async (): Promise<[number, number]> => [
      await fastest(REPEATS, () => quantizer.encode(base, { device })),
      await fastest(REPEATS, () => quantizer.search(codes, queries, { nearest: 100, device })),
    ]
    // Before and after the peer: a machine that others use is not the same from minute to minute.
    const before = await own()
    const peer = type === 'pq' ? faiss('pq', 8, 5) : faiss('opq', 8, 2, 1)
    const after = await own()
    const [encode, search] = [(before[0] + after[0]) / 2, (before[1] + after[1]) / 2]
    const row = (who: string, encoding: Cell, searching: Cell): void => {
      rows.push({
        quantizer: who,
        'million vectors encoded a second': encoding,
        'million codes compared a second': searching,
      })
    }
    const compared = base.rows * queries.rows
    row(type, base.rows / encode / 1e6, compared / search / 1e6)
    if (!peer) continue
    row(`faiss ${type === 'pq' ? 'PQ' : 'OPQ'}`, base.rows / peer.encode / 1e6, compared / peer.search / 1e6)
    row(`${type} over faiss`, `${(peer.encode / encode).toFixed(2)} x`, `${(peer.search / search).toFixed(2)} x`)
  }
  printTable(
    `Encoding and searching (top 100), 64 bits, ${threads} threads, the fastest of ${REPEATS}; ours before and after faiss, the mean`,
    rows,
  )
  return rows
}

/** Figure 6. */
async function recallAgainstBits(): Promise<unknown> {
  const rows: Record<string, Cell>[] = []
  const series = new Map<string, [number, number][]>()
  const some = seeds.slice(0, 3)
  const take = (name: string, bits: number, recalls: readonly (readonly number[])[]): void => {
    const recall = [0, 1, 2].map((i) => mean(recalls.map((one) => one[i])))
    series.set(name, [...(series.get(name) ?? []), [bits, recall[1]]])
    const [one, ten, hundred] = recall.map((share) => (100 * share).toFixed(1))
    rows.push({ quantizer: name, bits, runs: recalls.length, 'recall@1': one, '@10': ten, '@100': hundred })
  }
  for (const bits of [32, 64, 128]) {
    for (const type of ['ck', 'pq', 'ok', 'itq'] as const) {
      const single = type === 'ok' || type === 'itq'
      if (single && bits > learn.cols) continue
      const m = single ? bits : bits / 8
      const recalls: number[][] = []
      for (const seed of some) {
        recalls.push(await recallsOf(await train({ type, m, iterations: TIMED_ROUNDS, seed }), 'asymmetric'))
      }
      take(type, bits, recalls)
    }
    const found = some.flatMap((seed) => faiss('pq', bits / 8, 25, 0, seed) ?? [])
    if (found.length > 0)
      take(
        'faiss PQ',
        bits,
        found.map(({ recall }) => recall),
      )
  }
  printTable('Recall against bits, asymmetric distances, means over the seeds', rows)
  const lines = Array.from(series, ([name, points]) => ({ name, points }))
  writePlot('quantizers-bits', lines, { title: 'recall@10', x: 'bits', y: 'recall@10' })
  return rows
}

/** Residual codes in lists: a part of the codes is compared, and recall hardly suffers. */
async function invertedFiles(): Promise<unknown> {
  const rows: Record<string, Cell>[] = []
  const model = await cluster(learn, { k: 256, seed: 1, iterations: 20, device })
  const file = await InvertedFile.train(learn, model, {
    type: 'ck',
    iterations: TIMED_ROUNDS,
    tolerance: 0,
    seed: 1,
    device,
  })
  await file.add(base, { device })
  for (const probe of [1, 4, 16, 64]) {
    for (const exact of [false, true]) {
      const options = { nearest: 100, probe, device, ...(exact ? { rerank: base, candidates: 100 } : {}) }
      const { labels } = await file.search(queries, options)
      const seconds = await fastest(3, () => file.search(queries, options))
      const recalls = [1, 10, 100].map((r) => recallAt({ rows: queries.rows, cols: 100, data: labels }, truth, r))
      const [one, ten, hundred] = recalls.map((share) => (100 * share).toFixed(1))
      rows.push({
        'clusters looked into': `${probe} of 256`,
        're-ranked': exact ? 'yes' : 'no',
        'recall@1': one,
        '@10': ten,
        '@100': hundred,
        'queries a second': Math.round(queries.rows / seconds),
      })
    }
  }
  printTable('Inverted file with 64-bit ck codes of residuals', rows)
  return rows
}

/** closures-sharp against k-means of faiss on many vectors, in one run with equal threads. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Matrix, openDevice, writeVectors } from '../../src/index.ts'
import { PEERS_HINT, pythonWith, runPython } from '../peers.ts'
import { curve, last } from '../sharp/setting.ts'
import { type Cell, printTable } from '../table.ts'

export interface FaissContest {
  readonly vectors: Matrix
  readonly threads: number
  readonly ks: readonly number[]
}

interface Answer {
  readonly seconds: number
  readonly distortion: number
  readonly curve: [number, number][]
  readonly version: string
}

export interface FaissResult {
  readonly k: number
  readonly faissVersion: string
  readonly faissRounds: number
  readonly faissSeconds: number
  readonly faissDistortion: number
  /** Of one run before faiss and one after it. */
  readonly runs: readonly {
    readonly rounds: number
    readonly seconds: number
    readonly distortion: number
    /** Until the distortion is below that of faiss at its end. */
    readonly passedAfter?: number
    readonly passedInRound?: number
  }[]
}

const ROUNDS = 30
const FAISS_ROUNDS = 20
/** From so many clusters on, faiss does a single round: twenty would take hours. */
const ONE_ROUND_FROM = 50_000

/** `keep` gets all results so far after each number of clusters, as later ones may take very long. */
export async function againstFaiss(
  { vectors, threads, ks }: FaissContest,
  keep: (results: readonly FaissResult[]) => void,
): Promise<void> {
  const python = pythonWith('faiss')
  if (!python) throw new Error(`faiss is missing. ${PEERS_HINT}`)
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-bench-'))
  const file = join(folder, 'x.npy')
  const results: FaissResult[] = []
  try {
    await writeVectors(file, vectors)
    for (const k of ks) {
      const before = await ownRun(vectors, threads, k)
      const faissRounds = k < ONE_ROUND_FROM ? FAISS_ROUNDS : 1
      const faiss = runPython<Answer>(python, 'kmeans_curve.py', ['faiss', file, k, faissRounds, threads])
      const after = await ownRun(vectors, threads, k)
      const runs = [before, after].map((steps) => {
        const passed =
          faissRounds === FAISS_ROUNDS ? steps.find(({ distortion }) => distortion < faiss.distortion) : undefined
        const { seconds, distortion } = last(steps)
        const end = { rounds: steps.length, seconds, distortion }
        return passed ? { ...end, passedAfter: passed.seconds, passedInRound: passed.iteration } : end
      })
      results.push({
        k,
        faissVersion: faiss.version,
        faissRounds,
        faissSeconds: faiss.seconds,
        faissDistortion: faiss.distortion,
        runs,
      })
      console.error(`k = ${k}: done`)
      keep(results)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const size = `${vectors.rows.toLocaleString('en')} x ${vectors.cols}`
  printTable(`closures-sharp against faiss: ${size}, ${threads} threads`, results.flatMap(rowsOf))
}

async function ownRun(vectors: Matrix, threads: number, k: number): ReturnType<typeof curve> {
  const device = await openDevice({ kind: 'cpu', threads })
  try {
    return await curve(vectors, device, { k, method: 'closures-sharp', iterations: ROUNDS })
  } finally {
    await device.close()
  }
}

function rowsOf({ k, faissRounds, faissSeconds, faissDistortion, runs }: FaissResult): Record<string, Cell>[] {
  return runs.map(({ rounds, seconds, distortion, passedAfter, passedInRound }) => ({
    k,
    'faiss rounds': faissRounds,
    'faiss s': faissSeconds,
    'faiss distortion': faissDistortion,
    rounds,
    s: seconds,
    distortion,
    'passes faiss after s': passedAfter ?? '-',
    'in round': passedInRound ?? '-',
    'of its time': passedAfter ? `1/${(faissSeconds / passedAfter).toFixed(1)}` : '-',
    'all rounds, of its time': `1/${(faissSeconds / seconds).toFixed(1)}`,
  }))
}

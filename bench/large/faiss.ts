/** closures-sharp against k-means of faiss on many vectors, in one run with equal threads. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cluster, type Matrix, openDevice, writeVectors } from '../../src/index.ts'
import { PEERS_HINT, pythonWith, runPython } from '../peers.ts'
import { last } from '../sharp/setting.ts'
import { type Cell, printTable } from '../table.ts'
import { processorSeconds } from './processor-time.ts'

export interface FaissContest {
  readonly vectors: Matrix
  readonly threads: number
  readonly ks: readonly number[]
}

interface Answer {
  readonly seconds: number
  readonly processor: number
  readonly distortion: number
  readonly version: string
}

export interface FaissResult {
  readonly k: number
  readonly faissVersion: string
  readonly faissRounds: number
  readonly faissSeconds: number
  /** Of all threads, which other work on the machine changes less. */
  readonly faissProcessorSeconds: number
  readonly faissDistortion: number
  /** Of one run before faiss and one after it. */
  readonly runs: readonly {
    readonly rounds: number
    readonly seconds: number
    readonly processorSeconds: number
    readonly distortion: number
    /** Until the distortion is below that of faiss at its end. */
    readonly passedAfter?: number
    readonly passedAfterProcessor?: number
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
        const { seconds, processorSeconds, distortion } = last(steps)
        const end = { rounds: steps.length, seconds, processorSeconds, distortion }
        if (passed === undefined) return end
        const { processorSeconds: passedAfterProcessor, round: passedInRound } = passed
        return { ...end, passedAfter: passed.seconds, passedAfterProcessor, passedInRound }
      })
      results.push({
        k,
        faissVersion: faiss.version,
        faissRounds,
        faissSeconds: faiss.seconds,
        faissProcessorSeconds: faiss.processor,
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

interface OwnRound {
  readonly round: number
  readonly seconds: number
  readonly processorSeconds: number
  readonly distortion: number
}

async function ownRun(vectors: Matrix, threads: number, k: number): Promise<OwnRound[]> {
  const device = await openDevice({ kind: 'cpu', threads })
  const spent = processorSeconds()
  const rounds: OwnRound[] = []
  try {
    await cluster(vectors, {
      ...{ k, method: 'closures-sharp', iterations: ROUNDS, tolerance: 0, seed: 1, device },
      onIteration: ({ iteration, seconds, distortion }) =>
        rounds.push({ round: iteration, seconds, processorSeconds: processorSeconds() - spent, distortion }),
    })
    return rounds
  } finally {
    await device.close()
  }
}

function rowsOf({ k, runs, ...faiss }: FaissResult): Record<string, Cell>[] {
  const { faissRounds, faissSeconds, faissProcessorSeconds, faissDistortion } = faiss
  return runs.map((run) => ({
    k,
    'faiss rounds': faissRounds,
    'faiss s': faissSeconds,
    'processor s of faiss': faissProcessorSeconds,
    'faiss distortion': faissDistortion,
    rounds: run.rounds,
    s: run.seconds,
    'processor s': run.processorSeconds,
    distortion: run.distortion,
    'passes faiss after s': run.passedAfter ?? '-',
    'in round': run.passedInRound ?? '-',
    'of its time': run.passedAfter ? share(run.passedAfter, faissSeconds) : '-',
    'of its processor time': run.passedAfterProcessor ? share(run.passedAfterProcessor, faissProcessorSeconds) : '-',
    'all rounds, of its time': share(run.seconds, faissSeconds),
    'all rounds, of its processor time': share(run.processorSeconds, faissProcessorSeconds),
  }))
}

function share(own: number, other: number): string {
  return `1/${(other / own).toFixed(1)}`
}

/** The engines that are compared: each in a process of its own, so that memory is measured and none disturbs another. */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { peerPackage, pythonWith } from '../peers.ts'

/** How hard to look: lists to look into, or the width of a search in a graph; candidates that are measured exactly. */
export interface Effort {
  readonly probe: number
  readonly candidates: number
}

export interface Answer {
  readonly seconds?: number
  /** Seconds of processor time, of all threads. */
  readonly cpu?: number
  /** Seconds of single queries. */
  readonly times?: number[]
  readonly ids?: number[][]
  readonly bytes?: number
  /** Bytes of the process before the index was there. */
  readonly before?: number
  readonly version?: string
}

export interface Engine {
  readonly name: string
  /** What the engine builds, in its own words. */
  readonly index: string
  readonly efforts: readonly Effort[]
  /** A new process: what building leaves behind should not count as memory of searching. */
  start(): EngineProcess
}

export interface EngineProcess {
  ask(command: string, values?: object): Promise<Answer>
  close(): void
}

export interface EngineSetting {
  readonly lists: number
  readonly threads: number
  readonly names: readonly string[]
  readonly probes: readonly number[]
  readonly candidates: readonly number[]
}

const WIDTHS = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512]

export async function findEngines({ lists, threads, names, probes, candidates }: EngineSetting): Promise<Engine[]> {
  const engines: Engine[] = []
  const inLists = probes
    .filter((probe) => probe <= lists)
    .flatMap((probe) => candidates.map((count) => ({ probe, candidates: count })))
  const wide = WIDTHS.map((probe) => ({ probe, candidates: 0 }))
  for (const [name, index] of [
    ['centroidal', `closures-sharp, ${lists} lists, pq 32 x 4 bits, re-ranked by the vectors`],
    ['centroidal-8', `closures-sharp, ${lists} lists, pq 16 x 8 bits, re-ranked by the vectors`],
  ]) {
    if (names.includes(name)) engines.push({ name, index, efforts: inLists, start: () => nodeProcess(name, threads) })
  }
  const python = pythonWith('faiss')
  for (const [name, factory] of [
    ['faiss', `IVF${lists},PQ16,RFlat`],
    ['faiss-fastscan', `IVF${lists},PQ32x4fs,RFlat`],
  ]) {
    if (!names.includes(name)) continue
    if (!python) {
      console.log(`${name}: left out, no Python here has faiss (apt-get install python3-faiss)`)
      continue
    }
    const start = () => pythonProcess(python, name, factory, threads)
    engines.push({ name, index: factory, efforts: inLists, start })
  }
  for (const name of ['usearch', 'hnswlib-node']) {
    if (!names.includes(name)) continue
    if (!(await peerPackage(name))) {
      console.log(`${name}: left out, it cannot be loaded (npm --prefix bench/peers ci)`)
      continue
    }
    const index = 'graph, 16 neighbours, width 128 while building'
    engines.push({ name, index, efforts: wide, start: () => nodeProcess(name, threads) })
  }
  return engines
}

function pythonProcess(python: string, name: string, factory: string, threads: number): EngineProcess {
  const child = spawn(python, ['bench/peers/search_faiss.py', String(threads)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async ask(command, values = {}) {
      child.stdin.write(`${JSON.stringify({ command, ...(command === 'build' ? { factory } : {}), ...values })}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`${name} ended while it was asked to ${command}.`)
      return JSON.parse(value) as Answer
    },
    close: () => void child.kill(),
  }
}

function nodeProcess(name: string, threads: number): EngineProcess {
  const child: ChildProcess = fork(process.argv[1], ['--engine', name, '--threads', String(threads)])
  const ask = (command: string, values: object = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const ended = (code: number | null): void => reject(new Error(`${name} ended with code ${code}.`))
      child.once('exit', ended)
      child.once('message', (answer) => {
        child.off('exit', ended)
        resolve(answer as Answer)
      })
      child.send({ command, ...values })
    })
  return { ask, close: () => void child.kill() }
}

/** Whether an index was kept by an earlier run. */
export function isKept(path: string): boolean {
  return existsSync(path)
}

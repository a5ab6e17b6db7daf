/** k-means# among closures against k-means of faiss, in one run with equal threads; and the memory it takes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type IterationStats, type Matrix, writeVectors } from '../../src/index.ts'
import { type Series, writePlot } from '../curves.ts'
import { pythonWith, runPython } from '../peers.ts'
import { type Cell, printTable } from '../table.ts'
import { measureMemory } from './memory.ts'
import { against, curve, last, type Setting, withCpuTime } from './setting.ts'

/** What the project asks of itself: this part of faiss's time, and this many per cent below its end. */
export interface Target {
  readonly part: number
  readonly below?: number
}

export interface Contest {
  /** Names the plots and what is kept. */
  readonly name: string
  readonly vectors: Matrix
  readonly ks: readonly number[]
  readonly targets: ReadonlyMap<number, Target>
  readonly rounds: { readonly faiss: number; readonly sharp: number }
}

/** Times the bytes of the vectors and the centres. */
const MEMORY_TARGET = 1.5

interface Answer {
  readonly seconds: number
  readonly distortion: number
  readonly curve: [number, number][]
  readonly version: string
}

interface OwnRun {
  readonly result: readonly IterationStats[]
  readonly cpu: number
}

export async function sharpAgainstFaiss(setting: Setting, contest: Contest): Promise<void> {
  const { vectors, rounds, name, targets } = contest
  const { device, threads, results } = setting
  const python = pythonWith('faiss')
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-bench-'))
  const file = join(folder, 'x.npy')
  const rows: Record<string, Cell>[] = []
  const memory: Record<string, Cell>[] = []
  const curves: Record<string, Series[]> = {}
  try {
    await writeVectors(file, vectors)
    for (const k of contest.ks.filter((size) => size <= vectors.rows)) {
      const ownRun = () =>
        withCpuTime(() => curve(vectors, device, { k, method: 'closures-sharp', iterations: rounds.sharp }))
      // Before and after faiss: on a shared machine one of the two may meet a busier hour.
      const before = await ownRun()
      const faiss = python
        ? runPython<Answer>(python, 'kmeans_curve.py', ['faiss', file, k, rounds.faiss, threads])
        : undefined
      const after = await ownRun()
      if (faiss) rows.push(faissRow(k, faiss))
      rows.push(sharpRow(k, 'closures-sharp, before', before, faiss, targets.get(k)))
      rows.push(sharpRow(k, 'closures-sharp, after', after, faiss, targets.get(k)))
      const series: Series[] = [
        { name: 'closures-sharp', points: before.result.map((step) => [step.seconds, step.distortion]) },
      ]
      if (faiss) series.push({ name: 'faiss', points: faiss.curve })
      const title = `${vectors.rows.toLocaleString('en')} x ${vectors.cols}, k = ${k.toLocaleString('en')}`
      writePlot(`sharp-${name}-k${k}`, series, { title, x: 'seconds', y: 'distortion', xLog: true, yCut: 1.18 })
      curves[`k${k}`] = series
      memory.push(...(await memoryRows(setting, file, k, rounds.sharp)))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const size = `${vectors.rows} x ${vectors.cols}`
  printTable(`Against faiss, ${rounds.faiss} rounds: ${name}, ${size}, ${threads} threads`, rows)
  printTable(`Peak memory of closures-sharp: ${name}, ${size}; times the bytes of vectors and centres`, memory)
  results[`faiss, ${name}`] = { rows: vectors.rows, cols: vectors.cols, table: rows, memory, curves }
}

function faissRow(k: number, { version, seconds, distortion, curve: steps }: Answer): Record<string, Cell> {
  return {
    k,
    run: `faiss ${version}`,
    rounds: steps.length,
    seconds,
    'CPU seconds': '-',
    distortion: distortion.toPrecision(6),
    'against faiss': '-',
    'asked for': '-',
    'passes faiss in': '-',
    'of its time': '-',
    'asked for at most': '-',
    'is it so': '-',
  }
}

function sharpRow(
  k: number,
  run: string,
  { result: steps, cpu }: OwnRun,
  faiss: Answer | undefined,
  target: Target | undefined,
): Record<string, Cell> {
  const end = last(steps)
  const passed = faiss && steps.find(({ distortion }) => distortion < faiss.distortion)
  return {
    k,
    run,
    rounds: steps.length,
    seconds: end.seconds,
    'CPU seconds': cpu,
    distortion: end.distortion.toPrecision(6),
    'against faiss': faiss ? against(end.distortion, faiss.distortion) : '-',
    'asked for': target?.below ? `-${target.below.toFixed(2)} %` : '-',
    'passes faiss in': passed ? `${passed.seconds.toFixed(2)} s, ${passed.iteration} rounds` : '-',
    'of its time': passed && faiss ? `1/${(faiss.seconds / passed.seconds).toFixed(1)}` : '-',
    'asked for at most': target ? `1/${target.part}` : '-',
    'is it so': faiss && target ? verdict(end.distortion, passed?.seconds, faiss, target) : '-',
  }
}

function verdict(end: number, seconds: number | undefined, faiss: Answer, { part, below = 0 }: Target): string {
  const soon = seconds !== undefined && seconds * part <= faiss.seconds
  const low = end <= faiss.distortion * (1 - below / 100)
  if (soon && low) return 'yes'
  return soon ? 'not as low' : low ? 'not as soon' : 'neither'
}

async function memoryRows(
  { device, threads }: Setting,
  file: string,
  k: number,
  rounds: number,
): Promise<Record<string, Cell>[]> {
  const rows: Record<string, Cell>[] = []
  for (const given of ['file', 'matrix'] as const) {
    const most = await measureMemory({ file, k, rounds, threads, device: device.info.kind, given })
    const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0)
    const times = (bytes: number): string => (bytes / most.needed).toFixed(2)
    rows.push({
      k,
      'vectors given as': given,
      'vectors + centres, MB': megabytes(most.needed),
      'device, MB': megabytes(most.device),
      'device, times': times(most.device),
      'process grew by, MB': megabytes(most.growth),
      'process, times': times(most.growth),
      'asked for at most': MEMORY_TARGET.toFixed(2),
      'whole process, MB': megabytes(most.process),
    })
  }
  return rows
}

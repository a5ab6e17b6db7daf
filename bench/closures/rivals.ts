/** Figure 6: distortion against time, for the rivals and for other programs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { METHODS, nearest, readVectors, writeVectors } from '../../src/index.ts'
import { type Series, writePlot } from '../curves.ts'
import { pythonWith, pythonWithFlann, runPython } from '../peers.ts'
import { type Cell, printTable } from '../table.ts'
import { asSeries, curve, RIVALS, roundsOf, type Setting } from './setting.ts'

interface Run extends Series {
  readonly label: string
  readonly seconds: number
  readonly distortion: number
  readonly looked: Cell
}

interface Answer {
  readonly seconds: number
  readonly distortion: number
  readonly curve: [number, number][]
  readonly version: string
}

export async function distortionAgainstTime(setting: Setting): Promise<void> {
  const { vectors, threads, results } = setting
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-bench-'))
  const rows: Record<string, Cell>[] = []
  try {
    await writeVectors(join(folder, 'x.npy'), vectors)
    for (const k of setting.ks) {
      // Close before and close after faiss: on a shared machine one of the two may meet a busier hour.
      const closures = await ownRun(setting, k, 'closures')
      const faiss = otherProgram(setting, k, folder, 'faiss')
      const again = { ...(await ownRun(setting, k, 'closures')), name: 'closures, again', label: 'closures, again' }
      const runs = [faiss, closures, again].filter((run) => run !== undefined)
      for (const method of RIVALS) {
        if (method !== 'closures' && method in METHODS) runs.push(await ownRun(setting, k, method))
      }
      const sklearn = otherProgram(setting, k, folder, 'sklearn')
      if (sklearn) runs.push(sklearn)
      runs.push(...(await flannRuns(setting, k, folder)))
      for (const run of runs) rows.push(row(k, run, run === faiss ? undefined : faiss))
      const series = runs.map(({ name, points }): Series => ({ name, points }))
      writePlot(
        `closures-k${k}`,
        series.filter(({ name }) => name !== again.name),
        { title: `k = ${k.toLocaleString('en')}`, x: 'seconds', y: 'distortion', xLog: true, yCut: 1.18 },
      )
      results[`k${k}`] = series
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  printTable(`Distortion against time, ${vectors.rows} x ${vectors.cols}, ${threads} threads`, rows)
  results.curves = rows
}

async function ownRun(setting: Setting, k: number, method: (typeof RIVALS)[number]): Promise<Run> {
  const steps = await curve(setting, { k, method, iterations: roundsOf(method, setting.rounds) })
  const { seconds, distortion, candidates } = steps[steps.length - 1]
  return { ...asSeries(method, steps), label: method, seconds, distortion, looked: Math.round(candidates) }
}

function otherProgram(
  { rounds, threads }: Setting,
  k: number,
  folder: string,
  tool: 'faiss' | 'sklearn',
): Run | undefined {
  const python = pythonWith(tool)
  if (!python) return undefined
  const answer = runPython<Answer>(python, 'kmeans_curve.py', [tool, join(folder, 'x.npy'), k, rounds, threads])
  const name = tool === 'faiss' ? tool : 'scikit-learn'
  const { seconds, distortion, curve: points, version } = answer
  return { name, label: `${name} ${version}`, points, seconds, distortion, looked: k }
}

async function flannRuns({ vectors, device, rounds, threads }: Setting, k: number, folder: string): Promise<Run[]> {
  const python = pythonWithFlann()
  const runs: Run[] = []
  if (!python) return runs
  const out = join(folder, 'flann.npy')
  for (const [how, name] of [
    ['forest', 'FLANN k-d trees'],
    ['tree', 'FLANN tree'],
  ]) {
    const args = [how, join(folder, 'x.npy'), k, rounds, threads, out]
    const answer = runPython<{ seconds: number; curve: [number, number][]; looked: Cell }>(
      python,
      'flann_kmeans.py',
      args,
    )
    // What its search reports is not exact; neither faiss nor scikit-learn is measured so.
    const centers = await readVectors(out)
    const { distances } = await nearest(vectors, centers, { device })
    const distortion = distances.reduce((sum, distance) => sum + distance, 0) / distances.length
    const points: [number, number][] = answer.curve.length > 0 ? answer.curve : [[answer.seconds, distortion]]
    const label = centers.rows === k ? name : `${name}, ${centers.rows.toLocaleString('en')} centres`
    runs.push({ name, label, points, seconds: answer.seconds, distortion, looked: answer.looked })
  }
  return runs
}

function row(k: number, run: Run, faiss: Run | undefined): Record<string, Cell> {
  /** When the run first comes under so many times the end of faiss, as a share of faiss's time. */
  const share = (times: number): Cell => {
    const met = faiss && run.points.find(([, distortion]) => distortion <= faiss.distortion * times)
    return met ? `1/${(faiss.seconds / met[0]).toFixed(1)}` : '-'
  }
  return {
    k,
    method: run.label,
    seconds: run.seconds,
    distortion: run.distortion.toFixed(0),
    'against faiss': faiss ? `${((run.distortion / faiss.distortion - 1) * 100).toFixed(2)} %` : '-',
    'centres looked at': run.looked,
    'passes faiss in': share(1),
    'within 2.5 % in': share(1.025),
  }
}

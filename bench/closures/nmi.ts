/**
 * Figure 7: normalised mutual information with the true classes against time. The paper takes labelled
 * images; this takes a file of labels for the vectors, or the handwritten digits.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  clusterSteps,
  METHODS,
  type MethodName,
  matrix,
  nearest,
  normalizedMutualInformation,
  readVectors,
  writeVectors,
} from '../../src/index.ts'
import { type Series, writePlot } from '../curves.ts'
import { pythonWith, runPython } from '../peers.ts'
import { type Cell, printTable } from '../table.ts'
import type { Labelled } from './digits.ts'
import { RIVALS, roundsOf, type Setting } from './setting.ts'

export async function agreementAgainstTime(setting: Setting, data: Labelled, ks: readonly number[]): Promise<void> {
  const { vectors } = data
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-bench-'))
  const rows: Record<string, Cell>[] = []
  const bySize: Record<string, Series[]> = {}
  try {
    await writeVectors(join(folder, 'x.npy'), vectors)
    for (const k of ks) {
      const series: Series[] = []
      for (const method of RIVALS) {
        if (method in METHODS) series.push({ name: method, points: await ownPoints(setting, data, k, method) })
      }
      for (const tool of ['faiss', 'sklearn']) {
        const python = pythonWith(tool)
        if (!python) continue
        const name = tool === 'sklearn' ? 'scikit-learn' : tool
        series.push({ name, points: await peerPoints(setting, data, k, { python, tool, folder }) })
      }
      for (const { name, points } of series) {
        const best = Math.max(...points.map(([, nmi]) => nmi))
        const [seconds, end] = points[points.length - 1]
        rows.push({ k, method: name, rounds: points.length, seconds, NMI: end, best })
      }
      writePlot(`closures-nmi-k${k}`, series, {
        title: `${data.name}, k = ${k.toLocaleString('en')}`,
        x: 'seconds',
        y: 'NMI',
        xLog: true,
      })
      bySize[`k${k}`] = series
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  printTable(`NMI against time, ${data.name}, ${vectors.rows} x ${vectors.cols}`, rows)
  setting.results.nmi = { data: data.name, rows, ...bySize }
}

type Points = [number, number][]

async function ownPoints(
  { device, rounds }: Setting,
  { vectors, truth }: Labelled,
  k: number,
  method: MethodName,
): Promise<Points> {
  const points: Points = []
  let looking = 0
  const iterations = roundsOf(method, rounds)
  for await (const step of clusterSteps(vectors, { k, method, iterations, tolerance: 0, seed: 1, device })) {
    // The run's clock goes on while its labels are read and judged; that time is not the method's.
    const stopped = performance.now()
    points.push([step.seconds - looking, normalizedMutualInformation(await step.labels(), truth)])
    looking += (performance.now() - stopped) / 1000
  }
  return points
}

async function peerPoints(
  { device, rounds, threads }: Setting,
  { vectors, truth }: Labelled,
  k: number,
  { python, tool, folder }: { python: string; tool: string; folder: string },
): Promise<Points> {
  const out = join(folder, 'centers.npy')
  const args = [tool, join(folder, 'x.npy'), k, rounds, threads, out]
  const { times } = runPython<{ times: number[] }>(python, 'kmeans_rounds.py', args)
  const { data } = await readVectors(out)
  const size = k * vectors.cols
  const points: Points = []
  for (const [round, seconds] of times.entries()) {
    const centers = matrix(data.slice(round * size, (round + 1) * size), k, vectors.cols)
    const { labels } = await nearest(vectors, centers, { device })
    points.push([seconds, normalizedMutualInformation(labels, truth)])
  }
  return points
}

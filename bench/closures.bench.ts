/**
 * Cluster closures and their rivals against faiss k-means, in one run with equal threads.
 *
 *   npm run bench -- closures --data vectors.bvecs [--ks 500,2000,10000] [--rounds 20] [--device cpu]
 *                             [--parts curves,flat,trees,coverage,adaptive,leaves,rakm]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  type ClusterOptions,
  cluster,
  type IterationStats,
  METHODS,
  type MethodName,
  matrix,
  nearest,
  openDevice,
  partitionTrees,
  readVectors,
  writeVectors,
} from '../src/index.ts'
import { coverageCurve } from './closures-coverage.ts'
import { type Series, writePlot } from './curves.ts'
import { PEERS_HINT, pythonWith, runPython } from './peers.ts'
import { type Cell, keepResults, printTable } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    data: { type: 'string' },
    ks: { type: 'string', default: '500,2000,10000' },
    rounds: { type: 'string', default: '20' },
    device: { type: 'string', default: 'cpu' },
    parts: { type: 'string', default: 'curves,flat,trees,coverage,adaptive,leaves,rakm' },
  },
})
if (!flags.data) {
  console.error('Which vectors? npm run bench -- closures --data vectors.bvecs')
  process.exit(2)
}
const vectors = await readVectors(flags.data)
const threads = availableParallelism()
const device = await openDevice({ kind: flags.device as 'cpu' | 'webgpu' })
const parts = new Set(flags.parts.split(','))
const results: Record<string, unknown> = {}

async function curve(options: ClusterOptions): Promise<IterationStats[]> {
  const steps: IterationStats[] = []
  await cluster(vectors, { tolerance: 0, seed: 1, device, onIteration: (step) => steps.push(step), ...options })
  return steps
}

const asSeries = (name: string, steps: readonly IterationStats[]): Series => ({
  name,
  points: steps.map((step) => [step.seconds, step.distortion]),
})

if (parts.has('curves')) await distortionAgainstTime()
if (parts.has('flat')) await secondsPerRound()
if (parts.has('trees')) await treeAgainstAssignment()
if (parts.has('coverage')) await coverage()
if (parts.has('adaptive')) await adaptiveAgainstStatic()
if (parts.has('leaves')) await leafSizes()
if (parts.has('rakm') && 'rakm' in METHODS) await improvements()
await device.close()
console.log(`\n${PEERS_HINT}`)
keepResults('closures', {
  data: { rows: vectors.rows, cols: vectors.cols },
  device: device.info.name,
  threads,
  ...results,
})

/** Figure 6. */
async function distortionAgainstTime(): Promise<void> {
  const python = pythonWith('faiss')
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-bench-'))
  const rounds = Number(flags.rounds)
  const rows: Record<string, Cell>[] = []
  try {
    await writeVectors(join(folder, 'x.npy'), vectors)
    for (const k of flags.ks.split(',').map(Number)) {
      const series: Series[] = []
      const faiss = python
        ? runPython<{ seconds: number; distortion: number; curve: [number, number][]; version: string }>(
            python,
            'kmeans_curve.py',
            [join(folder, 'x.npy'), k, rounds, threads],
          )
        : undefined
      if (faiss) {
        series.push({ name: 'faiss', points: faiss.curve })
        rows.push(row(k, `faiss ${faiss.version}`, faiss.seconds, faiss.distortion, k, '-', '-'))
      }
      for (const method of ['closures', 'rakm', 'akm', 'hkm', 'canopy', 'lloyd'] as const) {
        if (!(method in METHODS)) continue
        const steps = await curve({
          k,
          method: method as MethodName,
          iterations: method === 'closures' ? 2 * rounds : rounds,
        })
        series.push(asSeries(method, steps))
        const last = steps[steps.length - 1]
        const passed = faiss && steps.find((step) => step.distortion <= faiss.distortion)
        const near = faiss && steps.find((step) => step.distortion <= faiss.distortion * 1.025)
        const share = (step: IterationStats | undefined): Cell =>
          step && faiss ? `1/${(faiss.seconds / step.seconds).toFixed(1)}` : '-'
        rows.push(
          row(k, method, last.seconds, last.distortion, last.candidates, share(passed), share(near), faiss?.distortion),
        )
      }
      writePlot(`closures-k${k}`, series, {
        title: `k = ${k.toLocaleString('en')}`,
        x: 'seconds',
        y: 'distortion',
        xLog: true,
        yCut: 1.18,
      })
      results[`k${k}`] = series
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  printTable(`Distortion against time, ${vectors.rows} x ${vectors.cols}, ${threads} threads`, rows)
  results.curves = rows
}

function row(
  k: number,
  name: string,
  seconds: number,
  end: number,
  looked: number,
  passed: Cell,
  near: Cell,
  faiss?: number,
): Record<string, Cell> {
  return {
    k,
    method: name,
    seconds,
    distortion: end.toFixed(0),
    'against faiss': faiss ? `${((end / faiss - 1) * 100).toFixed(2)} %` : '-',
    'centres looked at': Math.round(looked),
    'passes faiss in': passed,
    'within 2.5 % in': near,
  }
}

/** The cost of a round does not grow with k. Sizes take turns, and the fastest round of each counts: the machine is shared. */
async function secondsPerRound(): Promise<void> {
  const sizes = [1000, 2000, 4000, 8000, 16000].filter((k) => k <= vectors.rows)
  const fastest = new Map<number, { seconds: number; looked: number }>()
  for (let turn = 0; turn < 3; turn++) {
    for (const k of sizes) {
      const steps = await curve({ k, method: 'closures', neighborhoods: 'static', trees: 3, iterations: 8 })
      steps.slice(1).forEach((step, i) => {
        const seconds = step.seconds - steps[i].seconds
        const best = fastest.get(k)
        if (!best || seconds < best.seconds) fastest.set(k, { seconds, looked: step.candidates })
      })
    }
  }
  const rows = Array.from(fastest, ([k, { seconds, looked }]) => ({
    k,
    'seconds a round': seconds,
    'centres looked at': looked,
  }))
  const times = rows.map((entry) => entry['seconds a round'])
  printTable('Seconds a round of closures, 3 trees', rows)
  const ratio = Math.max(...times) / Math.min(...times)
  console.log(`largest over smallest: ${ratio.toFixed(2)}`)
  results.flat = { rows, ratio }
}

async function treeAgainstAssignment(): Promise<void> {
  const centers = matrix(Float32Array.from(vectors.data.subarray(0, 10_000 * vectors.cols)), 10_000, vectors.cols)
  await partitionTrees(vectors, { device })
  const grown = await partitionTrees(vectors, { trees: 5, device })
  const began = performance.now()
  await nearest(vectors, centers, { device })
  const assignment = (performance.now() - began) / 1000
  const tree = grown.map(({ seconds }) => seconds).sort((a, b) => a - b)[2]
  const entry = {
    'one tree, seconds': tree,
    'exact assignment at k = 10,000, seconds': assignment,
    'tree over assignment': tree / assignment,
  }
  printTable('Growing a tree to leaves of 10', [entry])
  results.trees = entry
}

/** Figure 3. */
async function coverage(): Promise<void> {
  const curveOf = await coverageCurve(vectors, device, { k: 2000, rounds: 3, trees: 12 })
  printTable(
    'Share of active points whose new cluster is among the neighbours',
    curveOf.map(({ trees, size, share }) => ({
      trees,
      'neighbourhood size': size,
      coverage: `${(share * 100).toFixed(1)} %`,
    })),
  )
  writePlot('closures-coverage', [{ name: 'coverage', points: curveOf.map(({ size, share }) => [size, share]) }], {
    title: 'k = 2,000',
    x: 'points in the neighbourhood',
    y: 'active points covered',
  })
  results.coverage = curveOf
}

/** Figure 4. */
async function adaptiveAgainstStatic(): Promise<void> {
  const series: Series[] = [asSeries('adaptive', await curve({ k: 2000, method: 'closures', iterations: 40 }))]
  for (const trees of [1, 3, 10]) {
    const steps = await curve({ k: 2000, method: 'closures', neighborhoods: 'static', trees, iterations: 25 })
    series.push(asSeries(`static ${trees}`, steps))
  }
  reportSeries('adaptive', 'Adaptive and static neighbourhoods, k = 2,000', series)
}

/** Figure 11. */
async function leafSizes(): Promise<void> {
  const series: Series[] = []
  for (const leafSize of [5, 10, 20, 40]) {
    series.push(asSeries(`leaf ${leafSize}`, await curve({ k: 2000, method: 'closures', leafSize, iterations: 30 })))
  }
  reportSeries('leaves', 'Leaf sizes, k = 2,000', series)
}

/** The robust paper's figure 3: each improvement in turn. */
async function improvements(): Promise<void> {
  const base = { k: 2000, method: 'rakm' as MethodName, precision: 0.5, iterations: 15 }
  const none = { keep: false, reseed: false, probe: false }
  const series = [
    asSeries('akm', await curve({ ...base, ...none })),
    asSeries('+ keep', await curve({ ...base, ...none, keep: true })),
    asSeries('+ reseed', await curve({ ...base, ...none, keep: true, reseed: true })),
    asSeries('+ probe', await curve({ ...base, keep: true, reseed: true, probe: true })),
  ]
  reportSeries('rakm', 'RAKM: improvements in turn, k = 2,000, precision 0.5', series)
}

function reportSeries(name: string, title: string, series: readonly Series[]): void {
  const rows = series.map(({ name: of, points }) => {
    const [seconds, end] = points[points.length - 1]
    return { run: of, rounds: points.length, seconds, distortion: end.toFixed(0) }
  })
  printTable(title, rows)
  writePlot(`closures-${name}`, series, { title, x: 'seconds', y: 'distortion', xLog: true })
  results[name] = series
}

/** Table 3 of the k-means# paper: how well clusters agree with known classes, the best of several runs by distortion. */
import { type ClusterOptions, cluster, entropy, METHODS, normalizedMutualInformation } from '../../src/index.ts'
import type { Labelled } from '../closures/digits.ts'
import { type Cell, printTable } from '../table.ts'
import { last, type Setting, withCpuTime } from './setting.ts'

interface Contender {
  readonly name: string
  readonly method: string
  readonly metric?: ClusterOptions['metric']
  readonly options?: Readonly<Record<string, string | boolean>>
}

const CONTENDERS: readonly Contender[] = [
  { name: 'sharp', method: 'sharp' },
  { name: 'sharp, from none', method: 'sharp', options: { start: 'random-labels' } },
  { name: 'bisecting', method: 'bisecting', options: { splitMethod: 'lloyd' } },
  { name: 'bisecting, refined', method: 'bisecting', options: { splitMethod: 'lloyd', refine: true } },
  { name: 'bisecting #', method: 'bisecting', options: { splitMethod: 'sharp' } },
  { name: 'bisecting #, refined', method: 'bisecting', options: { splitMethod: 'sharp', refine: true } },
  // Repeated bisecting k-means, as the paper's rival for documents has it.
  { name: 'RBK', method: 'bisecting', metric: 'cosine', options: { splitMethod: 'lloyd' } },
  { name: 'lloyd', method: 'lloyd' },
  { name: 'minibatch', method: 'minibatch' },
]

interface Run {
  readonly distortion: number
  readonly entropy: number
  readonly nmi: number
  readonly seconds: number
  readonly cpu: number
}

export async function agreementWithClasses(
  setting: Setting,
  { name, vectors, truth }: Labelled,
  { runs, metric }: { runs: number; metric: 'euclidean' | 'cosine' },
): Promise<void> {
  const k = new Set(Array.from(truth)).size
  const rows: Record<string, Cell>[] = []
  for (const contender of CONTENDERS) {
    if (!(contender.method in METHODS)) continue
    const chosen = contender.metric ?? metric
    const ends: Run[] = []
    for (let seed = 0; seed < runs; seed++) {
      const options = { method: contender.method, ...contender.options } as Partial<ClusterOptions>
      const { device } = setting
      const run = () => cluster(vectors, { k, seed, metric: chosen, tolerance: 0, device, ...options })
      const { result: model, cpu } = await withCpuTime(run)
      ends.push({
        distortion: model.distortion,
        entropy: entropy(model.labels, truth),
        nmi: normalizedMutualInformation(model.labels, truth),
        seconds: last(model.facts.iterations).seconds,
        cpu,
      })
    }
    rows.push(row(contender.name, chosen, ends))
  }
  printTable(`${name}, ${vectors.rows} x ${vectors.cols}, k = ${k}: best of ${runs} runs by distortion`, rows)
  setting.results[`labels, ${name}`] = { k, runs, rows }
}

function row(name: string, metric: string, ends: readonly Run[]): Record<string, Cell> {
  const best = ends.reduce((least, run) => (run.distortion < least.distortion ? run : least))
  const mean = (of: (run: Run) => number): number => ends.reduce((sum, run) => sum + of(run), 0) / ends.length
  return {
    method: name,
    metric,
    distortion: best.distortion.toPrecision(6),
    entropy: best.entropy.toFixed(4),
    NMI: best.nmi.toFixed(4),
    'mean distortion': mean((run) => run.distortion).toPrecision(6),
    'mean entropy': mean((run) => run.entropy).toFixed(4),
    'mean NMI': mean((run) => run.nmi).toFixed(4),
    'seconds a run': mean((run) => run.seconds),
    'CPU seconds': mean((run) => run.cpu),
  }
}

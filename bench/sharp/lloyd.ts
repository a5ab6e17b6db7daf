/** When k-means# passes what Lloyd reaches in many rounds, each from the same kind of start. */
import type { AnyClusterOptions, ClusterOptions, IterationStats, Matrix, StartName } from '../../src/index.ts'
import { type Series, writePlot } from '../curves.ts'
import { type Cell, printTable } from '../table.ts'
import { against, curve, last, type Setting, withCpuTime } from './setting.ts'

interface Run {
  readonly name: string
  readonly start: StartName
  readonly steps: readonly IterationStats[]
  readonly cpu: number
}

interface Rounds {
  readonly lloyd: number
  readonly sharp: number
}

const VARIANTS: readonly { name: string; options: AnyClusterOptions & { start: StartName } }[] = [
  { name: 'sharp, none', options: { start: 'random-labels' } },
  { name: 'sharp, random', options: { start: 'random' } },
  { name: 'sharp, kpp', options: { start: 'kpp' } },
  { name: 'fast, random', options: { start: 'random', firstImprovement: true } },
  { name: 'nearest 50', options: { start: 'random', nearest: 50 } },
]

export async function sharpAgainstLloyd(setting: Setting, vectors: Matrix, k: number, rounds: Rounds): Promise<void> {
  const { device, results } = setting
  const lloyd = new Map<StartName, Run>()
  for (const start of ['random', 'kpp'] as const) {
    const run = () => curve(vectors, device, { k, method: 'lloyd', start, iterations: rounds.lloyd })
    const { result: steps, cpu } = await withCpuTime(run)
    lloyd.set(start, { name: `lloyd, ${start}`, start, steps, cpu })
  }
  const sharp: Run[] = []
  for (const { name, options } of VARIANTS) {
    // Fewer clusters than that have no 50 neighbours.
    if (options.nearest !== undefined && options.nearest >= k) continue
    const run = () =>
      curve(vectors, device, { k, method: 'sharp', iterations: rounds.sharp, ...options } as ClusterOptions)
    const { result: steps, cpu } = await withCpuTime(run)
    sharp.push({ name, start: options.start, steps, cpu })
  }
  // Lloyd needs centres to begin with: a run without any is compared with random ones.
  const rivalOf = (run: Run): Run => lloyd.get(run.start === 'random-labels' ? 'random' : run.start)!
  const rows = [
    ...Array.from(lloyd.values(), (run) => row(run, undefined)),
    ...sharp.map((run) => row(run, rivalOf(run))),
  ]
  const title = `k-means# against ${rounds.lloyd} rounds of Lloyd, ${vectors.rows} x ${vectors.cols}, k = ${k.toLocaleString('en')}`
  printTable(title, rows)
  const runs = [...lloyd.values(), ...sharp]
  const series = (x: 'iteration' | 'seconds'): Series[] =>
    runs.map(({ name, steps }) => ({ name, points: steps.map((step) => [step[x], step.distortion]) }))
  const axes = { title: `k = ${k.toLocaleString('en')}`, y: 'distortion', xLog: true, yCut: 1.1 }
  writePlot('sharp-rounds', series('iteration'), { ...axes, x: 'rounds' })
  writePlot('sharp-seconds', series('seconds'), { ...axes, x: 'seconds' })
  results.lloyd = { k, rows, runs }
}

function row({ name, steps, cpu }: Run, rival: Run | undefined): Record<string, Cell> {
  const end = last(steps)
  const goal = rival && last(rival.steps)
  const passed = goal && steps.find(({ distortion }) => distortion < goal.distortion)
  return {
    run: name,
    rounds: steps.length,
    seconds: end.seconds,
    'CPU seconds': cpu,
    distortion: end.distortion.toPrecision(6),
    'against lloyd': goal ? against(end.distortion, goal.distortion) : '-',
    'passes it in rounds': passed ? passed.iteration : '-',
    'in seconds': passed ? passed.seconds : '-',
    "of lloyd's": passed && goal ? `1/${(goal.seconds / passed.seconds).toFixed(1)}` : '-',
  }
}

/**
 * How good the clusters are that methods end with by default, against KMeans of scikit-learn with its defaults and as
 * many restarts, from other seeds each time. Inertia is the sum of squared distances of the vectors to the centres of
 * their labels, computed in 64 bits on both sides; 1 is the mean of scikit-learn's runs.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClusterOptions, cluster, distortion } from '../../src/index.ts'
import { PEERS_HINT, pythonWith, runPython } from '../peers.ts'
import { type Cell, printTable } from '../table.ts'
import { type BenchSet, benchSets } from './sets.ts'
import { mean, type Setting } from './setting.ts'

interface Runs {
  readonly inertias: readonly number[]
  readonly seconds: readonly number[]
}

interface OwnRuns extends Runs {
  /** The method that ran, where `auto` chose. */
  readonly method: string
  /** Of the run, 0 to 1. */
  readonly startShare: number
}

interface Entry extends OwnRuns {
  readonly set: string
  readonly k: number
  readonly asked: string
  readonly restarts: number
  readonly ratio: number
  readonly theirs: Runs
}

const RESTARTS = 10

export function measureStarts(setting: Setting): Promise<object> {
  return measure(setting, 1, setting.seeds)
}

export function measureRestarts(setting: Setting): Promise<object> {
  return measure(setting, RESTARTS, setting.restartSeeds)
}

async function measure(setting: Setting, restarts: number, seeds: number): Promise<object> {
  const python = pythonWith('sklearn')
  if (python === undefined) throw new Error(`Judging starts needs scikit-learn. ${PEERS_HINT}`)
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-bench-'))
  const entries: Entry[] = []
  let version = ''
  try {
    for await (const set of benchSets(setting, python, folder)) {
      const args = ['kmeans', set.file, set.k, setting.firstSeed, seeds, restarts, setting.threads]
      const theirs = runPython<Runs & { version: string }>(python, 'starts.py', args)
      version = theirs.version
      for (const asked of setting.methods) {
        const own = await ownRuns(setting, set, { method: asked, restarts }, seeds)
        const ratio = mean(own.inertias) / mean(theirs.inertias)
        console.error(`${set.name}, ${restarts} x ${asked}: ${ratio.toFixed(3)}`)
        entries.push({ set: set.name, k: set.k, asked, restarts, ratio, ...own, theirs })
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const last = setting.firstSeed + seeds - 1
  printTable(
    `Inertia over that of scikit-learn ${version}, ${restarts === 1 ? 'one start' : `${restarts} starts`}, seeds ${setting.firstSeed} to ${last}`,
    entries.map(row),
  )
  return { scikitLearn: version, firstSeed: setting.firstSeed, entries }
}

function row({
  set,
  asked,
  method,
  ratio,
  inertias,
  seconds,
  startShare,
  restarts,
  theirs,
}: Entry): Record<string, Cell> {
  const unit = mean(theirs.inertias)
  return {
    set,
    method: asked === method ? asked : `${asked} (${method})`,
    'mean ratio': fixed(ratio),
    'worst run': fixed(Math.max(...inertias) / unit),
    'their worst': fixed(Math.max(...theirs.inertias) / unit),
    seconds: mean(seconds),
    'their seconds': mean(theirs.seconds),
    // With restarts only the time of the start that led to the result is known.
    ...(restarts === 1 ? { 'start, share': `${(100 * startShare).toFixed(0)} %` } : {}),
  }
}

/** Three decimals, as 1.02 is the limit. */
function fixed(ratio: number): string {
  return ratio.toFixed(3)
}

async function ownRuns(
  { device, firstSeed }: Setting,
  { vectors, k }: BenchSet,
  options: ClusterOptions,
  seeds: number,
): Promise<OwnRuns> {
  const given = (seed: number): ClusterOptions => ({ ...options, k, seed, device })
  // Compiling is not part of the first run.
  await cluster(vectors, { ...given(0), restarts: 1, iterations: 1 })
  const inertias: number[] = []
  const seconds: number[] = []
  const shares: number[] = []
  let method = ''
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const began = performance.now()
    const model = await cluster(vectors, given(seed))
    const took = (performance.now() - began) / 1000
    seconds.push(took)
    inertias.push(distortion(vectors, model.centers, model.labels) * vectors.rows)
    shares.push((model.facts.startSeconds ?? Number.NaN) / took)
    method = model.facts.method
  }
  return { method, inertias, seconds, startShare: mean(shares) }
}

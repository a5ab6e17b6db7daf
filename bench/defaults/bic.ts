/**
 * The BIC of the mixtures that agm and egm find with their default options on real vectors, against gmm and
 * scikit-learn's GaussianMixture (spherical, otherwise its defaults) for several numbers of components.
 *
 * Ours is computed from the returned model over all vectors, as scikit-learn's `bic(X)` is. scikit-learn has no prior on
 * the variances: a component that shrinks onto a single vector, or onto equal ones, raises the likelihood up to the limit
 * that its reg_covar sets, so its BIC may be lower without describing the vectors better. A BIC depends on the unit of the
 * vectors and so do per cent of it; the difference per vector does not.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClusterOptions, cluster, type Matrix, readVectors, writeVectors } from '../../src/index.ts'
import { loadDigits } from '../closures/digits.ts'
import { PEERS_HINT, pythonWith, runPython } from '../peers.ts'
import { type Cell, printTable } from '../table.ts'
import { criterionOf } from './criterion.ts'
import { DIGITS, randomRows } from './sets.ts'
import { affordableFinders, type Setting } from './setting.ts'

interface Fit {
  readonly k: number
  readonly bic: number
  readonly seconds: number
  readonly rounds: number
}

interface Entry extends Fit {
  readonly method: string
}

interface SetResult {
  readonly set: string
  readonly rows: number
  readonly cols: number
  readonly entries: readonly Entry[]
}

export async function measureCriterion(setting: Setting): Promise<object> {
  const python = pythonWith('sklearn')
  if (python === undefined) console.error(`Without scikit-learn: it is not installed. ${PEERS_HINT}`)
  let version: string | undefined
  const sets: SetResult[] = []
  for await (const [set, vectors] of realSets(setting)) {
    const { rows, cols } = vectors
    const entries = await ownEntries(setting, vectors)
    if (python !== undefined) {
      const theirs = await peerFits(setting, python, vectors)
      version = theirs.version
      entries.push(...theirs.fits.map((fit) => ({ method: 'scikit-learn', ...fit })))
    }
    const result = { set, rows, cols, entries }
    sets.push(result)
    print(result, version)
  }
  return { scikitLearn: version, firstSeed: setting.firstSeed, sets }
}

async function* realSets({ data, words, bicRows, only, firstSeed }: Setting): AsyncGenerator<[string, Matrix]> {
  if ('digits'.includes(only)) yield ['digits', randomRows((await loadDigits()).vectors, DIGITS, firstSeed)]
  for (const [name, path] of Object.entries({ descriptors: data, words })) {
    if (path === undefined || !name.includes(only)) continue
    const all = await readVectors(path)
    yield [name, bicRows === 0 ? all : randomRows(all, bicRows, firstSeed)]
  }
}

async function ownEntries({ device, ks, firstSeed }: Setting, vectors: Matrix): Promise<Entry[]> {
  const measured = async (options: ClusterOptions & { readonly method: string }): Promise<Entry> => {
    const began = performance.now()
    const model = await cluster(vectors, { ...options, seed: firstSeed, device })
    const seconds = (performance.now() - began) / 1000
    const { k, iterations } = model.facts
    console.error(`${options.method}, ${k} components: ${seconds.toFixed(1)} s`)
    const bic = await criterionOf(model, vectors, device)
    return { method: options.method, k, bic, seconds, rounds: iterations.length }
  }
  // Compiling is not part of the first run.
  await cluster(vectors, { method: 'gmm', k: 2, iterations: 1, device })
  const entries: Entry[] = []
  for (const k of possible(ks, vectors)) entries.push(await measured({ method: 'gmm', k }))
  for (const method of affordableFinders(vectors.rows, vectors.cols)) entries.push(await measured({ method }))
  return entries
}

async function peerFits(
  { ks, firstSeed, threads, peerSeconds }: Setting,
  python: string,
  vectors: Matrix,
): Promise<{ readonly fits: readonly Fit[]; readonly version: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-bench-'))
  try {
    const file = join(folder, 'vectors.npy')
    await writeVectors(file, vectors)
    return runPython(python, 'mixtures.py', [file, firstSeed, threads, peerSeconds, ...possible(ks, vectors)])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** In rising order, as the time of one predicts that of the next. */
function possible(ks: readonly number[], { rows }: Matrix): number[] {
  return ks.filter((k) => k <= rows).sort((a, b) => a - b)
}

function print({ set, rows, cols, entries }: SetResult, version: string | undefined): void {
  const best = Math.min(...entries.filter(({ method }) => method === 'gmm').map(({ bic }) => bic))
  const peer = version === undefined ? '' : `, scikit-learn ${version}`
  printTable(
    `BIC, ${set}, ${rows.toLocaleString('en')} x ${cols}${peer} (no prior: may profit from components of single vectors)`,
    entries.map(
      ({ method, k, bic, seconds, rounds }): Record<string, Cell> => ({
        method,
        k,
        BIC: Math.round(bic),
        'against the best gmm': `${signed((100 * (bic - best)) / Math.abs(best))} %`,
        'per vector': signed((bic - best) / rows),
        seconds,
        rounds,
      }),
    ),
  )
}

function signed(value: number): string {
  return `${value > 0 ? '+' : ''}${value.toFixed(2)}`
}

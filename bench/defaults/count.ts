/**
 * Whether agm and egm find the number of modes of separated mixtures with their default options. Dimensions, modes and
 * vectors per mode are drawn log-uniformly from the ranges in separated.ts.
 *
 * For each wrong case the BIC of the result is compared with that of a gmm that starts from the true modes: above 0 the
 * true number is better and the search has missed it; below 0 the criterion itself prefers the other number.
 * scikit-learn's GaussianMixture cannot find the number and is left out.
 *
 * The two methods are not independent: as long as there are few components agm measures all of them too, and then differs
 * from egm only in that a vector is shared among the nearest few. It searches only in cases with many vectors.
 */
import { blobs, cluster } from '../../src/index.ts'
import { type Cell, printTable } from '../table.ts'
import { criterionOf } from './criterion.ts'
import { type SeparatedMixture, separatedMixture } from './separated.ts'
import { affordableFinders, type Finder, mean, type Setting } from './setting.ts'

interface Found {
  readonly method: Finder
  readonly seed: number
  readonly cols: number
  readonly rows: number
  readonly modes: number
  readonly found: number
  readonly fewest: number
  readonly most: number
  readonly unequalSizes: boolean
  readonly unequalWidths: boolean
  readonly separation: number
  readonly rounds: number
  readonly stopped: string
  readonly seconds: number
  /** By how much the BIC is above that of the true modes; only where the number is wrong. */
  readonly aboveTruth?: number
}

/** Dimensions that are reported together. */
const GROUPS: readonly (readonly [least: number, most: number])[] = [
  [2, 4],
  [5, 16],
  [17, 64],
  [65, 256],
]
const CLOSE = 0.1

export async function measureCount(setting: Setting): Promise<object> {
  const { device, cases, firstSeed } = setting
  // Compiling is not part of the first case.
  const { vectors } = blobs({ rows: 200, cols: 4, clusters: 4, seed: 1 })
  for (const method of ['agm', 'egm'] as const) await cluster(vectors, { method, iterations: 2, device })
  const results: Found[] = []
  for (let index = 0; index < cases; index++) {
    const mixture = separatedMixture(firstSeed, index)
    for (const method of affordableFinders(mixture.vectors.rows, mixture.vectors.cols)) {
      const found = await find(setting, mixture, method)
      results.push(found)
      const { cols, rows, modes, seconds } = found
      console.error(
        `Case ${index + 1}, ${rows} x ${cols}, ${modes} modes: ${method} ${found.found}, ${seconds.toFixed(1)} s`,
      )
    }
  }
  printTable(
    `Separated mixtures, default options, ${device.info.kind}, seeds ${firstSeed} to ${firstSeed + cases - 1}`,
    summaries(results),
  )
  const wrong = results.filter(({ found, modes }) => found !== modes)
  if (wrong.length > 0) printTable('Cases with a wrong number', wrong.map(wrongRow))
  return { firstSeed, cases, results }
}

async function find({ device }: Setting, mixture: SeparatedMixture, method: Finder): Promise<Found> {
  const { seed, vectors, modes, counts, unequalSizes, unequalWidths, separation } = mixture
  const began = performance.now()
  const model = await cluster(vectors, { method, seed, device })
  const seconds = (performance.now() - began) / 1000
  const result: Found = {
    method,
    seed,
    cols: vectors.cols,
    rows: vectors.rows,
    modes: modes.rows,
    found: model.facts.k,
    fewest: Math.min(...counts),
    most: Math.max(...counts),
    unequalSizes,
    unequalWidths,
    separation,
    rounds: model.facts.iterations.length,
    stopped: model.facts.stopped,
    seconds,
  }
  if (model.facts.k === modes.rows) return result
  const truth = await cluster(vectors, { method: 'gmm', k: modes.rows, start: modes, seed, device })
  const [own, best] = [await criterionOf(model, vectors, device), await criterionOf(truth, vectors, device)]
  return { ...result, aboveTruth: own - best }
}

function summaries(results: readonly Found[]): Record<string, Cell>[] {
  return (['agm', 'egm'] as const).flatMap((method) => {
    const own = results.filter((result) => result.method === method)
    const groups = GROUPS.map(
      ([least, most]) => [`${least}-${most}`, own.filter(({ cols }) => cols >= least && cols <= most)] as const,
    )
    return [...groups, ['all', own] as const]
      .filter(([, group]) => group.length > 0)
      .map(([dimensions, group]) => {
        const errors = group.map(({ found, modes }) => Math.abs(found - modes) / modes)
        return {
          method,
          dimensions,
          cases: group.length,
          right: errors.filter((error) => error === 0).length,
          'within 10 %': errors.filter((error) => error <= CLOSE).length,
          worst: `${(100 * Math.max(...errors)).toFixed(1)} %`,
          'mean rounds': mean(group.map(({ rounds }) => rounds)),
          'mean seconds': mean(group.map(({ seconds }) => seconds)),
        }
      })
  })
}

function wrongRow(result: Found): Record<string, Cell> {
  const { method, seed, cols, rows, modes, found, fewest, most, unequalSizes, unequalWidths } = result
  return {
    method,
    seed: String(seed),
    dimensions: cols,
    vectors: rows,
    modes,
    found,
    'per mode': fewest === most ? `${fewest}` : `${fewest} to ${most}`,
    unequal: [unequalSizes && 'sizes', unequalWidths && 'widths'].filter(Boolean).join(', ') || '-',
    'nearest pair, sd': result.separation,
    rounds: result.rounds,
    stopped: result.stopped,
    'BIC above the truth': result.aboveTruth ?? '-',
  }
}

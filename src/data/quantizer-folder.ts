/** A quantizer on disk: books.npy, where there are such rotation.npy and offset.npy, and model.json. */
import type { Matrix } from '../core/matrix.ts'
import { COUNT, checkedFrame, checkRounds, deviceFacts, type SavedFrame, SEED } from './folder-facts.ts'
import { badFolder, type FolderKind, type SavedFolder } from './folder-load.ts'
import type { FolderContents } from './folder-save.ts'
import { badArray, matrixFile, savedMatrix } from './saved-arrays.ts'
import { type Checked, choice, list, optional, plainObject, real, record, whole, wrongValue } from './schema.ts'

export interface QuantizerArrays {
  readonly books: Matrix
  readonly rotation: Matrix | undefined
  readonly offset: Matrix | undefined
}

export interface LoadedQuantizer {
  readonly facts: LoadedQuantizerFacts
  readonly cols: number
  /** First number of each subspace, and the end of the last. */
  readonly ranges: readonly number[]
  readonly frame: SavedFrame
  readonly books: Float32Array
  readonly rotation: Float32Array | undefined
  readonly offset: Float32Array | undefined
}

const ARRAYS = ['books', 'rotation', 'offset']

export function quantizerKind(version: number): FolderKind {
  return { json: 'model.json', name: 'quantizer', version, arrays: (name) => ARRAYS.includes(name) }
}

export function quantizerFolder(version: number, facts: object, arrays: QuantizerArrays): FolderContents {
  const { books, rotation, offset } = arrays
  return {
    json: 'model.json',
    format: 'centroidal quantizer',
    version,
    facts,
    files: {
      'books.npy': matrixFile(books),
      ...(rotation ? { 'rotation.npy': matrixFile(rotation) } : {}),
      ...(offset ? { 'offset.npy': matrixFile(offset) } : {}),
    },
  }
}

const factsSchema = record({
  type: choice('pq', 'ok', 'ck', 'itq'),
  m: COUNT,
  codewords: whole(1, 65536),
  order: choice('natural', 'structured', 'random', 'principal'),
  rank: COUNT,
  tolerance: real(0),
  seed: SEED,
  rows: COUNT,
  stopped: choice('iterations', 'tolerance', 'aborted'),
  iterations: list(record({ iteration: whole(1), distortion: real(0), seconds: real(0), rotationSeconds: real(0) })),
  device: deviceFacts,
  distortion: optional(real(0)),
  cols: COUNT,
  ranges: list(whole(0)),
  frame: plainObject,
})

export type LoadedQuantizerFacts = Omit<Checked<typeof factsSchema>, 'distortion' | 'cols' | 'ranges' | 'frame'>

export async function readQuantizerFolder(saved: SavedFolder): Promise<LoadedQuantizer> {
  const at = `${saved.path}/model.json:`
  const { distortion, cols, ranges, frame, ...facts } = factsSchema(saved.facts, at)
  const { type, m, codewords, rank, iterations } = facts
  // Codewords that came from elsewhere have no rounds.
  if (distortion !== undefined || iterations.length > 0) checkRounds(at, iterations, distortion)
  if (rank > cols) throw wrongValue(`${at} rank`, rank, `a number up to that of the columns, ${cols},`)
  const bits = type === 'ok' || type === 'itq'
  if (bits && codewords !== 2) throw wrongValue(`${at} codewords`, codewords, `2, which ${type} has,`)
  checkRanges(ranges, m, rank, at)
  const has = (name: string): boolean => saved.arrays.includes(name)
  if (!has('rotation') && rank !== cols) {
    throw badFolder(
      `${at} files does not have rotation.npy, which a rank below the number of columns needs: save the folder again.`,
    )
  }
  const stride = bookStride(ranges)
  const books = (await savedMatrix(saved, 'books', { rows: m * codewords, cols: stride })).data as Float32Array
  checkPadding(saved, books, ranges, codewords, stride)
  const floats = async (name: string, rows: number): Promise<Float32Array | undefined> =>
    has(name) ? ((await savedMatrix(saved, name, { rows, cols })).data as Float32Array) : undefined
  return {
    facts,
    cols,
    ranges,
    frame: checkedFrame(frame, `${at} frame`, cols, false),
    books,
    rotation: await floats('rotation', rank),
    offset: await floats('offset', 1),
  }
}

function checkRanges(ranges: readonly number[], m: number, rank: number, at: string): void {
  const rising = ranges.every((start, i) => (i === 0 ? start === 0 : start > ranges[i - 1]))
  if (ranges.length === m + 1 && rising && ranges[m] === rank) return
  throw badFolder(
    `${at} ranges is [${ranges.slice(0, 8).join(', ')}${ranges.length > 8 ? ', ...' : ''}], where ${m + 1} rising numbers from 0 to ${rank} are needed: save the folder again.`,
  )
}

/** Numbers of a codeword in the file, a multiple of four. */
function bookStride(ranges: readonly number[]): number {
  let widest = 0
  for (let i = 1; i < ranges.length; i++) widest = Math.max(widest, ranges[i] - ranges[i - 1])
  return Math.ceil(widest / 4) * 4
}

/** Devices count on zeros behind a codeword. */
function checkPadding(
  saved: SavedFolder,
  books: Float32Array,
  ranges: readonly number[],
  codewords: number,
  stride: number,
): void {
  for (let i = 0; i + 1 < ranges.length; i++) {
    const width = ranges[i + 1] - ranges[i]
    for (let word = i * codewords; word < (i + 1) * codewords; word++) {
      for (let j = width; j < stride; j++) {
        if (books[word * stride + j] !== 0) {
          throw badArray(
            saved,
            'books',
            `holds ${books[word * stride + j]} behind codeword ${word}, where zeros are needed`,
          )
        }
      }
    }
  }
}

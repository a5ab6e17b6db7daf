/** What the words and digits page asks of the worker. None of it goes in rounds. */
import { labelBytes, type Matrix, vectorBytes } from '../../src/index.ts'
import { sharedVectors } from '../engine/shared-vectors.ts'
import type { TaskContext } from '../engine/task.ts'
import { type CodeChoice, type Codes, findNeighbors, learnCodes, type Neighborhood } from './codes.ts'
import { loadVectors } from './load.ts'
import { evenRows, type Plane, placesOf, principalPlane } from './plane.ts'
import { unitRows } from './unit-rows.ts'
import { looksLikeWordVectors, readWordVectors } from './word-vectors.ts'

type NoRounds<Result> = AsyncGenerator<never, Result>

/** Points that are drawn: more would be one grey cloud. */
const MOST_POINTS = 6000

export interface VectorMap {
  readonly plane: Plane
  /** Rows that are drawn. */
  readonly rows: Uint32Array
  /** Their places: x, y, x, y. */
  readonly places: Float32Array
  /** The vectors at length one, where that was asked for. */
  readonly unit: Matrix | undefined
}

export interface MapInput {
  readonly vectors: Matrix
  /** Bring rows to length one first. */
  readonly unit: boolean
}

export interface FilesInput {
  /** Vectors, names of their rows, or both; word vectors have both in one. */
  readonly files: readonly File[]
}

export interface FilesRead {
  /** Undefined where only names were given. */
  readonly vectors: Matrix | undefined
  readonly name: string
  readonly names: { readonly file: string; readonly text: string } | readonly string[] | undefined
}

export async function* readVectorsTask({ files }: FilesInput): NoRounds<FilesRead> {
  const text = files.find(({ name }) => /\.txt$/i.test(name))
  const file = files.find((other) => other !== text)
  if (text && !file && (await looksLikeWordVectors(text))) {
    const { vectors, names } = await readWordVectors(text)
    return { vectors: sharedVectors(vectors), name: text.name, names }
  }
  return {
    vectors: file && (await loadVectors(file)),
    name: (file ?? text)?.name ?? '',
    names: text && { file: text.name, text: await text.text() },
  }
}

// biome-ignore lint/correctness/useYield: it has no rounds, only a result
export async function* mapTask({ vectors, unit }: MapInput): NoRounds<VectorMap> {
  const used = unit ? sharedVectors(unitRows(vectors)) : vectors
  const plane = principalPlane(used)
  const rows = evenRows(used.rows, MOST_POINTS)
  return { plane, rows, places: placesOf(plane, used, rows), unit: unit ? used : undefined }
}

export interface CodesInput {
  readonly vectors: Matrix
  readonly choice: CodeChoice
}

// biome-ignore lint/correctness/useYield: it has no rounds, only a result
export async function* learnCodesTask({ vectors, choice }: CodesInput, context: TaskContext): NoRounds<Codes> {
  return learnCodes(vectors, choice, context)
}

export interface NeighborsInput extends Pick<Codes, 'quantizer' | 'codes'> {
  readonly vectors: Matrix
  readonly row: number
}

// biome-ignore lint/correctness/useYield: it has no rounds, only a result
export async function* findNeighborsTask(
  { vectors, quantizer, codes, row }: NeighborsInput,
  { device }: TaskContext,
): NoRounds<Neighborhood> {
  return findNeighbors(vectors, quantizer, codes, Uint32Array.of(row), device)
}

export interface FileInput {
  /** Its extension says the format. */
  readonly name: string
  readonly content: Matrix | Uint32Array
}

// biome-ignore lint/correctness/useYield: it has no rounds, only a result
export async function* fileBytesTask({ name, content }: FileInput): NoRounds<Uint8Array<ArrayBuffer>> {
  return content instanceof Uint32Array ? labelBytes(name, content) : vectorBytes(name, content)
}

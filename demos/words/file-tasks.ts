/** Files that pages read and write, in the worker. */
import { labelBytes, type Matrix, vectorBytes } from '../../src/index.ts'
import { sharedVectors } from '../engine/shared-vectors.ts'
import { loadVectors } from './load.ts'
import { looksLikeWordVectors, readWordVectors } from './word-vectors.ts'

type NoRounds<Result> = AsyncGenerator<never, Result>

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

export interface FileInput {
  /** Its extension says the format. */
  readonly name: string
  readonly content: Matrix | Uint32Array
}

// biome-ignore lint/correctness/useYield: it has no rounds, only a result
export async function* fileBytesTask({ name, content }: FileInput): NoRounds<Uint8Array<ArrayBuffer>> {
  return content instanceof Uint32Array ? labelBytes(name, content) : vectorBytes(name, content)
}

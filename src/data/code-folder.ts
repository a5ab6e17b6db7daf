/**
 * Codes on disk with their ids, for inverted files also with the cluster of each; quantizer and clusters are in folders inside.
 * Changes since they were written follow in files of their own, numbered: first the ids that are removed, then what is added.
 */
import type { Matrix } from '../core/matrix.ts'
import { type ChangeArrays, changeList, NO_ID, readChanges, withChanges } from './code-changes.ts'
import { COUNT } from './folder-facts.ts'
import { badFolder, type FolderKind, type SavedFolder } from './folder-load.ts'
import type { FolderContents } from './folder-save.ts'
import { badArray, listFile, matrixFile, savedMatrix, savedNumbers } from './saved-arrays.ts'
import { type Checked, choice, optional, record, whole, wrongValue } from './schema.ts'

export interface CodeArrays {
  readonly codes: Matrix
  readonly ids: Uint32Array
  /** The cluster of each code, in an inverted file. */
  readonly lists?: Uint32Array
  /** What an inverted file keeps of each vector, if it does. */
  readonly kept?: KeptArrays | undefined
}

export interface KeptArrays {
  readonly bytes: Matrix
  /** What bytes stand for, a number for each column. */
  readonly offsets: Float32Array
  readonly steps: Float32Array
}

const COUNT_OR_NONE = whole(0, 2 ** 32 - 1)

export function codeKind(
  name: 'code index' | 'inverted file',
  version: number,
  folders: Readonly<Record<string, FolderKind>>,
): FolderKind {
  const arrays = name === 'code index' ? ['codes', 'ids'] : ['codes', 'ids', 'lists', 'bytes', 'scale']
  const changing = ['removed', 'codes', 'ids', ...(name === 'code index' ? [] : ['lists', 'bytes'])]
  const wanted = (array: string): boolean => {
    const [, of, number] = /^([a-z]+)-(\d{1,6})$/.exec(array) ?? []
    return arrays.includes(array) || (number !== undefined && changing.includes(of))
  }
  return { json: 'model.json', name, version, arrays: wanted, folders }
}

export function codeFolder(
  { name, version }: FolderKind,
  facts: object,
  { codes, ids, lists, kept }: CodeArrays,
  folders: Readonly<Record<string, FolderContents>>,
): FolderContents {
  return {
    json: 'model.json',
    format: `centroidal ${name}`,
    version,
    facts,
    files: {
      'codes.npy': matrixFile(codes),
      'ids.npy': listFile(ids),
      ...(lists ? { 'lists.npy': listFile(lists) } : {}),
      ...(kept ? { 'bytes.npy': matrixFile(kept.bytes), 'scale.npy': matrixFile(scaleRows(kept)) } : {}),
    },
    folders,
  }
}

function scaleRows({ offsets, steps }: KeptArrays): Matrix {
  const data = new Float32Array(2 * offsets.length)
  data.set(offsets)
  data.set(steps, offsets.length)
  return { data, rows: 2, cols: offsets.length }
}

const sizeFacts = {
  /** Vectors, after all changes. */
  size: COUNT_OR_NONE,
  /** Vectors before the changes, where there are any. */
  written: optional(COUNT_OR_NONE),
  changes: optional(changeList),
}
const indexFacts = record({ ...sizeFacts, metric: optional(choice('cosine', 'inner-product')) })
const fileFacts = record({
  ...sizeFacts,
  clusters: COUNT,
  metric: optional(choice('inner-product')),
  keep: optional(choice('bytes')),
})

/** What was loaded, and which changes it came from. */
export interface LoadedCodes extends CodeArrays {
  /** Vectors that were written before the changes. */
  readonly written: number
  readonly changes: readonly ChangeArrays[]
}

/** `width` is the number of bytes of a code. */
export async function readCodeIndex(
  saved: SavedFolder,
  width: number,
): Promise<LoadedCodes & { readonly metric: 'cosine' | 'inner-product' | undefined }> {
  const { size, written = size, changes = [], metric } = indexFacts(saved.facts, `${saved.path}/model.json:`)
  const read = await readChanges(saved, changes, { width })
  return { ...withChanges(saved, await readCodes(saved, written, width), read, size), written, changes: read, metric }
}

/** `k` is the number of clusters, `cols` that of dimensions. */
export async function readInvertedFile(
  saved: SavedFolder,
  width: number,
  { rows: k, cols }: Pick<Matrix, 'rows' | 'cols'>,
): Promise<LoadedCodes & { readonly lists: Uint32Array; readonly metric: 'inner-product' | undefined }> {
  const at = `${saved.path}/model.json:`
  const { size, written = size, changes = [], clusters, metric, keep } = fileFacts(saved.facts, at)
  if (clusters !== k) throw wrongValue(`${at} clusters`, clusters, `that of the folder clusters, ${k},`)
  const lists = await savedNumbers(saved, 'lists', { length: written, limit: k })
  const kept = keep && (await readKept(saved, written, cols))
  const read = await readChanges(saved, changes, { width, k, cols: kept && cols })
  const first = { ...(await readCodes(saved, written, width)), lists, kept }
  return { ...withChanges(saved, first, read, size), written, changes: read, metric }
}

async function readKept(saved: SavedFolder, size: number, cols: number): Promise<KeptArrays> {
  const bytes = await savedMatrix(saved, 'bytes', { rows: size, cols, type: 'u8' })
  const { data } = await savedMatrix(saved, 'scale', { rows: 2, cols })
  return { bytes, offsets: Float32Array.from(data.subarray(0, cols)), steps: Float32Array.from(data.subarray(cols)) }
}

async function readCodes(saved: SavedFolder, size: number, width: number): Promise<CodeArrays> {
  const codes = await savedMatrix(saved, 'codes', { rows: size, cols: width, type: 'u8' })
  return { codes, ids: await readIds(saved, size) }
}

async function readIds(saved: SavedFolder, size: number): Promise<Uint32Array> {
  const ids = await savedNumbers(saved, 'ids', { length: size, limit: NO_ID })
  const sorted = ids.slice().sort()
  const twice = sorted.findIndex((id, i) => i > 0 && id === sorted[i - 1])
  if (twice >= 0) throw badArray(saved, 'ids', `holds ${sorted[twice]} twice, where ids must differ`)
  return ids
}

/** Lists of whole vectors. */
export function listKind(version: number, folders: Readonly<Record<string, FolderKind>>): FolderKind {
  const arrays = ['vectors', 'ids', 'lists']
  return { json: 'model.json', name: 'vector lists', version, arrays: (name) => arrays.includes(name), folders }
}

export interface ListArrays {
  readonly vectors: Matrix<Float32Array>
  readonly ids: Uint32Array
  /** The cluster of each vector. */
  readonly lists: Uint32Array
}

export function listFolder(
  { version }: FolderKind,
  metric: string,
  { vectors, ids, lists }: ListArrays,
  clusters: FolderContents,
): FolderContents {
  return {
    json: 'model.json',
    format: 'centroidal vector lists',
    version,
    facts: { size: ids.length, metric },
    files: { 'vectors.npy': matrixFile(vectors), 'ids.npy': listFile(ids), 'lists.npy': listFile(lists) },
    folders: { clusters },
  }
}

const listFacts = record({ size: COUNT_OR_NONE, metric: choice('euclidean', 'cosine', 'inner-product') })

export async function readVectorLists(
  saved: SavedFolder,
  { rows: k, cols }: Pick<Matrix, 'rows' | 'cols'>,
): Promise<ListArrays & Checked<typeof listFacts>> {
  const { size, metric } = listFacts(saved.facts, `${saved.path}/model.json:`)
  const vectors = (await savedMatrix(saved, 'vectors', { rows: size, cols })) as Matrix<Float32Array>
  const lists = await savedNumbers(saved, 'lists', { length: size, limit: k })
  return { size, metric, vectors, ids: await readIds(saved, size), lists }
}

export interface ImageArrays {
  /** Ascending. */
  readonly ids: Uint32Array
  /** The words of image ids[i] and their counts are from offsets[i] to offsets[i + 1]. */
  readonly offsets: Uint32Array
  readonly words: Uint32Array
  readonly counts: Uint32Array
}

const IMAGE_ARRAYS = ['ids', 'offsets', 'words', 'counts'] as const

export function imageKind(version: number, vocabulary: FolderKind): FolderKind {
  const arrays: readonly string[] = IMAGE_ARRAYS
  return {
    json: 'index.json',
    name: 'image index',
    version,
    arrays: (name) => arrays.includes(name),
    folders: { vocabulary },
  }
}

export function imageFolder(
  { version }: FolderKind,
  arrays: ImageArrays,
  { rows: k, cols }: Pick<Matrix, 'rows' | 'cols'>,
  vocabulary: FolderContents,
): FolderContents {
  return {
    json: 'index.json',
    format: 'centroidal image index',
    version,
    facts: { images: arrays.ids.length, entries: arrays.words.length, k, cols },
    files: Object.fromEntries(IMAGE_ARRAYS.map((name) => [`${name}.npy`, listFile(arrays[name])])),
    folders: { vocabulary },
  }
}

const imageFacts = record({ images: whole(0, 2 ** 32 - 1), entries: whole(0, 2 ** 32 - 1), k: COUNT, cols: COUNT })

export async function readImageIndex(
  saved: SavedFolder,
  vocabulary: Pick<Matrix, 'rows' | 'cols'>,
): Promise<ImageArrays> {
  const at = `${saved.path}/index.json:`
  const { images, entries, k, cols } = imageFacts(saved.facts, at)
  if (k !== vocabulary.rows) throw wrongValue(`${at} k`, k, `that of the vocabulary, ${vocabulary.rows},`)
  if (cols !== vocabulary.cols) throw wrongValue(`${at} cols`, cols, `that of the vocabulary, ${vocabulary.cols},`)
  const ids = await savedNumbers(saved, 'ids', { length: images })
  const offsets = await savedNumbers(saved, 'offsets', { length: images + 1 })
  const words = await savedNumbers(saved, 'words', { length: entries, limit: k })
  const counts = await savedNumbers(saved, 'counts', { length: entries })
  requireAscending(saved, 'ids', ids, 0, images)
  if (offsets[0] !== 0 || offsets[images] !== entries) {
    throw badFolder(
      `${saved.path}/offsets.npy goes from ${offsets[0]} to ${offsets[images]}, where 0 to ${entries} is needed: save the folder again.`,
    )
  }
  for (let i = 0; i < images; i++) {
    if (offsets[i + 1] < offsets[i] || offsets[i + 1] > entries)
      throw badArray(saved, 'offsets', `falls at position ${i + 1}`)
    requireAscending(saved, 'words', words, offsets[i], offsets[i + 1])
  }
  const none = counts.indexOf(0)
  if (none >= 0) throw badArray(saved, 'counts', `holds 0 at position ${none}, where 1 or more is needed`)
  return { ids, offsets, words, counts }
}

function requireAscending(saved: SavedFolder, name: string, values: Uint32Array, start: number, end: number): void {
  for (let i = start + 1; i < end; i++) {
    if (values[i] <= values[i - 1]) {
      throw badArray(saved, name, `holds ${values[i]} after ${values[i - 1]} at position ${i}, where values must rise`)
    }
  }
}

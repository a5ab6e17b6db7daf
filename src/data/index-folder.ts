/**
 * An index of images on disk: ids.npy, and the words of image ids[i] with their counts from offsets[i] to
 * offsets[i + 1] of words.npy and counts.npy, in a folder that also holds the vocabulary's. index.json is written last.
 */
import { platform } from '#platform'
import type { ByteSink } from '../core/bytes.ts'
import { CentroidalError } from '../core/errors.ts'
import type { Matrix } from '../core/matrix.ts'
import { fingerprintOf, readJson, stageText } from './model-folder.ts'
import { readIntegers } from './read.ts'
import { stageLabels } from './write.ts'

const FORMAT = 'centroidal image index'

interface IndexArrays {
  /** Ascending. */
  readonly ids: Uint32Array
  readonly offsets: Uint32Array
  readonly words: Uint32Array
  readonly counts: Uint32Array
}

export interface IndexContents extends IndexArrays {
  readonly version: number
  /** Of the vocabulary, to know it again. */
  readonly centers: Matrix
}

const FILES = ['ids', 'offsets', 'words', 'counts'] as const

export async function writeIndexFolder(folder: string, contents: IndexContents): Promise<void> {
  await platform.makeFolder(folder)
  const { version, centers } = contents
  const facts = {
    format: FORMAT,
    version,
    fingerprint: fingerprintOf(...FILES.map((name) => contents[name])),
    vocabulary: fingerprintOf(centers.data),
    images: contents.ids.length,
    entries: contents.words.length,
    k: centers.rows,
    cols: centers.cols,
  }
  const staged: ByteSink[] = []
  try {
    for (const name of FILES) staged.push(await stageLabels(`${folder}/${name}.npy`, contents[name]))
    staged.push(await stageText(`${folder}/index.json`, `${JSON.stringify(facts, undefined, 2)}\n`))
    for (const sink of staged) await sink.close()
  } catch (error) {
    for (const sink of staged) await sink.abort()
    throw error
  }
}

export interface LoadedIndex extends IndexArrays {
  /** Refuses centres that are not those the index was made with. */
  checkVocabulary(centers: Matrix): void
}

export async function readIndexFolder(folder: string, newest: number): Promise<LoadedIndex> {
  const facts = await readJson(`${folder}/index.json`)
  if (facts.format !== FORMAT) {
    throw bad(`${folder}/index.json is no index of images: format is ${JSON.stringify(facts.format)}.`)
  }
  if (typeof facts.version !== 'number' || facts.version > newest) {
    throw bad(`${folder} was written as version ${facts.version}, this centroidal reads up to ${newest}: update it.`)
  }
  const [ids, offsets, words, counts] = await Promise.all(
    FILES.map(async (name) => Uint32Array.from((await readIntegers(`${folder}/${name}.npy`)).data)),
  )
  const mixed = `${folder} holds files of two different saves: make the index again.`
  const fits = ids.length === facts.images && offsets.length === ids.length + 1 && words.length === counts.length
  if (!fits || facts.fingerprint !== fingerprintOf(ids, offsets, words, counts)) throw bad(mixed)
  return {
    ids,
    offsets,
    words,
    counts,
    checkVocabulary: (centers) => {
      if (facts.vocabulary !== fingerprintOf(centers.data)) throw bad(mixed)
    },
  }
}

function bad(message: string): CentroidalError {
  return new CentroidalError('bad-file', message)
}

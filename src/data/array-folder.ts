/**
 * Named arrays and facts about them on disk: a folder with one .npy file for each array and model.json,
 * which is written last, so a folder that has it is complete.
 */
import { platform } from '#platform'
import type { ByteSink } from '../core/bytes.ts'
import { CentroidalError } from '../core/errors.ts'
import { isMatrix, type Matrix } from '../core/matrix.ts'
import { fingerprintOf, readFacts, stageFacts } from './model-folder.ts'
import { readIntegers, readVectors } from './read.ts'
import { stageLabels, stageVectors } from './write.ts'

/** Floats and bytes as matrices, whole numbers as lists. */
export type NamedArrays = Readonly<Record<string, Matrix | Uint32Array | undefined>>

export interface ArrayFolder {
  readonly facts: Record<string, unknown>
  matrix(name: string): Matrix
  numbers(name: string): Uint32Array
  has(name: string): boolean
}

export async function writeArrayFolder(
  folder: string,
  { kind, version, facts, arrays }: { kind: string; version: number; facts: object; arrays: NamedArrays },
): Promise<void> {
  await platform.makeFolder(folder)
  const staged: ByteSink[] = []
  const kinds: Record<string, 'matrix' | 'numbers'> = {}
  try {
    for (const [name, array] of Object.entries(arrays)) {
      if (array === undefined) continue
      const path = `${folder}/${name}.npy`
      kinds[name] = isMatrix(array) ? 'matrix' : 'numbers'
      staged.push(await (isMatrix(array) ? stageVectors(path, array) : stageLabels(path, array)))
    }
    const fingerprint = fingerprintOf(...Object.values(arrays).flatMap((array) => (array ? [bytesOf(array)] : [])))
    const contents = { format: `centroidal ${kind}`, version, fingerprint, arrays: kinds, ...facts }
    staged.push(await stageFacts(`${folder}/model.json`, contents))
    for (const sink of staged) await sink.close()
  } catch (error) {
    for (const sink of staged) await sink.abort()
    throw error
  }
}

export async function readArrayFolder(folder: string, kind: string, newest: number): Promise<ArrayFolder> {
  const { fingerprint, arrays, ...facts } = await readFacts(folder, kind, newest)
  const found: Record<string, Matrix | Uint32Array> = {}
  for (const [name, type] of Object.entries((arrays ?? {}) as Record<string, string>)) {
    const path = `${folder}/${name}.npy`
    found[name] = type === 'matrix' ? await readVectors(path) : Uint32Array.from((await readIntegers(path)).data)
  }
  if (fingerprint !== fingerprintOf(...Object.values(found).map(bytesOf))) {
    throw new CentroidalError('bad-file', `${folder} holds files of two different saves: make it again.`)
  }
  const array = (name: string): Matrix | Uint32Array => {
    if (found[name] === undefined) {
      throw new CentroidalError('bad-file', `${folder}/model.json names no array ${name}: make it again.`)
    }
    return found[name]
  }
  return {
    facts,
    has: (name) => found[name] !== undefined,
    matrix: (name) => array(name) as Matrix,
    numbers: (name) => array(name) as Uint32Array,
  }
}

/** Whole words, from an address that words may have. */
function bytesOf(array: Matrix | Uint32Array): Uint8Array {
  const data = isMatrix(array) ? array.data : array
  const bytes = new Uint8Array(Math.ceil(data.byteLength / 4) * 4)
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  return bytes
}

/**
 * A model on disk: a folder with centers.npy, labels.npy and model.json, readable by anything that
 * reads NumPy files and JSON. model.json is written last, so a folder that has it is complete.
 */
import { platform } from '#platform'
import type { ByteSink } from '../core/bytes.ts'
import { CentroidalError } from '../core/errors.ts'
import type { Matrix } from '../core/matrix.ts'
import { readIntegers, readVectors } from './read.ts'
import { stageLabels, stageVectors } from './write.ts'

export interface ModelContents {
  readonly kind: string
  readonly version: number
  readonly facts: object
  readonly centers: Matrix
  readonly labels: Uint32Array
  /** Centres to the last bit in the frame they were found in, where that is not the input's. */
  readonly frameCenters?: Matrix
  /** A tree over the clusters, word by word. */
  readonly tree?: Uint32Array
  /** Weights and standard deviations of the clusters, where they are the components of a mixture. */
  readonly mixture?: ModelMixture
}

export interface ModelMixture {
  readonly weights: Float32Array
  readonly sigmas: Float32Array
}

export async function writeModelFolder(folder: string, contents: ModelContents): Promise<void> {
  await platform.makeFolder(folder)
  const staged: ByteSink[] = []
  try {
    staged.push(await stageVectors(`${folder}/centers.npy`, contents.centers))
    staged.push(await stageLabels(`${folder}/labels.npy`, contents.labels))
    if (contents.frameCenters) staged.push(await stageVectors(`${folder}/frame-centers.npy`, contents.frameCenters))
    if (contents.tree) staged.push(await stageLabels(`${folder}/tree.npy`, contents.tree))
    for (const [name, data] of Object.entries(contents.mixture ?? {})) {
      staged.push(await stageVectors(`${folder}/${name}.npy`, { data, rows: data.length, cols: 1 }))
    }
    staged.push(await stageJson(`${folder}/model.json`, contents))
    // All is written: what is left is renaming, so a kill can hardly find an old and a new file side by side.
    for (const sink of staged) await sink.close()
  } catch (error) {
    for (const sink of staged) await sink.abort()
    throw error
  }
}

async function stageJson(
  path: string,
  { kind, version, facts, centers, labels, tree, mixture }: ModelContents,
): Promise<ByteSink> {
  const fingerprint = fingerprintOf(centers.data, labels)
  return stageFacts(path, {
    format: `centroidal ${kind}`,
    version,
    fingerprint,
    tree: tree !== undefined,
    mixture: mixture !== undefined,
    ...facts,
  })
}

/** An object as JSON, written but not yet visible. */
export function stageFacts(path: string, facts: object): Promise<ByteSink> {
  return stageText(path, `${JSON.stringify(facts, undefined, 2)}\n`)
}

export async function stageText(path: string, text: string): Promise<ByteSink> {
  const sink = await platform.createBytes(path)
  try {
    await sink.write(new TextEncoder().encode(text))
    return sink
  } catch (error) {
    await sink.abort()
    throw error
  }
}

/** Tells files that belong together from files of two different saves. */
export function fingerprintOf(...parts: readonly ArrayBufferView[]): string {
  let hash = 0x811c9dc5
  for (const part of parts) {
    const words = new Uint32Array(part.buffer, part.byteOffset, part.byteLength >>> 2)
    for (let i = 0; i < words.length; i++) hash = Math.imul(hash ^ words[i] ^ (hash >>> 15), 0x01000193)
  }
  return (hash >>> 0).toString(16).padStart(8, '0')
}

export interface LoadedModel {
  readonly facts: Record<string, unknown>
  readonly centers: Matrix
  readonly labels: Uint32Array
  readonly frameCenters: Float32Array | undefined
  readonly tree: Uint32Array | undefined
  readonly mixture: ModelMixture | undefined
}

export async function readModelFolder(folder: string, kind: string, newest: number): Promise<LoadedModel> {
  const { fingerprint, tree: hasTree, mixture, ...facts } = await readFacts(folder, kind, newest)
  const centers = await readVectors(`${folder}/centers.npy`)
  const labels = await readIntegers(`${folder}/labels.npy`)
  checkShape(folder, 'centers.npy', [centers.rows, centers.cols], [facts.k, facts.cols])
  checkShape(folder, 'labels.npy', [labels.rows * labels.cols], [facts.rows])
  const ids = Uint32Array.from(labels.data)
  if (fingerprint !== fingerprintOf(centers.data, ids)) {
    throw new CentroidalError('bad-file', `${folder} holds files of two different saves: make the model again.`)
  }
  const moved = (facts.frame as { shift?: unknown; scale?: number })?.shift !== undefined
  const scaled = ((facts.frame as { scale?: number })?.scale ?? 1) !== 1
  const frameCenters = moved || scaled ? await readVectors(`${folder}/frame-centers.npy`) : undefined
  return {
    facts,
    centers,
    labels: ids,
    frameCenters: frameCenters?.data as Float32Array | undefined,
    mixture: mixture === true ? await readMixture(folder, centers.rows) : undefined,
    tree: hasTree === true ? Uint32Array.from((await readIntegers(`${folder}/tree.npy`)).data) : undefined,
  }
}

async function readMixture(folder: string, k: number): Promise<ModelMixture> {
  const read = async (name: string): Promise<Float32Array> => {
    const { rows, data } = await readVectors(`${folder}/${name}.npy`)
    checkShape(folder, `${name}.npy`, [rows], [k])
    return Float32Array.from(data)
  }
  return { weights: await read('weights'), sigmas: await read('sigmas') }
}

/** model.json of a folder that must hold a model of this kind and not of a later version; without format and version. */
export async function readFacts(folder: string, kind: string, newest: number): Promise<Record<string, unknown>> {
  const { format, version, ...facts } = await readJson(`${folder}/model.json`)
  if (format !== `centroidal ${kind}`) {
    throw new CentroidalError(
      'bad-file',
      `${folder}/model.json is not a ${kind} model of centroidal: format is ${JSON.stringify(format)}.`,
    )
  }
  if (typeof version !== 'number' || version > newest) {
    throw new CentroidalError(
      'bad-file',
      `${folder} was written as version ${version}, this centroidal reads up to ${newest}: update it.`,
    )
  }
  return facts
}

function checkShape(folder: string, file: string, found: readonly number[], wanted: readonly unknown[]): void {
  if (found.some((size, i) => size !== wanted[i])) {
    throw new CentroidalError(
      'bad-file',
      `${folder}/${file} is ${found.join(' x ')} and model.json says ${wanted.join(' x ')}: the folder is mixed up, make the model again.`,
    )
  }
}

export async function readJson(path: string): Promise<Record<string, unknown>> {
  const source = await platform.openBytes(path)
  try {
    const text = new TextDecoder().decode(await source.read(0, source.size))
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) throw new SyntaxError('not an object')
    return value as Record<string, unknown>
  } catch (error) {
    if (error instanceof CentroidalError) throw error
    throw new CentroidalError('bad-file', `${path} is not JSON (${(error as Error).message}): make the folder again.`, {
      cause: error,
    })
  } finally {
    await source.close()
  }
}

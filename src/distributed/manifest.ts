/**
 * A manifest of shards: which rows of which files make up a data set, in which order, with checksums. It is a JSON file. Files
 * are named relative to the folder of the manifest, or as objects in S3 (s3://bucket/key).
 */

import { platform } from '#platform'
import { abortSignal, callback, path as checkPath, optionsOf, whole as wholeOption } from '../core/arguments.ts'
import { Checksum } from '../core/checksum.ts'
import { badArgument, CentroidalError } from '../core/errors.ts'
import { elementBytes, type VectorData, type VectorSource } from '../core/matrix.ts'
import type { OnProgress } from '../core/progress.ts'
import {
  choice,
  list,
  optional,
  real,
  record,
  SAVE_AGAIN,
  type Schema,
  text,
  whole,
  wrongValue,
} from '../data/schema.ts'
import { largestMagnitude, zeroRowOf } from '../vectors/frame.ts'
import { type DataRoots, openRoots } from './data-roots.ts'

/** Some rows of a file. */
export interface ShardEntry {
  /** Relative to the manifest, with forward slashes; or s3://bucket/key. */
  readonly file: string
  /** The first row in the file. */
  readonly first: number
  /** Number of rows. */
  readonly rows: number
  /** Of the numbers, as 32-bit floats or bytes: 32 hexadecimal digits. */
  readonly checksum: string
  /** The largest absolute value. */
  readonly largest: number
  /** The first row that is all zeros, counted from the first of the shard. */
  readonly zeroRow?: number
}

/** The contents of a manifest. */
export interface Manifest {
  /** 32-bit floats, or bytes. */
  readonly type: 'f32' | 'u8'
  /** Dimensions of a vector. */
  readonly cols: number
  /** In the order of their rows. */
  readonly shards: readonly ShardEntry[]
}

const FORMAT = 'centroidal-shards'
const VERSION = 1
/** Vectors of a shard take at most this many bytes unless it is said otherwise: a part of most devices' memory. */
const SHARD_BYTES = 256 * 2 ** 20
/** Bytes that are read at a time. */
const PIECE_BYTES = 16 * 2 ** 20
const MOST_SHARDS = 1_000_000

/** A path that stays below the folder it is relative to, or an address in S3. */
const checkFile: Schema<string> = (value, at) => {
  const file = text(/^[^\p{C}\\]{1,1024}$/u)(value, at)
  if (/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/.+$/.test(file)) return file
  const steps = file.split('/')
  if (
    file.startsWith('/') ||
    /^[a-z]+:/i.test(file) ||
    steps.some((step) => step === '' || step === '.' || step === '..')
  )
    throw wrongValue(at, file, 'a path below the folder of the manifest, or s3://bucket/key,')
  return file
}

export const checkShard: Schema<ShardEntry> = record({
  file: checkFile,
  first: whole(0),
  rows: whole(0),
  checksum: text(/^[0-9a-f]{32}$/),
  largest: real(0),
  zeroRow: optional(whole(0)),
})

const checkManifest = record({
  format: choice(FORMAT),
  version: (value: unknown, at: string) => {
    if (value === VERSION) return VERSION
    throw wrongValue(at, value, `version ${VERSION}`)
  },
  type: choice('f32', 'u8'),
  cols: whole(1, 1_000_000),
  shards: list(checkShard),
})

/** Options of {@link writeShards}. */
export interface ShardingOptions {
  /** Most vectors of a shard. Default: as many as take 256 MiB. */
  readonly rows?: number | undefined
  /** Stops it. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Called with the share that is done. Optional. */
  readonly onProgress?: OnProgress | undefined
}

/**
 * Reads files of vectors (.npy, .fvecs, .bvecs, ...) and writes a manifest that lists their rows as shards, with checksums.
 * The files stay where they are; they must be in the folder of the manifest or below it, or objects in S3.
 *
 * @example
 * ```ts
 * import { blobs, cluster, openShards, writeShards, writeVectors } from 'centroidal'
 *
 * await writeVectors('a.npy', blobs({ rows: 500, cols: 4, clusters: 3, seed: 1 }).vectors)
 * await writeVectors('b.npy', blobs({ rows: 300, cols: 4, clusters: 3, seed: 2 }).vectors)
 * const manifest = await writeShards('shards.json', ['a.npy', 'b.npy'], { rows: 200 })
 * manifest.shards.length // => 5
 * const source = await openShards('shards.json')
 * const model = await cluster(source, { k: 3 })
 * await source.close?.()
 * model.labels.length // => 800
 * ```
 */
export async function writeShards(
  path: string,
  files: readonly string[],
  options: ShardingOptions = {},
): Promise<Manifest> {
  const given = optionsOf<ShardingOptions>('writeShards', options, {
    rows: wholeOption(1),
    signal: abortSignal,
    onProgress: callback,
  })
  const { disk } = platform
  if (disk === undefined) throw platform.cannotWrite(path, undefined)
  checkPath(path, 'the path of the manifest')
  const manifest = await manifestOf(disk.parentOf(disk.within('.', path)), files, given)
  const sink = await platform.createBytes(path)
  try {
    await sink.write(new TextEncoder().encode(manifestText(manifest)))
    await sink.close()
  } catch (error) {
    await sink.abort()
    throw error
  }
  return manifest
}

/** One path or more. */
export function pathList(value: unknown, thing: string): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) throw badArgument(thing, value, 'give a list of one path or more.')
  return value.map((each: unknown, i) => checkPath(each, `${thing}, number ${i}`))
}

/** The manifest of files in a folder, or below it. */
export async function manifestOf(
  folder: string,
  files: readonly string[],
  options: ShardingOptions = {},
): Promise<Manifest> {
  pathList(files, 'the list of files')
  const { disk } = platform
  if (disk === undefined) throw platform.cannotWrite(folder, undefined)
  const roots = await openRoots([folder], true)
  const names = await Promise.all(
    files.map(async (file) => {
      if (file.startsWith('s3://')) return file
      // By the real names of both: a link may lead out of the folder.
      const real = await disk.realpath(disk.within('.', file)).catch(() => disk.within('.', file))
      const name = disk.relative(await disk.realpath(folder), real)
      if (name.startsWith('../') || name.startsWith('/')) {
        throw badArgument(
          'the list of files',
          file,
          `it lies outside ${JSON.stringify(folder)}: put the manifest into a folder that contains all files.`,
        )
      }
      return name
    }),
  )
  try {
    return await describeFiles(names, roots, options)
  } finally {
    await roots.close()
  }
}

/** One shard in a line, so that manifests of many shards can be read and compared. */
function manifestText({ type, cols, shards }: Manifest): string {
  const lines = shards.map((shard) => `    ${JSON.stringify(shard)}`)
  const head = `  "format": "${FORMAT}",\n  "version": ${VERSION},\n  "type": "${type}",\n  "cols": ${cols},\n`
  return `{\n${head}  "shards": [\n${lines.join(',\n')}\n  ]\n}\n`
}

async function describeFiles(
  files: readonly string[],
  roots: DataRoots,
  { rows: most, signal, onProgress }: ShardingOptions,
): Promise<Manifest> {
  const shards: ShardEntry[] = []
  let shape: Pick<Manifest, 'type' | 'cols'> | undefined
  for (const [number, file] of files.entries()) {
    const source = await roots.open(file)
    try {
      const { cols, type, rows, sparse } = source
      if (sparse) throw new CentroidalError('bad-file', `${source.name} is sparse; shards require dense rows.`)
      shape ??= { type, cols }
      if (shape.cols !== cols || shape.type !== type) {
        const [own, other] = [`${cols} columns of ${type}`, `${shape.cols} of ${shape.type}`]
        throw new CentroidalError(
          'bad-data',
          `${source.name} has ${own}, ${files[0]} has ${other}: all shards of a manifest must have the same columns and type.`,
        )
      }
      const each = most ?? Math.max(1, Math.floor(SHARD_BYTES / (cols * elementBytes(type))))
      for (let first = 0; first < rows; first += each) {
        const count = Math.min(each, rows - first)
        const share = (done: number): void => onProgress?.((number + (first + done) / rows) / files.length)
        shards.push({ file, first, rows: count, ...(await examineRows(source, first, count, signal, share)) })
        if (shards.length > MOST_SHARDS)
          throw badArgument('option rows', most, `this gives more than ${MOST_SHARDS} shards; give more rows for each.`)
      }
    } finally {
      await source.close?.()
    }
  }
  if (shape === undefined || shards.length === 0) throw new CentroidalError('bad-data', 'The files hold no vectors.')
  return { ...shape, shards }
}

type Examined = Pick<ShardEntry, 'checksum' | 'largest' | 'zeroRow'>

/** Reads rows once: their checksum, and what clustering needs to know of all vectors. */
export async function examineRows(
  source: VectorSource,
  first: number,
  rows: number,
  signal?: AbortSignal,
  onRows: (rows: number) => void = () => {},
): Promise<Examined> {
  const checksum = new Checksum()
  const { cols, type } = source
  const step = Math.max(1, Math.floor(PIECE_BYTES / (cols * elementBytes(type))))
  let largest = 0
  let zeroRow: number | undefined
  for (let row = 0; row < rows; row += step) {
    signal?.throwIfAborted()
    const count = Math.min(step, rows - row)
    const data = await source.read(first + row, first + row + count)
    checksum.update(bytesOf(data))
    largest = Math.max(largest, largestMagnitude(data, first + row, source))
    const zero = zeroRow === undefined ? zeroRowOf(data, cols) : undefined
    if (zero !== undefined) zeroRow = row + zero
    onRows(row + count)
  }
  return { checksum: checksum.digest(), largest, ...(zeroRow === undefined ? {} : { zeroRow }) }
}

function bytesOf({ buffer, byteOffset, byteLength }: VectorData): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

export function parseManifest(bytes: Uint8Array, name: string): Manifest {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new CentroidalError('bad-file', `${JSON.stringify(name)} is not a JSON file: give a manifest of shards.`, {
      cause,
    })
  }
  try {
    const { type, cols, shards } = checkManifest(value, `${name}:`)
    if (shards.length === 0) throw wrongValue(`${name}: shards`, shards, 'one shard or more')
    return { type, cols, shards }
  } catch (error) {
    if (!(error instanceof CentroidalError)) throw error
    throw new CentroidalError('bad-file', error.message.replace(SAVE_AGAIN, ': create the manifest again.'), {
      cause: error,
    })
  }
}

/**
 * Reads what folder-save.ts wrote: the JSON file, then every file it lists, each checked by size and checksum. Never
 * writes anything.
 *
 * A process may be saving to the folder meanwhile. Then a listed file may still be in the staging folder that the JSON
 * file names, or the JSON file was replaced since it was read. So a file that does not fit is looked for in both places,
 * and all is read again if the JSON file has changed. If it has not, the file is damaged.
 */
import { platform } from '#platform'
import { path as requirePath } from '../core/arguments.ts'
import type { ByteSource } from '../core/bytes.ts'
import { checksumOf } from '../core/checksum.ts'
import { CentroidalError, show } from '../core/errors.ts'
import type { SaveInPlace } from './folder-save.ts'
import { openPacked } from './packed-folder.ts'
import { isSealed, type JsonFile, type Listing, listingOf, parsedJson, type SavedFile, sealOf } from './sealed-json.ts'

/** What a folder must be. */
export interface FolderKind {
  readonly json: JsonFile
  /** For sentences: a clustering, a quantizer. The format of the JSON file is `centroidal ${name}`. */
  readonly name: string
  readonly version: number
  /** Names of the arrays there can be, without .npy: nothing else is read. */
  readonly arrays: (name: string) => boolean
  readonly folders?: Readonly<Record<string, FolderKind>>
}

/** Whatever was saved. */
interface AnyKind {
  readonly json: JsonFile
  readonly name?: undefined
}

/** All files of a save, checked. */
export interface SavedFolder {
  /** For sentences. */
  readonly path: string
  /** What the folder holds, for a later save of changes. */
  readonly inPlace?: SaveInPlace
  /** The JSON file without what the save itself needs. */
  readonly facts: Readonly<Record<string, unknown>>
  /** Names of the arrays that are there, without .npy. */
  readonly arrays: readonly string[]
  /** The .npy file of an array. */
  bytes(array: string): Uint8Array
  folder(name: string): SavedFolder
}

/** A writer would have to finish a save between two looks as often. */
const MOST_ATTEMPTS = 200
const PAUSE = 2

type Files = ReadonlyMap<string, Uint8Array>

export async function loadFolder(from: string | Blob, kind: FolderKind): Promise<SavedFolder> {
  const packed = from instanceof Blob ? await openPacked(from) : undefined
  const path = packed?.name ?? requirePath(from, 'the folder')
  const { files, json } = await readSave(path, kind, (name) => isWanted(kind, name), packed?.open)
  return savedFolder(path, kind, json, files, '')
}

/**
 * A text file that was saved together with a model or a quantizer by the option `files` of `save`; undefined where the save
 * has no file of that name.
 *
 * @example
 * ```ts
 * import { blobs, cluster, readSavedText } from 'centroidal'
 *
 * const model = await cluster(blobs({ rows: 100, cols: 4, clusters: 3 }).vectors, { k: 3 })
 * await model.save('noted', { files: { 'notes.txt': 'the first try' } })
 * const notes = await readSavedText('noted', 'notes.txt')
 * notes // => 'the first try'
 * ```
 */
export async function readSavedText(folder: string, name: string): Promise<string | undefined> {
  requirePath(folder, 'the folder')
  requirePath(name, 'the name of the file')
  const { files } = await readSave(folder, { json: 'model.json' }, (listed) => listed === name)
  const bytes = files.get(name)
  return bytes && new TextDecoder().decode(bytes)
}

function isWanted(kind: FolderKind, name: string): boolean {
  for (const [inner, within] of Object.entries(kind.folders ?? {})) {
    if (name.startsWith(`${inner}/`))
      return isWanted(within, name.slice(inner.length + 1)) || name === `${inner}/${within.json}`
  }
  return name.endsWith('.npy') && kind.arrays(name.slice(0, -4))
}

/** Opens a file of a folder or of an archive. */
type Opener = (name: string) => Promise<ByteSource>

async function readSave(
  path: string,
  kind: FolderKind | AnyKind,
  wanted: (name: string) => boolean,
  open: Opener = (name) => platform.openBytes(`${path}/${name}`),
): Promise<{ files: Files; json: Uint8Array }> {
  let last: Uint8Array | undefined
  for (let attempt = 0; ; attempt++) {
    const json = await readWhole(await open(kind.json))
    const same = last !== undefined && sameBytes(last, json)
    const listing = checkedListing(path, kind, json)
    const listed = listing.files.filter(({ name }) => wanted(name))
    // Usually there is no staging folder, so it is not checked first: a page would have to send a request.
    const found = await readFiles(path, open, listing, listed, attempt > 0)
    if (!(found instanceof CentroidalError)) return { files: found, json }
    if ((same && attempt > 1) || attempt >= MOST_ATTEMPTS) throw found
    last = json
    if (attempt > 1) await new Promise((resolve) => setTimeout(resolve, PAUSE))
  }
}

/** All are opened before any is read: files are replaced, never changed, so an open one stays as it is. */
async function readFiles(
  path: string,
  open: Opener,
  { staging }: Listing,
  listed: readonly SavedFile[],
  mayBeStaged: boolean,
): Promise<Files | CentroidalError> {
  const sources: ByteSource[] = []
  try {
    for (const { name } of listed) {
      const staged = mayBeStaged ? await opened(path, open, `${staging}/${name}`) : undefined
      const source = isSource(staged) ? staged : await opened(path, open, name)
      if (!isSource(source)) return source
      sources.push(source)
    }
    const files = new Map<string, Uint8Array>()
    for (const [i, { name, bytes, checksum }] of listed.entries()) {
      const { size } = sources[i]
      if (size !== bytes) return damaged(path, name, `has ${size} bytes where ${bytes} were saved`)
      const read = await sources[i].read(0, size)
      if (checksumOf(read) !== checksum) return damaged(path, name, 'does not have the checksum it was saved with')
      files.set(name, read)
    }
    return files
  } finally {
    for (const source of sources) await source.close()
  }
}

async function opened(path: string, open: Opener, name: string): Promise<ByteSource | CentroidalError> {
  try {
    return await open(name)
  } catch (error) {
    if (!(error instanceof CentroidalError) || error.code !== 'bad-file') throw error
    return (error.cause as { code?: string })?.code === 'ENOENT' ? damaged(path, name, 'is missing') : error
  }
}

function isSource(found: ByteSource | CentroidalError | undefined): found is ByteSource {
  return found !== undefined && !(found instanceof CentroidalError)
}

async function readWhole(source: ByteSource): Promise<Uint8Array> {
  try {
    return await source.read(0, source.size)
  } finally {
    await source.close()
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}

function checkedListing(path: string, kind: FolderKind | AnyKind, bytes: Uint8Array): Listing {
  const file = `${path}/${kind.json}`
  const json = parsedJson(bytes)
  if (json === undefined) throw badFolder(`${file} is not a JSON object: save the folder again.`)
  if (kind.name !== undefined) requireKind(path, kind, json)
  if (!isSealed(bytes)) throw badFolder(`${file} was changed or damaged after it was saved: save the folder again.`)
  const listing = listingOf(json)
  if (listing === undefined) throw badFolder(`${file} does not list the files of a save: save the folder again.`)
  return listing
}

function requireKind(path: string, kind: FolderKind, { format, version }: Record<string, unknown>): void {
  if (format !== `centroidal ${kind.name}`) {
    throw badFolder(
      `${path}/${kind.json} does not belong to ${article(kind.name)}: its format is ${format === undefined ? 'missing' : show(format)}.`,
    )
  }
  if (version === kind.version) return
  const reads = `${path} has ${version === undefined ? 'no format version' : `format version ${show(version)}`}, this centroidal reads version ${kind.version}`
  throw badFolder(
    typeof version === 'number' && version < kind.version
      ? `${reads}, which has checksums: make the ${kind.name} again.`
      : `${reads}: update centroidal.`,
  )
}

function article(name: string): string {
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`
}

function savedFolder(path: string, kind: FolderKind, json: Uint8Array, files: Files, prefix: string): SavedFolder {
  const { checksum: _, format: __, version: ___, staging: ____, files: listed, ...facts } = parsedJson(json) ?? {}
  const own = (name: string): Uint8Array => {
    const bytes = files.get(`${prefix}${name}`)
    if (bytes === undefined) throw badFolder(`${path}/${kind.json} does not list ${name}: save the ${kind.name} again.`)
    return bytes
  }
  return {
    path,
    inPlace: { seal: sealOf(json), files: listed as readonly SavedFile[] },
    facts,
    arrays: [...files.keys()]
      .filter((name) => name.startsWith(prefix) && name.endsWith('.npy') && !name.slice(prefix.length).includes('/'))
      .map((name) => name.slice(prefix.length, -4)),
    bytes: (array) => own(`${array}.npy`),
    folder: (name) => {
      const inner = kind.folders?.[name]
      if (inner === undefined) throw badFolder(`${path} has no folder ${name}.`)
      const innerJson = own(`${name}/${inner.json}`)
      checkedListing(`${path}/${name}`, inner, innerJson)
      return savedFolder(`${path}/${name}`, inner, innerJson, files, `${prefix}${name}/`)
    },
  }
}

function damaged(path: string, name: string, how: string): CentroidalError {
  return badFolder(
    `${path}/${name} ${how}: the folder was changed or damaged; save it again or restore it from a copy.`,
  )
}

export function badFolder(message: string): CentroidalError {
  return new CentroidalError('bad-file', message)
}

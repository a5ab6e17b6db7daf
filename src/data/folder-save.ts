/**
 * Saves folders so that a reader finds the whole old save or the whole new one, whenever the process or the machine
 * stops.
 *
 * 1. All files are written to a staging folder inside the target, .saving-<random>, and synced.
 * 2. One rename puts the new model.json (index.json for images) in place. It lists every file with size and checksum,
 *    and names the staging folder. This is the switch.
 * 3. The files are moved to their own names, files of the previous save that the new one does not have are removed, and
 *    the staging folder is removed. A reader takes files from wherever they are: see folder-load.ts.
 *
 * A save that was stopped before the switch is removed by the next one; one that was stopped after it is completed first.
 *
 * A save of changes writes some files only: the new model.json also lists files of the previous save, which stay as they are.
 */
import { platform } from '#platform'
import { path } from '../core/arguments.ts'
import { Checksum } from '../core/checksum.ts'
import { CentroidalError } from '../core/errors.ts'
import type { Disk } from '../platform/contract.ts'
import { previousFiles, saveInPlace, tidyUp } from './folder-cleanup.ts'
import { complete, ifMissing, OBSOLETE, removeStaging } from './folder-complete.ts'
import { type FolderLock, lockFolder, randomHex } from './folder-lock.ts'
import { type SaveOptions, withTexts } from './saved-texts.ts'
import { type JsonFile, type Listing, type SavedFile, sealedJson, sealOf } from './sealed-json.ts'

/** What a folder is to hold. */
export interface FolderContents {
  readonly json: JsonFile
  /** Of the JSON file, such as `centroidal clustering`. */
  readonly format: string
  readonly version: number
  /** The rest of the JSON file. */
  readonly facts: object
  /** Bytes of every other file by its name. */
  readonly files: Readonly<Record<string, readonly Uint8Array[]>>
  /** Folders inside, each of which can also be loaded by itself. */
  readonly folders?: Readonly<Record<string, FolderContents>>
  /** Files of the save in place that belong to this one too, also those of folders inside. */
  readonly kept?: readonly SavedFile[]
}

/** A save as it lies in a folder. */
export interface SaveInPlace {
  /** The checksum of its JSON file, in which the name of the staging folder is random: no two saves have the same. */
  readonly seal: string
  readonly files: readonly SavedFile[]
}

const PIECE_BYTES = 1 << 22

export async function saveFolder(folder: string, contents: FolderContents, options: SaveOptions = {}): Promise<void> {
  path(folder, 'the folder')
  const whole = withTexts(contents, options)
  await saveOnDisk(folder, async () => whole)
}

/**
 * The same for contents that depend on what the folder holds: `choose` is called while no other process can save, with
 * undefined if there is no save, or if one of its files is missing.
 */
export async function saveOver(
  folder: string,
  json: JsonFile,
  choose: (inPlace: SaveInPlace | undefined) => FolderContents,
): Promise<SaveInPlace> {
  path(folder, 'the folder')
  return saveOnDisk(folder, async (disk) => choose(await saveInPlace(disk, folder, json)))
}

type Choose = (disk: Disk) => Promise<FolderContents>

async function saveOnDisk(folder: string, choose: Choose): Promise<SaveInPlace> {
  const { disk } = platform
  if (disk === undefined) throw platform.cannotWrite(folder, undefined)
  try {
    return await save(disk, folder, choose)
  } catch (error) {
    throw platform.cannotWrite(folder, error)
  }
}

async function save(disk: Disk, folder: string, choose: Choose): Promise<SaveInPlace> {
  const created: string[] = []
  const lock = await lockedFolder(disk, folder, created)
  const staging = `.saving-${randomHex()}`
  let switched = false
  try {
    await tidyUp(disk, folder)
    const contents = await choose(disk)
    await requireReplaceable(disk, folder, contents)
    const { listing, seal } = await stage(disk, folder, staging, contents)
    await lock.check()
    await disk.rename(`${folder}/${staging}/${contents.json}`, `${folder}/${contents.json}`)
    switched = true
    await disk.syncFolder(folder)
    await complete(disk, folder, listing)
    return { seal, files: listing.files }
  } catch (error) {
    if (switched) throw notTidy(folder, error)
    await removeStaging(disk, `${folder}/${staging}`).catch(() => {})
    throw error
  } finally {
    await lock.release()
    if (!switched) for (const made of created.reverse()) await disk.rmdir(made).catch(() => {})
  }
}

function notTidy(folder: string, error: unknown): CentroidalError {
  return new CentroidalError(
    'bad-file',
    `${JSON.stringify(folder)} holds the new save and can be loaded, but not all of its files could be moved to their names (${(error as Error).message}): save again to complete it.`,
    { cause: error },
  )
}

/** Makes the folder, and makes it again if another process removes it before there is a lock in it. */
async function lockedFolder(disk: Disk, folder: string, created: string[]): Promise<FolderLock> {
  for (let attempt = 0; ; attempt++) {
    try {
      await makeFolder(disk, folder, created)
      return await lockFolder(disk, folder)
    } catch (error) {
      if (codeOf(error) === 'ENOENT' && attempt < 100) continue
      for (const made of created.reverse()) await disk.rmdir(made).catch(() => {})
      throw error
    }
  }
}

async function makeFolder(disk: Disk, folder: string, created: string[], attempts = 0): Promise<void> {
  const parent = disk.parentOf(folder)
  try {
    await disk.mkdir(folder)
    created.push(folder)
    await disk.syncFolder(parent)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' && parent !== folder && attempts < 100) {
      await makeFolder(disk, parent, created, attempts + 1)
      await makeFolder(disk, folder, created, attempts + 1)
    } else if (code !== 'EEXIST') throw error
    else if (!(await isFolder(disk, folder))) {
      throw new CentroidalError('bad-file', `Cannot write into ${JSON.stringify(folder)}: it is a file; name a folder.`)
    }
  }
}

/** A link to a folder is one too. */
async function isFolder(disk: Disk, path: string): Promise<boolean> {
  return (await disk.lstat(`${path}/.`).catch(() => undefined))?.isDirectory() === true
}

/** A rename checks only the permissions of the folder, so those of read-only files are checked before. */
async function requireReplaceable(disk: Disk, folder: string, contents: FolderContents): Promise<void> {
  await disk.requireWritable(folder)
  for (const [inner, within] of Object.entries(contents.folders ?? {})) {
    const path = `${folder}/${inner}`
    const found = await disk.lstat(path).catch(ifMissing)
    if (found === undefined) continue
    if (!found.isDirectory()) {
      throw new CentroidalError(
        'bad-file',
        `Cannot write into ${JSON.stringify(path)}: it is a file or a symbolic link where a folder is needed; remove it.`,
      )
    }
    await requireReplaceable(disk, path, within)
  }
  for (const name of [contents.json, ...Object.keys(contents.files)]) {
    const path = `${folder}/${name}`
    const found = await disk.lstat(path).catch(ifMissing)
    if (found?.isDirectory()) {
      throw new CentroidalError('bad-file', `Cannot write ${JSON.stringify(path)}: it is a folder; remove it.`)
    }
    if (found?.isFile()) await disk.requireWritable(path)
  }
}

async function stage(
  disk: Disk,
  folder: string,
  staging: string,
  contents: FolderContents,
): Promise<{ readonly listing: Listing; readonly seal: string }> {
  const path = `${folder}/${staging}`
  await disk.mkdir(path)
  const obsolete = await previousFiles(disk, folder, contents)
  if (obsolete.length > 0) {
    await writeFile(disk, `${path}/${OBSOLETE}`, [new TextEncoder().encode(JSON.stringify(obsolete))])
  }
  const files: SavedFile[] = [...(contents.kept ?? [])]
  for (const [inner, within] of Object.entries(contents.folders ?? {})) {
    await disk.mkdir(`${path}/${inner}`)
    // Its JSON file comes first, so that it is the first to be moved: the inner folder has a switch of its own.
    const listed = await stageFiles(disk, folder, staging, within, inner)
    files.push(listed.json, ...listed.files)
    await disk.syncFolder(`${path}/${inner}`)
  }
  const listed = await stageFiles(disk, folder, staging, contents, undefined, files)
  await disk.syncFolder(path)
  await disk.syncFolder(folder)
  return { listing: { staging, files: [...files, ...listed.files] }, seal: listed.seal }
}

async function stageFiles(
  disk: Disk,
  folder: string,
  staging: string,
  contents: FolderContents,
  inner: string | undefined,
  before: readonly SavedFile[] = [],
): Promise<{ json: SavedFile; files: readonly SavedFile[]; seal: string }> {
  const within = inner === undefined ? '' : `${inner}/`
  const write = async (name: string, parts: readonly Uint8Array[]): Promise<SavedFile> => {
    const mode = await modeOf(disk, `${folder}/${within}${name}`)
    return { name, ...(await writeFile(disk, `${folder}/${staging}/${within}${name}`, parts, mode)) }
  }
  const files: SavedFile[] = []
  for (const [name, parts] of Object.entries(contents.files)) files.push(await write(name, parts))
  const { format, version, facts } = contents
  const listing: Listing = {
    staging: inner === undefined ? staging : `../${staging}/${inner}`,
    files: [...before, ...files],
  }
  const sealed = sealedJson({ format, version, ...listing, ...facts })
  const json = await write(contents.json, [sealed])
  const named = (file: SavedFile): SavedFile => ({ ...file, name: `${within}${file.name}` })
  return { json: named(json), files: files.map(named), seal: sealOf(sealed) }
}

/** A file that is replaced keeps its permissions. A link is replaced, never followed. */
async function modeOf(disk: Disk, path: string): Promise<number | undefined> {
  const found = await disk.lstat(path).catch(ifMissing)
  return found?.isFile() ? found.mode & 0o777 : undefined
}

async function writeFile(
  disk: Disk,
  path: string,
  parts: readonly Uint8Array[],
  mode?: number,
): Promise<{ bytes: number; checksum: string }> {
  const file = await disk.open(path, 'wx', mode)
  try {
    const checksum = new Checksum()
    let bytes = 0
    for (const part of parts) {
      for (let at = 0; at < part.length; at += PIECE_BYTES) {
        const piece = part.subarray(at, at + PIECE_BYTES)
        checksum.update(piece)
        let written = 0
        while (written < piece.length) {
          written += (await file.write(piece, written, piece.length - written)).bytesWritten
        }
      }
      bytes += part.length
    }
    await file.sync()
    return { bytes, checksum: checksum.digest() }
  } finally {
    await file.close()
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | undefined)?.code
}

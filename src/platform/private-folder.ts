/**
 * Program files unpacked from an archive, in a folder that only this user can change.
 *
 * A library that is loaded from a folder runs with the rights of whoever can write there. So the folder lies in the user's
 * own cache, and before it is used every folder and file is checked: owner, permissions, no symbolic links, and the SHA-256
 * of the contents. As no other user can write there, the checked files are those that are loaded afterwards.
 */
import { createHash, type Hash } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'

export interface PackedFile {
  /** Relative to the folder, with slashes. */
  readonly name: string
  readonly bytes: Uint8Array
}

const WRITABLE_BY_OTHERS = 0o022
const STICKY = 0o1000
const READ_BYTES = 1 << 20
/** A folder with the wrong contents stays where it is and the next name is tried; removing it could race with others. */
const NAMES_TRIED = 4

/** One SHA-256 for the names and contents of all files. */
export function digestOf(files: readonly PackedFile[]): string {
  return digestOfHashes(files.map(({ name, bytes }) => [name, createHash('sha256').update(bytes).digest('hex')]))
}

/**
 * A folder that holds exactly the files with this digest: found in the user's cache, or unpacked there. Without a cache
 * folder that is safe to use, a temporary one for this process, removed when it exits. Throws if there is neither.
 */
export function privateFolder(label: string, digest: string, unpack: () => readonly PackedFile[]): string {
  const files = (): readonly PackedFile[] => checkedFiles(unpack, digest)
  const places = {
    'cache folder': () => cachedFolder(userCache(), `${label}-${digest.slice(0, 16)}`, digest, files),
    'temporary folder': () => temporaryFolder(label, digest, files),
  }
  const reasons: string[] = []
  for (const [what, place] of Object.entries(places)) {
    try {
      return place()
    } catch (error) {
      if (error instanceof ArchiveError) throw error
      reasons.push(`${what}: ${(error as Error).message}`)
    }
  }
  throw new Error(`${reasons.join('; ')}; set XDG_CACHE_HOME to a folder that only this user can write to`)
}

/** A small file of this library in the user's cache; undefined if there is none that only this user could have written. */
export function readPrivateFile(name: string): string | undefined {
  const file = openOurs(join(userCache(), name))
  if (file === undefined) return undefined
  try {
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/** Replaces it. Another process sees the old text or the new one, never a part. */
export function writePrivateFile(name: string, text: string): void {
  const cache = userCache()
  const staging = mkdtempSync(join(cache, '.writing-'))
  try {
    writeFileSync(join(staging, name), text, { mode: 0o600, flag: 'wx' })
    renameSync(join(staging, name), join(cache, name))
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

/** The archive is at fault; another folder would not help. */
class ArchiveError extends Error {}

function checkedFiles(unpack: () => readonly PackedFile[], digest: string): readonly PackedFile[] {
  let files: readonly PackedFile[]
  try {
    files = unpack()
  } catch (error) {
    throw new ArchiveError(`the archive is damaged: ${(error as Error).message}`)
  }
  const found = digestOf(files)
  if (found !== digest) throw new ArchiveError(`the files in the archive have the digest ${found}, expected ${digest}`)
  return files
}

/** The folder of this library in the user's cache, created if needed. */
function userCache(): string {
  const configured = process.env.XDG_CACHE_HOME
  // The specification says that relative paths are ignored. homedir() throws for a user id without a passwd entry.
  const base = configured && isAbsolute(configured) ? configured : join(homedir(), '.cache')
  if (!isAbsolute(base)) throw new Error('there is no home folder')
  mkdirSync(base, { recursive: true, mode: 0o700 })
  const folder = join(realpathSync(base), 'centroidal')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  requireSafePath(folder)
  return folder
}

function cachedFolder(cache: string, name: string, digest: string, unpack: () => readonly PackedFile[]): string {
  for (let tried = 0; tried < NAMES_TRIED; tried++) {
    const folder = join(cache, tried === 0 ? name : `${name}-${tried}`)
    if (!exists(folder)) {
      const staging = mkdtempSync(join(cache, '.unpacking-'))
      try {
        writeFiles(staging, unpack())
        // Atomic: another process never sees only some of the files.
        renameSync(staging, folder)
      } catch (error) {
        rmSync(staging, { recursive: true, force: true })
        // Another process may have been first; its folder is as good if its contents are.
        if (!exists(folder)) throw error
      }
    }
    if (digestOfFolder(folder) === digest) return folder
  }
  throw new Error(
    `the files in ${JSON.stringify(join(cache, name))} were changed after they were unpacked; remove the folder`,
  )
}

function temporaryFolder(label: string, digest: string, unpack: () => readonly PackedFile[]): string {
  // mkdtemp gives the mode 0700.
  const folder = mkdtempSync(join(realpathSync(tmpdir()), `${label}-`))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    requireSafePath(folder)
    writeFiles(folder, unpack())
    if (digestOfFolder(folder) !== digest) throw new Error(`the files in ${JSON.stringify(folder)} were changed`)
  } catch (error) {
    remove()
    throw error
  }
  process.once('exit', remove)
  return folder
}

function writeFiles(folder: string, files: readonly PackedFile[]): void {
  for (const { name, bytes } of files) {
    if (isAbsolute(name) || name.split('/').includes('..')) {
      throw new Error(`the archive has a file outside its own folder: ${JSON.stringify(name)}`)
    }
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, bytes, { mode: 0o700, flag: 'wx' })
  }
}

/** Undefined if a file or folder could have been written by others, or is not a plain file or folder. */
function digestOfFolder(root: string): string | undefined {
  const hashes: [string, string][] = []
  const visit = (folder: string, prefix: string): boolean => {
    if (!isOurs(lstatSync(folder), 'folder')) return false
    return readdirSync(folder, { withFileTypes: true }).every((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return visit(path, `${prefix}${entry.name}/`)
      const hash = hashOfFile(path)
      if (hash !== undefined) hashes.push([prefix + entry.name, hash])
      return hash !== undefined
    })
  }
  return visit(root, '') ? digestOfHashes(hashes) : undefined
}

function hashOfFile(path: string): string | undefined {
  const file = openOurs(path)
  if (file === undefined) return undefined
  try {
    return hashOfOpenFile(file, createHash('sha256'))
  } finally {
    closeSync(file)
  }
}

/** Undefined if there is no such file, or if others could have written it. */
function openOurs(path: string): number | undefined {
  // The flags keep a link from being followed and a pipe from blocking; the checks are made on the open file.
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
  if (isOurs(fstatSync(file), 'file')) return file
  closeSync(file)
  return undefined
}

function hashOfOpenFile(file: number, hash: Hash): string {
  const piece = new Uint8Array(READ_BYTES)
  for (let length = readSync(file, piece); length > 0; length = readSync(file, piece)) {
    hash.update(piece.subarray(0, length))
  }
  return hash.digest('hex')
}

function digestOfHashes(hashes: readonly (readonly [name: string, hash: string])[]): string {
  const lines = hashes.map(([name, hash]) => `${hash} ${name}\n`)
  return createHash('sha256').update(lines.sort().join('')).digest('hex')
}

function isOurs(found: Stats, kind: 'file' | 'folder'): boolean {
  const right = kind === 'file' ? found.isFile() : found.isDirectory()
  return right && found.uid === process.geteuid?.() && (found.mode & WRITABLE_BY_OTHERS) === 0
}

/**
 * The folder belongs to this user, and no other user can replace it or one of its parent folders. A sticky folder such as
 * /tmp is fine above: others cannot rename what is not theirs.
 */
function requireSafePath(folder: string): void {
  if (!isOurs(lstatSync(folder), 'folder')) {
    throw new Error(`${JSON.stringify(folder)} is not a folder that only this user can write to`)
  }
  // The owner of / can replace anything, this program included. In containers that is not always user 0.
  const trusted = [0, process.geteuid?.(), statSync('/').uid]
  for (let above = dirname(folder); ; above = dirname(above)) {
    const { uid, mode } = lstatSync(above)
    if (!trusted.includes(uid) || ((mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0)) {
      throw new Error(
        `other users can replace ${JSON.stringify(folder)}, as they can write to ${JSON.stringify(above)}`,
      )
    }
    if (above === dirname(above)) return
  }
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Files on disk as bytes to read and write, with errors that say what to do instead of an errno. */
import { createHash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ByteSink, ByteSource } from '../core/bytes.ts'
import { CentroidalError } from '../core/errors.ts'
import { disk } from './disk.ts'

/** A single read or write system call moves less than 2 GiB. */
const LARGEST_TRANSFER = 1 << 30

/** Files without a size, such as those in /proc, are read whole. */
const LARGEST_UNSIZED = 1 << 26

export async function openFile(path: string | URL): Promise<ByteSource> {
  const name = pathOf(path)
  try {
    // Opening a pipe would otherwise wait until somebody writes to it. Windows has no such flag.
    const file = await disk.open(name, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      const found = await file.stat()
      if (found.isDirectory()) throw withCode('EISDIR')
      if (!found.isFile()) throw notRegular(name)
      return found.size === 0 ? await unsizedSource(file, name) : fileSource(file, name, found.size)
    } catch (error) {
      await file.close()
      throw error
    }
  } catch (error) {
    throw explain(error, 'read', name)
  }
}

/** An empty file, or one that the system makes up while it is read. */
async function unsizedSource(file: FileHandle, name: string): Promise<ByteSource> {
  const bytes = new Uint8Array(await readToEnd(file, name))
  await file.close()
  return {
    name,
    size: bytes.length,
    async read(start, end) {
      if (end > bytes.length) throw endsAt(name, bytes.length, end)
      return bytes.slice(start, end)
    },
    async close() {},
  }
}

async function readToEnd(file: FileHandle, name: string): Promise<Buffer> {
  const pieces: Buffer[] = []
  let length = 0
  for (;;) {
    const piece = Buffer.alloc(1 << 16)
    const { bytesRead } = await file.read(piece, 0, piece.length, length)
    if (bytesRead === 0) return Buffer.concat(pieces)
    pieces.push(piece.subarray(0, bytesRead))
    length += bytesRead
    if (length > LARGEST_UNSIZED) {
      throw new CentroidalError(
        'bad-file',
        `${JSON.stringify(name)} has an unknown size and more than ${LARGEST_UNSIZED} bytes: copy it to a file first.`,
      )
    }
  }
}

function endsAt(name: string, at: number, end: number): CentroidalError {
  return new CentroidalError(
    'bad-file',
    `${JSON.stringify(name)} ends at byte ${at}: bytes up to ${end} were expected.`,
  )
}

function fileSource(file: FileHandle, name: string, size: number): ByteSource {
  let open = true
  const readInto = async (start: number, bytes: Uint8Array): Promise<void> => {
    const end = start + bytes.length
    if (end > size) throw endsAt(name, size, end)
    try {
      let filled = 0
      while (filled < bytes.length) {
        const length = Math.min(bytes.length - filled, LARGEST_TRANSFER)
        const { bytesRead } = await file.read(bytes, filled, length, start + filled)
        // Only a file that was cut while it was being read gets here.
        if (bytesRead === 0) throw endsAt(name, start + filled, end)
        filled += bytesRead
      }
    } catch (error) {
      throw explain(error, 'read', name)
    }
  }
  return {
    name,
    path: name,
    size,
    async read(start, end) {
      // A damaged file may declare more bytes than fit in memory.
      if (end > size) throw endsAt(name, size, end)
      const bytes = new Uint8Array(end - start)
      await readInto(start, bytes)
      return bytes
    },
    readInto,
    async close() {
      if (!open) return
      open = false
      await file.close()
    },
  }
}

/**
 * The bytes go to a temporary name beside the target and take its place on close(), so that a run that
 * fails half-way never leaves a half-written file under the final name.
 */
export async function createFile(path: string | URL): Promise<ByteSink> {
  const name = pathOf(path)
  try {
    const existing = await disk.stat(name).catch(() => undefined)
    if (existing?.isDirectory()) throw withCode('EISDIR')
    // Renaming over /dev/null or a pipe would replace the device by a file: those are written directly.
    if (existing?.isFIFO()) return directSink(await openPipe(name), name)
    if (existing && !existing.isFile()) return directSink(await disk.open(name, 'w'), name)
    // rename() checks only the permissions of the folder, so those of a read-only file are checked separately.
    if (existing) await (await disk.open(name, 'r+')).close()
    // A symbolic link stays a link: what it points to is replaced.
    const target = existing ? await disk.realpath(name) : name
    const temporary = await temporaryName(target)
    const file = await disk.open(temporary, 'wx', existing && existing.mode & 0o777)
    return replacingSink(file, name, temporary, target)
  } catch (error) {
    throw explain(error, 'write', name)
  }
}

/** A new temporary name beside the target, with the process id in it. Leftovers of killed processes for the same target are removed. */
async function temporaryName(target: string): Promise<string> {
  const { pid, host } = await disk.self()
  const owner = createHash('sha256').update(host).digest('hex').slice(0, 8)
  const prefix = `${basename(target)}.${owner}-`
  for (const name of await disk.readdir(dirname(target)).catch(() => [])) {
    if (!name.startsWith(prefix) || !name.endsWith('.partial')) continue
    const other = Number.parseInt(name.slice(prefix.length), 10)
    if (Number.isInteger(other) && !(await disk.isRunning(other))) {
      await disk.unlink(join(dirname(target), name)).catch(() => {})
    }
  }
  return join(dirname(target), `${prefix}${pid}-${randomUUID().slice(0, 8)}.partial`)
}

/** Opening a pipe for writing waits, perhaps for ever, until somebody reads from it; without waiting it fails instead. */
async function openPipe(name: string): Promise<FileHandle> {
  let attempt: FileHandle
  try {
    attempt = await disk.open(name, constants.O_WRONLY | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    if ((error as NodeJS.ErrnoException)?.code !== 'ENXIO') throw error
    throw new CentroidalError(
      'bad-file',
      `Cannot write ${JSON.stringify(name)}: it is a pipe and no program reads from it; start the reader first, or name a file.`,
      { cause: error },
    )
  }
  // The first handle would fail when the pipe is full. It stays open until the second is, or the reader would see an end.
  try {
    return await disk.open(name, 'w')
  } finally {
    await attempt.close()
  }
}

function replacingSink(file: FileHandle, name: string, temporary: string, target: string): ByteSink {
  let open = true
  const abort = async (): Promise<void> => {
    if (!open) return
    open = false
    await file.close().catch(() => {})
    await disk.unlink(temporary).catch(() => {})
  }
  return {
    name,
    write: (bytes) => writeAll(file, bytes, name),
    async close() {
      if (!open) return
      try {
        // Without this a power cut after the rename could leave an empty file under the final name.
        await file.datasync()
        await file.close()
        await disk.rename(temporary, target)
        open = false
        await disk.syncFolder(dirname(target))
      } catch (error) {
        await abort()
        throw explain(error, 'write', name)
      }
    },
    abort,
  }
}

function directSink(file: FileHandle, name: string): ByteSink {
  let open = true
  const close = async (): Promise<void> => {
    if (!open) return
    open = false
    await file.close()
  }
  return { name, write: (bytes) => writeAll(file, bytes, name), close, abort: close }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, name: string): Promise<void> {
  try {
    let written = 0
    while (written < bytes.length) {
      const length = Math.min(bytes.length - written, LARGEST_TRANSFER)
      written += (await file.write(bytes, written, length)).bytesWritten
    }
  } catch (error) {
    throw explain(error, 'write', name)
  }
}

function pathOf(path: string | URL): string {
  if (typeof path === 'string') return path
  if (path.protocol === 'file:') return fileURLToPath(path)
  throw new CentroidalError(
    'bad-file',
    `${JSON.stringify(path.href)} is not a file on this machine: give a path or a file: URL.`,
  )
}

function withCode(code: string): Error {
  return Object.assign(new Error(code), { code })
}

function notRegular(name: string): CentroidalError {
  return new CentroidalError(
    'bad-file',
    `${JSON.stringify(name)} is a device, a pipe or a socket, which cannot be read in parts: save its contents to a file first.`,
  )
}

export function explain(error: unknown, action: 'read' | 'write', name: string): CentroidalError {
  if (error instanceof CentroidalError) return error
  const code = (error as NodeJS.ErrnoException)?.code
  const reason = reasonFor(code, action, name) ?? (error instanceof Error ? error.message : String(error))
  const kind = error instanceof RangeError ? 'out-of-memory' : 'bad-file'
  return new CentroidalError(kind, `Cannot ${action} ${JSON.stringify(name)}: ${reason}`, { cause: error })
}

function reasonFor(code: string | undefined, action: 'read' | 'write', name: string): string | undefined {
  const folder = JSON.stringify(dirname(resolve(name)))
  switch (code) {
    case 'ENOENT':
      return action === 'read'
        ? `there is no such file (looked for ${JSON.stringify(resolve(name))}); check the path.`
        : `there is no folder ${folder}; create it first.`
    case 'EACCES':
    case 'EPERM':
      return action === 'read'
        ? 'permission denied; make the file readable for this user.'
        : 'permission denied; make the file and its folder writable for this user, or write elsewhere.'
    case 'EISDIR':
      return action === 'read'
        ? 'it is a folder; name a file in it.'
        : 'it is a folder; add a file name, such as labels.npy.'
    case 'ENOTDIR':
      return 'a part of the path is a file, not a folder; check the path.'
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full; free some space or write elsewhere.'
    case 'EROFS':
      return 'the file system is read-only; write elsewhere.'
    case 'EMFILE':
    case 'ENFILE':
      return 'too many files are open; close some, or raise the limit with ulimit -n.'
    case 'ENAMETOOLONG':
      return 'the name is too long; choose a shorter one.'
    case 'ENXIO':
      return 'it is a socket or a device that is not there; name a file.'
    case 'EAGAIN':
      return 'it has nothing to read at the moment; save its contents to a file first.'
    case 'ELOOP':
      return 'its symbolic links go in a circle; check the path.'
    default:
      return undefined
  }
}

/**
 * The file operations of Node that reading and saving are made of, in one object: tests put another in its place to
 * make every single operation fail, or to end the process after it.
 */
import type { Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import * as fs from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, relative, resolve, sep } from 'node:path'
import { threadId } from 'node:worker_threads'
import type { Disk } from './contract.ts'

/** Other operations used by node-files.ts. */
export interface NodeDisk extends Disk {
  open(path: string, flags: string | number, mode?: number): Promise<FileHandle>
  stat(path: string): Promise<Stats>
}

export const disk: NodeDisk = {
  open: (path, flags, mode) => fs.open(path, flags, mode),
  parentOf: dirname,
  lstat: (path) => fs.lstat(path),
  stat: (path) => fs.stat(path),
  realpath: (path) => fs.realpath(path),
  within: (folder, path) => resolve(folder, path),
  relative: (folder, path) => relative(folder, path).split(sep).join('/'),
  read: (path) => fs.readFile(path),
  readdir: (path) => fs.readdir(path),
  mkdir: async (path) => {
    await fs.mkdir(path)
  },
  rmdir: (path) => fs.rmdir(path),
  rename: (from, to) => fs.rename(from, to),
  unlink: (path) => fs.unlink(path),
  requireWritable: (path) => fs.access(path, fs.constants.W_OK),
  syncFolder,
  touch: (path) => {
    const now = new Date()
    return fs.utimes(path, now, now)
  },
  self,
  isRunning,
}

/** Without this a power cut can undo a rename. */
async function syncFolder(path: string): Promise<void> {
  const folder = await fs.open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    // Windows does not open folders.
    if (error.code === 'EISDIR' || error.code === 'EPERM' || error.code === 'EACCES') return undefined
    throw error
  })
  try {
    await folder?.sync()
  } catch (error) {
    // Some file systems do not sync folders.
    if (!['EINVAL', 'ENOTSUP', 'EPERM', 'EBADF'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  } finally {
    await folder?.close()
  }
}

async function self(): Promise<{ readonly pid: number; readonly thread: number; readonly host: string }> {
  // Containers may share a folder and a host name, but not their process ids.
  const space = await fs.readlink('/proc/self/ns/pid').catch(() => '')
  return { pid: process.pid, thread: threadId, host: `${hostname()} ${space}`.trim() }
}

async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
  // A process that was killed stays in the table until its parent has looked.
  const status = await fs.readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return !/^\d+ \(.*\) [ZX] /s.test(status)
}

/** The folder a run is written to: tried before the long work, made when there is something to put in. */
import { mkdir, rm, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { CentroidalError, type SaveOptions } from '../index.ts'
import { replaceFile } from './replace-file.ts'
import { temporaryBeside } from './temporary.ts'

/** A model or a quantizer. */
interface Saveable {
  save(folder: string, options: SaveOptions): Promise<void>
}

export class OutFolder {
  /** As it was typed. */
  readonly path: string
  #saved = false

  /** Finds out whether files can be written there, and leaves everything as it was. */
  static async claim(path: string): Promise<OutFolder> {
    try {
      await tryFolder(resolve(path))
    } catch (error) {
      throw cannotWrite(path, error)
    }
    return new OutFolder(path)
  }

  private constructor(path: string) {
    this.path = path
  }

  /** True once there is a whole model in it. */
  get saved(): boolean {
    return this.#saved
  }

  /** Saves a model together with the texts that belong to it: readers find all of it, or all of what was there before. */
  async save(model: Saveable, files: Readonly<Record<string, string>> = {}): Promise<void> {
    await model.save(this.path, { files })
    this.#saved = true
  }

  async saveText(name: string, text: string): Promise<void> {
    try {
      await mkdir(this.path, { recursive: true })
      await replaceFile(join(this.path, name), text)
    } catch (error) {
      throw cannotWrite(join(this.path, name), error)
    }
  }
}

/**
 * Does not make the folder itself: another process may be about to use it when this one removes it again. What is
 * missing of the path is made inside a folder of a name that no other process has.
 */
async function tryFolder(folder: string): Promise<void> {
  const there = await innermost(folder)
  const probe = await temporaryBeside(join(there, 'folder'))
  await mkdir(probe)
  try {
    await mkdir(join(probe, relative(there, folder)), { recursive: true })
  } finally {
    await rm(probe, { recursive: true, force: true })
  }
}

/** The part of the path that is there. */
async function innermost(folder: string): Promise<string> {
  for (let path = folder; ; path = dirname(path)) {
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (found?.isDirectory()) return path
    if (found) throw Object.assign(new Error('not a folder'), { code: path === folder ? 'EEXIST' : 'ENOTDIR' })
  }
}

export function cannotWrite(path: string, error: unknown): CentroidalError {
  const { code, message } = error as NodeJS.ErrnoException
  const reasons: Record<string, string> = {
    ENOTDIR: 'a part of the path is a file, not a folder; choose another folder.',
    EEXIST: 'it is a file; name a folder.',
    EACCES: 'permission denied; choose a folder with write permission.',
    EPERM: 'permission denied; choose a folder with write permission.',
    EROFS: 'the file system is read-only; choose a folder elsewhere.',
    ENOSPC: 'the disk is full; free some space, or choose a folder elsewhere.',
    ENOENT: 'the folder cannot be created; choose another one.',
    ENAMETOOLONG: 'the name is too long; choose a shorter one.',
  }
  const reason = reasons[code ?? ''] ?? `${message}.`
  return new CentroidalError('bad-file', `Cannot write to ${JSON.stringify(path)}: ${reason}`, { cause: error })
}

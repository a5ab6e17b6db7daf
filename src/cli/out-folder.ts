/** The folder a run is written to: tried before the long work, made when there is something to put in. */
import { mkdir, mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CentroidalError, type ClusterModel } from '../index.ts'

const ARRAYS = ['centers', 'labels', 'frame-centers', 'tree', 'weights', 'sigmas']
const OWN_FILES = [...ARRAYS.map((name) => `${name}.npy`), 'model.json', 'run.json', 'report.html']

export class OutFolder {
  /** As it was typed. */
  readonly path: string
  /** The outermost folder that was not there before, if any. */
  readonly #created: string | undefined
  #saved = false

  /** Finds out whether files can be written there, and leaves everything as it was. */
  static async claim(path: string): Promise<OutFolder> {
    const folder = resolve(path)
    let created: string | undefined
    try {
      created = await mkdir(folder, { recursive: true })
      await rmdir(await mkdtemp(join(folder, '.centroidal-')))
    } catch (error) {
      throw cannotWrite(path, error)
    } finally {
      if (created !== undefined) await removeEmpty(folder, created)
    }
    return new OutFolder(path, created)
  }

  private constructor(path: string, created: string | undefined) {
    this.path = path
    this.#created = created
  }

  /** True once there is a whole model in it. */
  get saved(): boolean {
    return this.#saved
  }

  async saveModel(model: ClusterModel): Promise<void> {
    try {
      await model.save(this.path)
      this.#saved = true
    } catch (error) {
      if (!this.#saved) await this.#discard()
      throw error
    }
  }

  async saveText(name: string, text: string): Promise<void> {
    try {
      await writeFile(join(this.path, name), text)
    } catch (error) {
      throw cannotWrite(join(this.path, name), error)
    }
  }

  /** Takes back what a failed save left in a folder that was not there before. Never touches anything else. */
  async #discard(): Promise<void> {
    if (this.#created === undefined) return
    for (const name of OWN_FILES) await rm(join(this.path, name), { force: true })
    await removeEmpty(resolve(this.path), this.#created)
  }
}

/** From the innermost folder outwards; a folder that somebody else put something into stays. */
async function removeEmpty(innermost: string, outermost: string): Promise<void> {
  for (let folder = innermost; folder.length >= outermost.length; folder = dirname(folder)) {
    try {
      await rmdir(folder)
    } catch {
      return
    }
  }
}

export function cannotWrite(path: string, error: unknown): CentroidalError {
  const { code, message } = error as NodeJS.ErrnoException
  const reasons: Record<string, string> = {
    ENOTDIR: 'a part of the path is a file, not a folder; name another folder.',
    EEXIST: 'it is a file; name a folder.',
    EACCES: 'permission denied; name a folder that this user may write to.',
    EPERM: 'permission denied; name a folder that this user may write to.',
    EROFS: 'the file system is read-only; name a folder elsewhere.',
    ENOSPC: 'the disk is full; free some space or name a folder elsewhere.',
    ENOENT: 'such a folder cannot be made there; name another one.',
    ENAMETOOLONG: 'the name is too long; choose a shorter one.',
  }
  const reason = reasons[code ?? ''] ?? `${message}.`
  return new CentroidalError('bad-file', `Cannot write to ${JSON.stringify(path)}: ${reason}`, { cause: error })
}

/**
 * Temporary files for what does not fit in memory. A file is removed from its folder as soon as it is open: the system then
 * frees its room when the process ends, whatever ends it. Where that is not possible the file is removed when it is closed.
 * A process that is killed in between leaves a file, which the next one removes.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ScratchFile } from '../core/bytes.ts'
import { disk } from './disk.ts'
import { explain } from './node-files.ts'

const SUFFIX = '.scratch'

export async function createScratch(folder = tmpdir()): Promise<ScratchFile> {
  const { pid, host } = await disk.self()
  // Process ids of another machine or container mean nothing here.
  const prefix = `.centroidal-${createHash('sha256').update(host).digest('hex').slice(0, 8)}-`
  try {
    await removeLeftovers(folder, prefix)
    const path = join(folder, `${prefix}${pid}-${randomUUID().slice(0, 12)}${SUFFIX}`)
    // Others must not read the vectors' clusters.
    const file = await disk.open(path, 'wx+', 0o600)
    const removed = await disk.unlink(path).then(
      () => true,
      () => false,
    )
    return new OpenScratch(file, path, removed)
  } catch (error) {
    throw explain(error, 'write', folder)
  }
}

/** Files of processes that are gone. */
async function removeLeftovers(folder: string, prefix: string): Promise<void> {
  for (const name of await disk.readdir(folder)) {
    if (!name.startsWith(prefix) || !name.endsWith(SUFFIX)) continue
    const owner = Number.parseInt(name.slice(prefix.length), 10)
    if (Number.isInteger(owner) && !(await disk.isRunning(owner))) await disk.unlink(join(folder, name)).catch(() => {})
  }
}

class OpenScratch implements ScratchFile {
  readonly #file: FileHandle
  readonly #path: string
  readonly #removed: boolean
  #closed = false

  constructor(file: FileHandle, path: string, removed: boolean) {
    this.#file = file
    this.#path = path
    this.#removed = removed
  }

  async write(bytes: Uint8Array, at: number): Promise<void> {
    try {
      for (let done = 0; done < bytes.length; ) {
        done += (await this.#file.write(bytes, done, bytes.length - done, at + done)).bytesWritten
      }
    } catch (error) {
      throw explain(error, 'write', this.#path)
    }
  }

  async read(bytes: Uint8Array, at: number): Promise<void> {
    try {
      for (let done = 0; done < bytes.length; ) {
        const { bytesRead } = await this.#file.read(bytes, done, bytes.length - done, at + done)
        if (bytesRead === 0) throw new Error(`it ends at byte ${at + done}; run again.`)
        done += bytesRead
      }
    } catch (error) {
      throw explain(error, 'read', this.#path)
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#file.close().catch(() => {})
    if (!this.#removed) await disk.unlink(this.#path).catch(() => {})
  }
}

/** Names of temporary files and folders of the command line, and the removal of those that killed processes left. */
import { createHash, randomBytes } from 'node:crypto'
import { readdir, readlink, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'

/**
 * A new name beside the path. It is random, so that other users cannot create a link with this name, and contains the
 * process it belongs to. Leftovers of processes that are gone are removed from the same folder.
 */
export async function temporaryBeside(path: string): Promise<string> {
  const folder = dirname(path)
  const prefix = `.centroidal-${await machine()}-`
  // Library functions that write to such a name add a prefix and a suffix of their own.
  const pattern = new RegExp(`^\\.*${prefix.replaceAll('.', '\\.')}(\\d+)-[0-9a-f]{12}`)
  for (const name of await readdir(folder).catch(() => [])) {
    const owner = pattern.exec(name)
    if (owner && !isRunning(Number(owner[1]))) {
      await rm(join(folder, name), { recursive: true, force: true }).catch(() => {})
    }
  }
  return join(folder, `${prefix}${process.pid}-${randomBytes(6).toString('hex')}-${basename(path)}`)
}

/** Identifies this machine or container: process ids of another one must not be looked up here. */
async function machine(): Promise<string> {
  const space = await readlink('/proc/self/ns/pid').catch(() => '')
  return createHash('sha256').update(`${hostname()} ${space}`).digest('hex').slice(0, 8)
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

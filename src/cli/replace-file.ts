/** A text file that replaces another one atomically. */
import { lstat, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { temporaryBeside } from './temporary.ts'

/**
 * Readers find the old text or the new one, also after a crash. A symbolic link to a file is replaced, not followed, so
 * another user cannot redirect the output of a run. Devices and pipes are written to.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const target = await stat(path).catch(() => undefined)
  if (target && !target.isFile()) return writeFile(path, text)
  const existing = await lstat(path).catch(() => undefined)
  const temporary = await temporaryBeside(path)
  const file = await open(temporary, 'wx', existing?.isFile() ? existing.mode & 0o777 : undefined)
  try {
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

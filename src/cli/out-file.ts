/** A file that results go to, tried before the long work. */
import { rm, stat } from 'node:fs/promises'
import { CentroidalError } from '../index.ts'
import { temporaryBeside } from './temporary.ts'

/** Standard output, where a file is expected. */
export const STDOUT = '-'

/** Writes a small file next to the output file and removes it again, so that errors are found before the work. */
export async function tryFile(out: string, write: (probe: string) => Promise<void>): Promise<void> {
  // The check would succeed next to a folder of this name, but the file could not be written.
  if ((await stat(out).catch(() => undefined))?.isDirectory()) {
    throw new CentroidalError('bad-file', `Cannot write to ${JSON.stringify(out)}: it is a folder; give a file name.`)
  }
  const probe = await temporaryBeside(out)
  try {
    await write(probe)
    await rm(probe, { force: true })
  } catch (error) {
    if (!(error instanceof CentroidalError)) throw error
    const message = error.message.replaceAll(JSON.stringify(probe), JSON.stringify(out))
    throw new CentroidalError(error.code, message, { cause: error })
  }
}

/** A file that results go to, tried before the long work. */
import { rm, stat } from 'node:fs/promises'
import { CentroidalError } from '../index.ts'
import { temporaryBeside } from './temporary.ts'

/** Standard output, where a file is expected. */
export const STDOUT = '-'

/** A little of the kind is written beside the wanted file and removed again: what would fail at the end fails at once. */
export async function tryFile(out: string, write: (probe: string) => Promise<void>): Promise<void> {
  // A file beside a folder can be written, and yet not the file.
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

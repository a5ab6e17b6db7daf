/** Text files of moderate size: run.json, model.json, rankings. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { CentroidalError } from '../index.ts'

/** Node cannot hold a much longer string. */
const MOST_BYTES = 2 ** 28

/** Undefined if there is no such file. */
export async function readTextFile(path: string): Promise<string | undefined> {
  try {
    // A FIFO without a writer would block open() for ever; O_NONBLOCK does not exist on Windows.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      const stats = await file.stat()
      if (!stats.isFile()) throw new Error(stats.isDirectory() ? 'it is a folder' : 'it is not a regular file')
      if (stats.size > MOST_BYTES) throw new Error(`it is larger than ${MOST_BYTES / 2 ** 20} MB`)
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new CentroidalError('bad-file', `Cannot read ${JSON.stringify(path)}: ${message}.`, { cause: error })
  }
}

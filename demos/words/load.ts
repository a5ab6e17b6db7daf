/** Files a person gives the page, as vectors; too large or broken ones as a sentence. */
import { CentroidalError, type Matrix, matrix, openVectors, type VectorSource } from '../../src/index.ts'
import { sharedVectors } from '../engine/shared-vectors.ts'
import { plural } from '../shell/phrases.ts'
import { MOST_BYTES, MOST_ROWS, megabytes, tooLarge } from './limits.ts'

export const EXTENSIONS = ['.npy', '.fvecs', '.bvecs', '.csv', '.tsv'] as const

/** Reads all rows, after a look at how many there are. */
export async function loadVectors(file: File): Promise<Matrix> {
  if (!EXTENSIONS.some((extension) => file.name.toLowerCase().endsWith(extension))) {
    throw new CentroidalError(
      'bad-file',
      `"${file.name}" is no file of vectors that this page knows: give one that ends in ${EXTENSIONS.join(', ')}.`,
    )
  }
  if (file.size === 0) throw new CentroidalError('bad-file', `"${file.name}" is empty: save it again.`)
  // Text shrinks when it is read; a dozen characters make four bytes.
  const text = /\.[ct]sv$/i.test(file.name)
  if (file.size > MOST_BYTES * (text ? 3 : 1) + 4096) throw tooLarge(file.name, `has ${megabytes(file.size)}`)
  const source = await openVectors(file)
  try {
    checkSize(file.name, source)
    return await readShared(source)
  } finally {
    await source.close?.()
  }
}

function checkSize(name: string, { rows, cols, type }: VectorSource): void {
  if (rows < 2)
    throw new CentroidalError('bad-file', `"${name}" has ${plural(rows, 'row')}: clustering needs at least 2.`)
  const bytes = rows * cols * (type === 'u8' ? 1 : 4)
  const shape = `has ${rows.toLocaleString('en')} rows of ${cols.toLocaleString('en')} numbers, ${megabytes(bytes)}`
  if (bytes > MOST_BYTES || rows > MOST_ROWS) throw tooLarge(name, shape)
}

async function readShared(source: VectorSource): Promise<Matrix> {
  const { rows, cols } = source
  return sharedVectors(matrix(await source.read(0, rows), rows, cols))
}

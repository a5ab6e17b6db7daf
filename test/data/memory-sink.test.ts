/** Files as bytes in memory, for those who cannot write them. */
import { readFile, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { matrix } from '../../src/core/matrix.ts'
import { createRandom } from '../../src/core/random.ts'
import { sparseMatrix } from '../../src/core/sparse.ts'
import { readIntegers, readSparse, readVectors } from '../../src/data/read.ts'
import { labelBytes, vectorBytes, writeLabels, writeVectors } from '../../src/data/write.ts'
import { temporaryFolder } from './temporary-folder.ts'

const path = temporaryFolder()
const random = createRandom(8)

async function save(bytes: Uint8Array, name: string): Promise<string> {
  await writeFile(path(`again-${name}`), bytes)
  return path(`again-${name}`)
}

describe('bytes of a file', () => {
  // More than one piece of 8 MB.
  const floats = matrix(
    Float32Array.from({ length: 1_100_000 }, () => random.normal()),
    1_100,
    1_000,
  )
  const bytes = matrix(
    Uint8Array.from({ length: 60 }, () => random.below(256)),
    12,
    5,
  )

  test.each([
    ['floats.npy', floats],
    ['floats.fvecs', floats],
    ['bytes.npy', bytes],
    ['bytes.bvecs', bytes],
    ['bytes.csv', bytes],
  ])('%s: the same as the file, and read back to the same values', async (name, vectors) => {
    await writeVectors(path(name), vectors)
    const made = await vectorBytes(name, vectors)
    expect(Buffer.compare(made, await readFile(path(name)))).toBe(0)
    const read = await readVectors(await save(made, name))
    expect([read.rows, read.cols]).toEqual([vectors.rows, vectors.cols])
    expect(read.data.every((value, i) => value === vectors.data[i])).toBe(true)
  })

  test.each(['labels.npy', 'labels.ivecs', 'labels.csv'])('%s', async (name) => {
    const labels = Uint32Array.from({ length: 77 }, () => random.below(1000))
    await writeLabels(path(name), labels)
    const made = await labelBytes(name, labels)
    expect(Buffer.compare(made, await readFile(path(name)))).toBe(0)
    expect(Array.from((await readIntegers(await save(made, name))).data)).toEqual(Array.from(labels))
  })

  test('sparse rows', async () => {
    const parts = { offsets: [0, 1, 1, 3], columns: [2, 0, 3], values: [1.5, 2, -1] }
    const rows = sparseMatrix(parts, 3, 4)
    expect(await readSparse(await save(await vectorBytes('rows.npz', rows), 'rows.npz'))).toEqual(rows)
  })

  test('a name without a known extension is refused as it is for files', async () => {
    await expect(vectorBytes('vectors.bin', bytes)).rejects.toThrow(/cannot be written: the formats for vectors are/)
    await expect(labelBytes('labels.fvecs', Uint32Array.of(1))).rejects.toThrow(/the formats for labels are/)
  })
})

import { describe, expect, test } from 'vitest'
import { BufferScope } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import { createScratch } from '../../src/platform/scratch.ts'
import { readInto, Spill } from '../../src/vectors/spill.ts'
import { CLUSTERING_DEVICES } from '../clustering/devices.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'

const path = temporaryFolder()
/** Bytes of a piece, and some more. */
const SIZES = [4, 64, 2 ** 22, 2 ** 22 + 12]

describe.each(CLUSTERING_DEVICES)('on $name', ({ options }) => {
  test('buffers come back from the file as they were, several at a time too', async () => {
    const device = await openDevice(options)
    const file = await createScratch(path(''))
    const scope = new BufferScope(device)
    try {
      const spill = new Spill(file)
      const data = SIZES.map((size, number) => new Uint32Array(size / 4).map((_, i) => i * 7 + number))
      const places = SIZES.map((size) => spill.allocate(size))
      await Promise.all(data.map((words, i) => spill.save(device, scope.upload(words, 'saved'), places[i])))
      const fetched = await Promise.all(
        SIZES.map(async (size, i) => {
          const buffer = scope.allocate(size, 'fetched')
          await spill.fetch(device, buffer, places[i])
          return new Uint32Array(await device.read(buffer), 0, size / 4)
        }),
      )
      for (const [i, words] of fetched.entries()) expect(Buffer.compare(bytesOf(words), bytesOf(data[i]))).toBe(0)
    } finally {
      scope.free()
      await file.close()
      await device.close()
    }
  })

  test('a part of a buffer is read into memory of the caller', async () => {
    const device = await openDevice(options)
    try {
      const buffer = device.allocate(32, 'numbers')
      device.write(buffer, Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8))
      const into = new Uint8Array(12).fill(9)
      await readInto(device, { buffer, offset: 8, bytes: 8 }, into.subarray(0, 8))
      expect([...new Uint32Array(into.buffer)]).toEqual([3, 4, 0x09090909])
    } finally {
      await device.close()
    }
  })
})

function bytesOf(words: Uint32Array): Buffer {
  return Buffer.from(words.buffer, words.byteOffset, words.byteLength)
}

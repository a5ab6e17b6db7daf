import { describe, expect, test } from 'vitest'
import { openVecs, vecsEncoder } from '../../src/data/vecs.ts'
import { fc } from '../properties.ts'
import { failure } from './failure.ts'
import { concat, encoded, int32, memorySource } from './memory-source.ts'

const BVECS_2X3 = concat(int32(3), Uint8Array.of(1, 2, 255), int32(3), Uint8Array.of(0, 7, 8))

const values = {
  fvecs: (n: number) => fc.float32Array({ minLength: n, maxLength: n }),
  bvecs: (n: number) => fc.uint8Array({ minLength: n, maxLength: n }),
  ivecs: (n: number) => fc.int32Array({ minLength: n, maxLength: n }),
} as const

describe('round trips', () => {
  test.each(['fvecs', 'bvecs', 'ivecs'] as const)('%s gives back what was written', async (kind) => {
    const shaped = fc
      .record({ rows: fc.integer({ min: 1, max: 12 }), cols: fc.integer({ min: 1, max: 9 }), cut: fc.nat() })
      .chain(({ rows, cols, cut }) =>
        values[kind](rows * cols).map((data) => ({ rows, cols, cut: cut % (rows + 1), data })),
      )
    await fc.assert(
      fc.asyncProperty(shaped, async ({ rows, cols, cut, data }) => {
        const table = await openVecs(memorySource('x', encoded(vecsEncoder(kind, cols), data)), kind)
        expect([table.rows, table.cols]).toEqual([rows, cols])
        expect(await table.read(0, rows)).toEqual(data)
        expect(await table.read(0, cut)).toEqual(data.slice(0, cut * cols))
        expect(await table.read(cut, rows)).toEqual(data.slice(cut * cols))
      }),
    )
  })

  test('writes a dimension before every row', () => {
    expect(encoded(vecsEncoder('bvecs', 3), Uint8Array.of(1, 2, 255, 0, 7, 8))).toEqual(BVECS_2X3)
    expect(encoded(vecsEncoder('ivecs', 1), Int32Array.of(-1))).toEqual(concat(int32(1), int32(-1)))
    expect(encoded(vecsEncoder('fvecs', 1), Float32Array.of(1))).toEqual(concat(int32(1), int32(0x3f800000)))
  })
})

describe('reading in pieces', () => {
  test('bytes stay bytes, and only the rows asked for are read', async () => {
    const source = memorySource('x.bvecs', BVECS_2X3)
    const table = await openVecs(source, 'bvecs')
    expect(table.type).toBe('u8')
    const before = source.bytesRead()
    expect(await table.read(1, 2)).toEqual(Uint8Array.of(0, 7, 8))
    expect(source.bytesRead() - before).toBe(7)
  })

  test('files longer than one piece come out whole', async () => {
    const cols = 1021
    const data = Float32Array.from({ length: 5000 * cols }, (_, i) => i)
    const table = await openVecs(memorySource('x', encoded(vecsEncoder('fvecs', cols), data)), 'fvecs')
    expect(Buffer.compare(bytes(await table.read(0, 5000)), bytes(data))).toBe(0)
    expect(Buffer.compare(bytes(await table.read(7, 4999)), bytes(data.slice(7 * cols, 4999 * cols)))).toBe(0)
  })

  test('reads 130,709 x 128 bytes fast', async () => {
    const file = encoded(vecsEncoder('bvecs', 128), new Uint8Array(130_709 * 128).fill(9))
    const table = await openVecs(memorySource('x.bvecs', file), 'bvecs')
    const times: number[] = []
    for (let i = 0; i < 5; i++) {
      const start = performance.now()
      await table.read(0, table.rows)
      times.push(performance.now() - start)
    }
    // The best of five, so that other work on the machine does not fail it.
    expect(Math.min(...times)).toBeLessThan(100)
  })

  function bytes(array: ArrayBufferView): Buffer {
    return Buffer.from(array.buffer, array.byteOffset, array.byteLength)
  }
})

describe('errors', () => {
  const open = (content: Uint8Array) => () => openVecs(memorySource('a.bvecs', content), 'bvecs')

  test('an empty file', async () => {
    expect(await failure(open(new Uint8Array(0)))).toBe(
      'bad-file: "a.bvecs" ends at byte 0: expected the dimension of row 0 in bytes 0 to 3, as every bvecs file starts.',
    )
  })

  test('a dimension that cannot be', async () => {
    expect(await failure(open(concat(int32(-2), int32(0))))).toBe(
      'bad-file: "a.bvecs", byte 0: expected the dimension of row 0, a whole number above 0, found -2; is it a bvecs file?',
    )
    expect(await failure(open(int32(0)))).toContain('found 0;')
  })

  test('a file cut inside a row', async () => {
    expect(await failure(open(BVECS_2X3.slice(0, 12)))).toBe(
      'bad-file: "a.bvecs" ends inside row 1: the row starts at byte 7 and takes 7 bytes (dimension 3), the file ends at byte 12. It was cut: copy it again.',
    )
    expect(await failure(open(BVECS_2X3.slice(0, 9)))).toContain('the file ends at byte 9. It was cut')
  })

  test('a first row longer than the file', async () => {
    expect(await failure(open(new TextEncoder().encode('hello world')))).toBe(
      'bad-file: "a.bvecs" ends inside row 0: the row starts at byte 0 and takes 1819043180 bytes (dimension 1819043176), the file ends at byte 11. Either it was cut, or it is not a bvecs file.',
    )
  })

  test('a dimension that changes, whether or not the size gives it away', async () => {
    const sentence = 'bad-file: "a.bvecs", byte 7: expected dimension 3 for row 1, as in row 0, found 2.'
    const shorter = concat(BVECS_2X3.slice(0, 7), int32(2), Uint8Array.of(1, 2))
    expect(await failure(open(shorter))).toBe(sentence)
    const sameSize = concat(BVECS_2X3.slice(0, 7), int32(2), Uint8Array.of(1, 2, 3))
    const table = await open(sameSize)()
    expect(await failure(() => table.read(0, 2))).toBe(sentence)
    expect(await table.read(0, 1)).toEqual(Uint8Array.of(1, 2, 255))
  })

  test('a change in a later piece names the byte in the file', async () => {
    const file = encoded(vecsEncoder('bvecs', 1020), new Uint8Array(10_000 * 1020))
    file[9_999 * 1024] = 7
    const table = await open(file)()
    expect(await failure(() => table.read(5, 10_000))).toContain(`byte ${9_999 * 1024}: expected dimension 1020`)
  })

  test('rows that are not there', async () => {
    const table = await open(BVECS_2X3)()
    expect(await failure(() => table.read(1, 3))).toBe(
      'bad-option: Rows 1 to 3 of "a.bvecs" cannot be read: it has 2 rows, counted from 0.',
    )
    for (const [start, end] of [
      [-1, 1],
      [2, 1],
      [0.5, 1],
      [0, Number.NaN],
    ]) {
      expect(await failure(() => table.read(start, end))).toContain('bad-option')
    }
  })
})

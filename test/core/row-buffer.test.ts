import { describe, expect, test } from 'vitest'
import { chunks, wideChunks } from '../../src/core/chunks.ts'
import { type ElementType, matrix, toSource, type VectorSource } from '../../src/core/matrix.ts'
import { RowBuffer } from '../../src/core/row-buffer.ts'
import { joinSources } from '../../src/data/joined.ts'

const COLS = 3

/** Rows of numbers that rise, with or without `readInto`. */
function rising(rows: number, type: ElementType, into: boolean): VectorSource {
  const value = (at: number): number => at % 251
  const fill = (start: number, data: Uint8Array | Float32Array) => data.map((_, i) => value(start * COLS + i))
  const array = (length: number) => (type === 'u8' ? new Uint8Array(length) : new Float32Array(length))
  return {
    ...{ rows, cols: COLS, type, name: 'rising' },
    read: async (start, end) => fill(start, array((end - start) * COLS)),
    ...(into
      ? {
          readInto: async (start, data) => {
            data.set(fill(start, data))
          },
        }
      : {}),
  }
}

describe('rows read into memory that is used again', () => {
  test.each(['f32', 'u8'] as const)('%s are those that are read otherwise', async (type) => {
    const buffer = new RowBuffer(rising(40, type, true))
    for (const [start, end] of [
      [0, 7],
      [30, 40],
      [5, 6],
      [3, 3],
    ]) {
      expect(await buffer.read(start, end)).toEqual(await rising(40, type, false).read(start, end))
    }
  })

  test('no memory is allocated for as many rows again', async () => {
    const buffer = new RowBuffer(rising(40, 'f32', true))
    const first = await buffer.read(0, 20)
    expect((await buffer.read(20, 40)).buffer).toBe(first.buffer)
    expect((await buffer.read(3, 5)).buffer).toBe(first.buffer)
    const plain = new RowBuffer(rising(40, 'f32', false))
    expect((await plain.read(0, 20)).buffer).not.toBe((await plain.read(0, 20)).buffer)
  })

  test('sources of 64 bits are read with all their digits', async () => {
    const wide = { ...rising(4, 'f32', true), read64: async () => Float64Array.of(1 + 2 ** -40, 2, 3) }
    expect(await new RowBuffer(wide).read(0, 1)).toEqual(Float64Array.of(1 + 2 ** -40, 2, 3))
  })

  test('pieces of a source follow each other', async () => {
    const source = rising(20, 'u8', true)
    const all = await rising(20, 'u8', false).read(0, 20)
    for (const pieces of [chunks, wideChunks]) {
      for await (const { first, data } of pieces(source)) {
        expect([...data]).toEqual([...all.subarray(first * COLS, first * COLS + data.length)])
      }
    }
  })

  test('several files are read into it as one', async () => {
    const files = [rising(5, 'f32', true), rising(1, 'f32', true), rising(6, 'f32', true)]
    const joined = joinSources(files)
    const plain = joinSources(files.map(({ readInto: _, ...file }) => file))
    expect(plain.readInto).toBeUndefined()
    const buffer = new RowBuffer(joined)
    for (const [start, end] of [
      [0, 12],
      [4, 7],
      [6, 8],
    ]) {
      expect(await buffer.read(start, end)).toEqual(await plain.read(start, end))
    }
    expect(joinSources([rising(5, 'f32', true), rising(5, 'u8', true)]).readInto).toBeUndefined()
  })

  test('a source of the caller is read into it too; its errors are named', async () => {
    expect(await new RowBuffer(toSource(rising(9, 'u8', true))).read(1, 9)).toEqual(
      await rising(9, 'u8', false).read(1, 9),
    )
    const failing = {
      ...rising(9, 'u8', true),
      readInto: async () => {
        throw new Error('gone')
      },
    }
    await expect(new RowBuffer(toSource(failing)).read(1, 9)).rejects.toThrow('Reading rows 1 to 9 of rising failed')
    expect(() => toSource({ ...rising(9, 'u8', true), readInto: 5 } as never)).toThrow('Method readInto of rising is 5')
    expect(toSource(matrix(Uint8Array.of(1), 1, 1)).readInto).toBeUndefined()
  })
})

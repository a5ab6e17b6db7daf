import { describe, expect, test } from 'vitest'
import type { VectorSource } from '../../src/core/matrix.ts'
import { RowsAhead } from '../../src/vectors/rows-ahead.ts'

const PARTS = [
  { first: 0, count: 5 },
  { first: 5, count: 3 },
  { first: 8, count: 4 },
]

/** One column, in which each row has its number. Fails if it is read twice at a time. */
function numbered(reads: string[], failing?: number): VectorSource {
  let reading = false
  return {
    rows: 12,
    cols: 1,
    type: 'f32',
    name: 'numbers',
    async read(start, end) {
      if (reading) throw new Error('read twice at a time')
      reading = true
      await new Promise((resolve) => setTimeout(resolve, 1))
      reading = false
      reads.push(`${start}-${end}`)
      if (start === failing) throw new Error('unreadable')
      return Float32Array.from({ length: end - start }, (_, i) => start + i)
    },
  }
}

async function readPart(ahead: RowsAhead, part: number): Promise<number[]> {
  const found: number[] = []
  while (found.length < PARTS[part].count) {
    const { data, rows } = await ahead.read(part, found.length)
    expect(data.length).toBe(rows)
    found.push(...data)
  }
  return found
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20))

describe('rows that are read ahead', () => {
  test.each([1, 2, 3, 9])(
    '%i pieces ahead: all rows, in any order of the parts, each once where the order is theirs',
    async (most) => {
      const reads: string[] = []
      const ahead = new RowsAhead(numbered(reads), PARTS, 2, most)
      for (let pass = 0; pass < 3; pass++) {
        for (const [part, { first, count }] of PARTS.entries()) {
          expect(await readPart(ahead, part)).toEqual(Array.from({ length: count }, (_, i) => first + i))
        }
      }
      await settle()
      const all = ['0-2', '2-4', '4-5', '5-7', '7-8', '8-10', '10-12']
      const expected = [...all, ...all, ...all]
      expect(reads.slice(0, expected.length)).toEqual(expected)
      // Nothing but the beginning of what would come next.
      expect(reads.length - expected.length).toBe(Math.min(most, all.length * 2))
      for (const part of [2, 0, 2, 1]) expect(await readPart(ahead, part)).toHaveLength(PARTS[part].count)
      ahead.stop()
    },
  )

  test('are not more than asked for, and none for a single pass', async () => {
    const reads: string[] = []
    const ahead = new RowsAhead(numbered(reads), PARTS, 2, 2)
    await ahead.read(0, 0)
    await settle()
    expect(reads).toEqual(['0-2', '2-4', '4-5'])
    ahead.stop()
    await settle()
    expect(reads).toHaveLength(3)
    const single: string[] = []
    const once = new RowsAhead(numbered(single), PARTS.slice(0, 1), 2, 4)
    for (let row = 0; row < 5; row += 2) await once.read(0, row)
    await settle()
    expect(single).toEqual(['0-2', '2-4', '4-5'])
  })

  test('that cannot be read fail where they are asked for', async () => {
    const ahead = new RowsAhead(numbered([], 5), PARTS, 2, 9)
    expect(await readPart(ahead, 0)).toEqual([0, 1, 2, 3, 4])
    await settle()
    await expect(ahead.read(1, 0)).rejects.toThrow('unreadable')
    ahead.stop()
  })
})

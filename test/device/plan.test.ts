import { describe, expect, test } from 'vitest'
import { CentroidalError } from '../../src/core/errors.ts'
import {
  alignmentRows,
  cutForBinding,
  cutRows,
  gridFor,
  type Range,
  rowsWithin,
  rowsWithinOperations,
} from '../../src/device/plan.ts'
import { fc } from '../properties.ts'

const RUNS = { numRuns: 100 }

/** Every row once, in order, no range empty. */
function expectCover(ranges: readonly Range[], rows: number): void {
  let at = 0
  for (const { start, end } of ranges) {
    expect(start).toBe(at)
    expect(end).toBeGreaterThan(start)
    at = end
  }
  expect(at).toBe(rows)
}

/** The error a call ends in, which must be one a user can read. */
function failure(call: () => unknown): CentroidalError {
  try {
    call()
  } catch (error) {
    if (error instanceof CentroidalError) return error
    throw error
  }
  throw new Error('nothing failed')
}

describe('cutRows', () => {
  test('covers all rows with ranges as long as allowed', () => {
    const numbers = fc.record({
      rows: fc.nat(5000),
      most: fc.integer({ min: 1, max: 700 }),
      multiple: fc.integer({ min: 1, max: 70 }),
    })
    fc.assert(
      fc.property(numbers, ({ rows, most, multiple }) => {
        const ranges = cutRows(rows, most, multiple)
        expectCover(ranges, rows)
        for (const { start, end } of ranges) {
          expect(end - start).toBeLessThanOrEqual(Math.max(most, multiple))
          if (end < rows) expect((end - start) % multiple).toBe(0)
        }
        // One range fewer would have to be longer than allowed.
        if (ranges.length > 1) expect(ranges[0].end + multiple).toBeGreaterThan(most)
      }),
      RUNS,
    )
  })

  test('makes no range of nothing', () => {
    expect(cutRows(0, 10)).toEqual([])
  })

  test('takes all in one where that fits', () => {
    expect(cutRows(10, 10)).toEqual([{ start: 0, end: 10 }])
    expect(cutRows(11, 10)).toEqual([
      { start: 0, end: 10 },
      { start: 10, end: 11 },
    ])
    expect(cutRows(11, 10, 4)).toEqual([
      { start: 0, end: 8 },
      { start: 8, end: 11 },
    ])
  })
})

describe('rowsWithin', () => {
  test('is the most rows that fit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 1e9 }), (rowBytes, bytes) => {
        fc.pre(rowBytes <= bytes)
        const rows = rowsWithin(bytes, rowBytes, 'x')
        expect(rows * rowBytes).toBeLessThanOrEqual(bytes)
        expect((rows + 1) * rowBytes).toBeGreaterThan(bytes)
      }),
      RUNS,
    )
  })

  test('says what does not fit', () => {
    const error = failure(() => rowsWithin(99, 100, 'centres'))
    expect(error.code).toBe('out-of-memory')
    expect(error.message).toBe(
      'One row of centres takes 100 bytes and the largest binding of the device is 99: use fewer dimensions or another device.',
    )
  })
})

describe('alignmentRows', () => {
  test('is the smallest number of rows that ends where a binding may start', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4096 }), fc.constantFrom(4, 16, 32, 64, 256), (rowBytes, alignment) => {
        const rows = alignmentRows(rowBytes, alignment)
        expect((rows * rowBytes) % alignment).toBe(0)
        for (let fewer = 1; fewer < rows; fewer++) expect((fewer * rowBytes) % alignment).not.toBe(0)
      }),
      RUNS,
    )
  })
})

describe('cutForBinding', () => {
  test('covers all rows with ranges that fit a binding and start where one may', () => {
    const numbers = fc.record({
      rows: fc.nat(3000),
      columns: fc.integer({ min: 1, max: 200 }),
      alignment: fc.constantFrom(4, 32, 256),
      blocks: fc.integer({ min: 1, max: 40 }),
      spare: fc.nat(255),
    })
    fc.assert(
      fc.property(numbers, ({ rows, columns, alignment, blocks, spare }) => {
        const rowBytes = columns * 16
        // Devices bind at least 128 MiB, so a stretch of rows that ends on the alignment always fits.
        const bindingBytes = alignmentRows(rowBytes, alignment) * rowBytes * blocks + spare
        const ranges = cutForBinding(rows, rowBytes, { bindingBytes, bindingAlignment: alignment }, 'x')
        expectCover(ranges, rows)
        for (const { start, end } of ranges) {
          expect((end - start) * rowBytes).toBeLessThanOrEqual(bindingBytes)
          expect((start * rowBytes) % alignment).toBe(0)
        }
      }),
      RUNS,
    )
  })

  test('refuses rows that fit no binding', () => {
    const limits = { bindingBytes: 1000, bindingAlignment: 256 }
    expect(failure(() => cutForBinding(5, 1004, limits, 'sums')).message).toContain('One row of sums takes 1004 bytes')
  })
})

describe('rowsWithinOperations', () => {
  test('stays under the operations unless not even the fewest rows do', () => {
    const numbers = fc.tuple(fc.integer({ min: 1, max: 1e9 }), fc.nat(1e6), fc.integer({ min: 1, max: 1000 }))
    fc.assert(
      fc.property(numbers, ([operations, perRow, atLeast]) => {
        const rows = rowsWithinOperations(operations, perRow, atLeast)
        expect(Number.isInteger(rows)).toBe(true)
        expect(rows).toBeGreaterThanOrEqual(atLeast)
        if (rows > atLeast) expect(rows * perRow).toBeLessThanOrEqual(operations)
        expect((rows + 1) * Math.max(1, perRow)).toBeGreaterThan(operations)
      }),
      RUNS,
    )
  })
})

describe('gridFor', () => {
  const numbers = fc.record({
    threads: fc.nat(1e6),
    workgroupSize: fc.constantFrom(1, 64, 256),
    limit: fc.integer({ min: 1, max: 2000 }),
  })

  test('covers all threads within the limit, and little more', () => {
    fc.assert(
      fc.property(numbers, ({ threads, workgroupSize, limit }) => {
        const groups = Math.max(1, Math.ceil(threads / workgroupSize))
        fc.pre(groups <= limit * limit)
        const [x, y] = gridFor(threads, workgroupSize, limit)
        expect(x).toBeLessThanOrEqual(limit)
        expect(y).toBeLessThanOrEqual(limit)
        expect(x * y).toBeGreaterThanOrEqual(groups)
        expect(x * y).toBeLessThan(groups + y)
      }),
      RUNS,
    )
  })

  test('stays flat where one dimension is enough', () => {
    expect(gridFor(0, 64, 10)).toEqual([1, 1])
    expect(gridFor(640, 64, 10)).toEqual([10, 1])
    expect(gridFor(641, 64, 10)).toEqual([6, 2])
  })

  test('says how many threads do not fit', () => {
    expect(gridFor(49 * 64, 64, 7)).toEqual([7, 7])
    const error = failure(() => gridFor(49 * 64 + 1, 64, 7))
    expect(error.code).toBe('out-of-memory')
    expect(error.message).toBe('3137 threads exceed one dispatch of 7 x 7 workgroups of 64.')
  })
})

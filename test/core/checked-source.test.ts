import { describe, expect, test } from 'vitest'
import { CentroidalError } from '../../src/core/errors.ts'
import { toSource, type VectorSource } from '../../src/core/matrix.ts'

const good = { rows: 2, cols: 3, type: 'f32', name: 'mine', read: async () => new Float32Array(6) } as const

const from = (changes: object): VectorSource => toSource({ ...good, ...changes } as unknown as VectorSource)

describe('a source of the caller', () => {
  test.each([
    ['0 columns', { cols: 0 }, /source \(the input\) shape: 2 x 0/],
    ['negative columns', { cols: -3 }, /2 x -3/],
    ['a fraction of a row', { rows: 1.5 }, /1\.5 x 3/],
    ['negative rows', { rows: -1 }, /-1 x 3/],
    ['rows without end', { rows: Number.POSITIVE_INFINITY }, /Infinity x 3/],
    ['no rows', { rows: undefined }, /undefined x 3/],
    ['another type', { type: 'f64' }, /type of the input is "f64"/],
    ['sparse rows of another shape', { sparse: { rows: 5, cols: 3 } }, /sparse rows of mine are an object/],
  ])('with %s is refused', (_, changes, message) => {
    expect(() => from(changes)).toThrow(CentroidalError)
    expect(() => from(changes)).toThrow(message)
  })

  test.each([
    ['too few numbers', async () => new Float32Array(5), /gave Float32Array of 5: .* a Float32Array of 6 numbers/],
    ['too many numbers', async () => new Float32Array(7), /Float32Array of 7/],
    ['bytes where it said floats', async () => new Uint8Array(6), /gave Uint8Array of 6/],
    ['doubles', async () => new Float64Array(6), /gave Float64Array of 6/],
    ['an array', async () => [1, 2, 3, 4, 5, 6], /gave an array of 6/],
    ['nothing', async () => undefined, /gave undefined/],
    [
      'an error',
      () => {
        throw new Error('disk on fire')
      },
      /Reading rows 0 to 2 of mine failed: disk on fire/,
    ],
    ['a rejection', async () => Promise.reject(new Error('gone')), /failed: gone/],
  ])('that reads %s gives an error that says so', async (_, read, message) => {
    const error = await from({ read })
      .read(0, 2)
      .catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(CentroidalError)
    expect((error as Error).message).toMatch(message)
  })

  test('is stopped by its own abort, and keeps its name and close', async () => {
    const abort = new DOMException('stop', 'AbortError')
    await expect(from({ read: () => Promise.reject(abort) }).read(0, 2)).rejects.toBe(abort)
    let closed = 0
    const source = from({ close: async () => void closed++ })
    await source.close?.()
    expect([source.name, closed]).toEqual(['mine', 1])
    expect(toSource(source)).toBe(source)
    expect((await source.read(0, 2)).length).toBe(6)
  })
})

import { describe, expect, test } from 'vitest'
import { npyEncoder, npyHeader, openNpy } from '../../src/data/npy.ts'
import { fc } from '../properties.ts'
import { failure } from './failure.ts'
import { concat, encoded, memorySource } from './memory-source.ts'

/** Made by NumPy 2.4 with np.save, or with numpy.lib.format.write_array for the later versions. */
const FROM_NUMPY = {
  'f4 (2, 3)':
    'k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAIA/AAAAQAAAQEAAAIBAAACgQAAAwEA=',
  'u1 (3,)':
    'k05VTVBZAQB2AHsnZGVzY3InOiAnfHUxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDMsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoHCP8=',
  'i8 (2, 2) version 2.0':
    'k05VTVBZAgB0AAAAeydkZXNjcic6ICc8aTgnLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAnc2hhcGUnOiAoMiwgMiksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoBAAAAAAAAAP7/////////AwAAAAAAAAAEAAAAAAAAAA==',
  'f8 (1, 2) version 3.0':
    'k05VTVBZAwB0AAAAeydkZXNjcic6ICc8ZjgnLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAnc2hhcGUnOiAoMSwgMiksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAADgP5x1AIg85Dd+',
  'u4 (1,)':
    'k05VTVBZAQB2AHsnZGVzY3InOiAnPHU0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDEsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAKGvu',
} as const

function fromNumpy(name: keyof typeof FROM_NUMPY): Uint8Array {
  return new Uint8Array(Buffer.from(FROM_NUMPY[name], 'base64'))
}

const open = (content: Uint8Array) => openNpy(memorySource('a.npy', content))

describe('files of NumPy', () => {
  test.each([
    ['f4 (2, 3)', 2, 3, Float32Array.of(1, 2, 3, 4, 5, 6)],
    ['u1 (3,)', 3, 1, Uint8Array.of(7, 8, 255)],
    ['i8 (2, 2) version 2.0', 2, 2, Float64Array.of(1, -2, 3, 4)],
    ['f8 (1, 2) version 3.0', 1, 2, Float64Array.of(0.5, 1e300)],
    ['u4 (1,)', 1, 1, Uint32Array.of(4_000_000_000)],
  ] as const)('reads %s', async (name, rows, cols, data) => {
    const table = await open(fromNumpy(name))
    expect([table.rows, table.cols]).toEqual([rows, cols])
    expect(await table.read(0, rows)).toEqual(data)
  })

  test('writes the same bytes as NumPy', () => {
    expect(encoded(npyEncoder([2, 3], 'f32'), Float32Array.of(1, 2, 3), Float32Array.of(4, 5, 6))).toEqual(
      fromNumpy('f4 (2, 3)'),
    )
    expect(encoded(npyEncoder([3], 'u8'), Uint8Array.of(7, 8, 255))).toEqual(fromNumpy('u1 (3,)'))
    expect(encoded(npyEncoder([1], 'u32'), Uint32Array.of(4_000_000_000))).toEqual(fromNumpy('u4 (1,)'))
  })
})

describe('header', () => {
  test('golden', () => {
    const text = new TextDecoder('latin1').decode(npyHeader([1000, 128], 'i32'))
    const dict = "{'descr': '<i4', 'fortran_order': False, 'shape': (1000, 128), }"
    expect([...text.slice(0, 10)].map((c) => c.charCodeAt(0))).toEqual([0x93, 78, 85, 77, 80, 89, 1, 0, 118, 0])
    expect(text.slice(10)).toBe(`${dict.padEnd(117)}\n`)
  })

  test('ends on a multiple of 64 with a newline, whatever the shape', () => {
    fc.assert(
      fc.property(fc.array(fc.maxSafeNat(), { minLength: 1, maxLength: 6 }), (shape) => {
        const header = npyHeader(shape, 'f32')
        expect(header.length % 64).toBe(0)
        expect(header.at(-1)).toBe(0x0a)
        expect(header[8] + 256 * header[9]).toBe(header.length - 10)
      }),
    )
  })
})

describe('round trips', () => {
  const arrays = fc.oneof(
    fc.float32Array({ maxLength: 40 }).map((data) => ({ type: 'f32' as const, data })),
    fc.uint8Array({ maxLength: 40 }).map((data) => ({ type: 'u8' as const, data })),
    fc.int32Array({ maxLength: 40 }).map((data) => ({ type: 'i32' as const, data })),
    fc.uint32Array({ maxLength: 40 }).map((data) => ({ type: 'u32' as const, data })),
  )

  test('give back the numbers, whole or in two reads', async () => {
    await fc.assert(
      fc.asyncProperty(arrays, fc.nat(), fc.constantFrom(1, 2, 3), async ({ type, data }, nat, cols) => {
        const rows = Math.floor(data.length / cols)
        const kept = data.slice(0, rows * cols)
        const table = await open(encoded(npyEncoder([rows, cols], type), kept))
        const cut = nat % (rows + 1)
        expect([table.rows, table.cols, table.type]).toEqual([rows, cols, type])
        expect(await table.read(0, rows)).toEqual(kept)
        expect(await table.read(0, cut)).toEqual(kept.slice(0, cut * cols))
        expect(await table.read(cut, rows)).toEqual(kept.slice(cut * cols))
      }),
    )
  })

  test('reads only the rows asked for', async () => {
    const source = memorySource('a.npy', fromNumpy('f4 (2, 3)'))
    const table = await openNpy(source)
    const before = source.bytesRead()
    expect(await table.read(1, 2)).toEqual(Float32Array.of(4, 5, 6))
    expect(source.bytesRead() - before).toBe(12)
  })

  test('int64 longer than one piece', async () => {
    const big = BigInt64Array.from({ length: 1_500_000 }, (_, i) => BigInt(i - 700_000))
    const table = await open(withHeader("{'descr': '<i8', 'fortran_order': False, 'shape': (1500000,), }", big))
    const data = (await table.read(0, 1_500_000)) as Float64Array
    expect(data.findIndex((value, i) => value !== i - 700_000)).toBe(-1)
  })
})

function withHeader(dict: string, data: ArrayBufferView = new Uint8Array(0)): Uint8Array {
  const head = new TextEncoder().encode(`xNUMPY\x01\x00xx${dict.padEnd(117)}\n`)
  head[0] = 0x93
  head.set([118, 0], 8)
  return concat(head, new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
}

describe('errors', () => {
  const dict = (descr: string, shape: string, fortran = 'False') =>
    `{'descr': ${descr}, 'fortran_order': ${fortran}, 'shape': ${shape}, }`

  test.each([
    [
      'not npy at all',
      new TextEncoder().encode('1,2,3\n4,5,6\n'),
      '"a.npy" is not a .npy file: it does not start with \\x93NUMPY. Save it with np.save.',
    ],
    [
      'an unknown version',
      Uint8Array.of(...npyHeader([1], 'f32').slice(0, 6), 4, 0, 0, 0),
      '"a.npy" is .npy version 4.0: versions 1.0, 2.0 and 3.0 are known.',
    ],
    [
      'cut inside the header',
      fromNumpy('f4 (2, 3)').slice(0, 100),
      '"a.npy" says its header takes 118 bytes from byte 10, the file ends at byte 100: it was cut or damaged.',
    ],
    [
      'cut inside the numbers',
      fromNumpy('f4 (2, 3)').slice(0, 150),
      '"a.npy" should end at byte 152 (2 x 3 values after a header of 128 bytes), it ends at byte 150. It was cut: copy it again.',
    ],
    [
      'two arrays in one file',
      concat(fromNumpy('u1 (3,)'), fromNumpy('u1 (3,)')),
      '"a.npy" should end at byte 131 (3 x 1 values after a header of 128 bytes), it ends at byte 262. Save one array per file.',
    ],
    [
      'another type',
      withHeader(dict("'<c8'", '(2, 3)')),
      '"a.npy" holds values of type "<c8", which are not numbers that can be read: save it with array.astype(np.float32).',
    ],
    [
      'bfloat16, which NumPy does not name',
      withHeader(dict("'|V2'", '(2, 3)')),
      '"a.npy" holds values of type "|V2", which are not numbers that can be read: save it with array.astype(np.float32).',
    ],
    [
      'a structured array',
      withHeader(dict("[('x', '<f4'), ('y', '<f4')]", '(2,)')),
      '"a.npy" holds a structured array: save its numbers as one float32 array.',
    ],
    [
      'three dimensions',
      withHeader(dict("'<f4'", '(2, 3, 4)')),
      '"a.npy" has 3 dimensions, shape (2, 3, 4): save array.reshape(rows, columns), 1 or 2 dimensions.',
    ],
    [
      'no dimension',
      withHeader(dict("'<f4'", '()')),
      '"a.npy" has 0 dimensions, shape (): save array.reshape(rows, columns), 1 or 2 dimensions.',
    ],
    ['no columns', withHeader(dict("'<f4'", '(2, 0)')), '"a.npy" has shape (2, 0): at least one column is needed.'],
    [
      'a header without shape',
      withHeader("{'descr': '<f4', 'fortran_order': False, }"),
      `"a.npy" has a header without descr, fortran_order or shape: found "{'descr': '<f4', 'fortran_order': False, }".`,
    ],
  ])('%s', async (_, content, sentence) => {
    expect(await failure(() => open(content))).toBe(`bad-file: ${sentence}`)
  })

  test('an int64 that is not exact in 64-bit floats names its row and column', async () => {
    const table = await open(withHeader(dict("'<i8'", '(2, 2)'), BigInt64Array.of(1n, 2n, 3n, -(2n ** 53n) - 1n)))
    expect(await table.read(0, 1)).toEqual(Float64Array.of(1, 2))
    expect(await failure(() => table.read(1, 2))).toBe(
      'bad-file: "a.npy", row 1, column 1: -9007199254740993 is beyond 2^53, up to which whole numbers are exact here; subtract an offset before saving.',
    )
  })
})

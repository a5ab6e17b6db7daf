import { describe, expect, test } from 'vitest'
import type { CpuMemory, DeviceBuffer } from '../../src/device/contract.ts'
import { partOf } from '../../src/device/contract.ts'
import { elements, mayRead, reads, writes } from '../../src/device/fields.ts'
import { DENSE_VECTORS, declareFunction, VECTORS } from '../../src/kernels/declared-function.ts'

/** Buffers at addresses of their own, and what was asked of them. */
function fakeMemory(scratchGap = 0): CpuMemory & { readonly asked: [string, number][] } {
  const asked: [string, number][] = []
  return {
    asked,
    scratchGap,
    address(target, bytes) {
      const { buffer, offset } = partOf(target)
      asked.push([buffer.label, bytes])
      return Number(buffer.label) + offset
    },
  }
}

function at(address: number, bytes = 4096): DeviceBuffer {
  return { label: String(address), bytes, freed: false, free() {} }
}

const declared = declareFunction('example', {
  args: {
    count: 'u32',
    points: VECTORS,
    exact: 'f64',
    scale: 'f32',
    unit: 'bool',
    weights: mayRead('f32'),
    codes: reads('u8'),
    sums: writes('f64'),
  },
  scratch: { row: ({ points }) => points.stride * 4 + 1, list: ({ count }) => count * 8 },
})

const points = { buffer: at(1024), rows: 3, cols: 5, stride: 8, type: 'u8' } as const
const args = {
  count: 3,
  points,
  exact: 0.1,
  scale: -2.5,
  unit: true,
  codes: elements(at(2048), 7),
  sums: elements(at(512), 2),
}

describe('a declared function', () => {
  test('has a block of arguments laid out as AssemblyScript lays out a class', () => {
    const offsets = Object.fromEntries(declared.fields.map(({ name, offset }) => [name, offset]))
    expect(offsets).toEqual({
      count: 0,
      points_data: 4,
      points_kind: 8,
      points_stride: 12,
      points_offsets: 16,
      points_columns: 20,
      exact: 24,
      scale: 32,
      unit: 36,
      weights: 40,
      codes: 44,
      sums: 48,
      rowAt: 52,
      listAt: 56,
    })
    expect(declared.vectors).toEqual([{ name: 'points', offset: 4 }])
    expect(declared.bytes).toBe(64)
  })

  test('packs arguments by name and states the bytes it touches', () => {
    const memory = fakeMemory()
    const job = declared.job(memory, args, { items: 5, grain: 2 })
    const block = new DataView((job.args as Uint8Array).buffer)
    expect([0, 4, 8, 12, 16, 20].map((offset) => block.getUint32(offset, true))).toEqual([3, 1024, 1, 8, 0, 0])
    expect(block.getFloat64(24, true)).toBe(0.1)
    expect(block.getFloat32(32, true)).toBe(-2.5)
    expect([36, 40, 44, 48].map((offset) => block.getUint32(offset, true))).toEqual([1, 0, 2048, 512])
    expect(memory.asked).toEqual([
      ['1024', 24],
      ['2048', 7],
      ['512', 16],
    ])
    expect(job).toMatchObject({ entry: 'example', items: 5, grain: 2 })
  })

  test('lays scratch memory out in aligned areas, with gaps where they are asked for', () => {
    const areas = (gap: number) => declared.job(fakeMemory(gap), args, { items: 1, grain: 1 })
    expect(areas(0)).toMatchObject({
      scratchBytes: 80,
      scratchAreas: [
        { name: 'row', offset: 0, bytes: 33 },
        { name: 'list', offset: 48, bytes: 24 },
      ],
    })
    const guarded = areas(64)
    expect(guarded.scratchAreas).toEqual([
      { name: 'row', offset: 64, bytes: 33 },
      { name: 'list', offset: 176, bytes: 24 },
    ])
    expect(guarded.scratchBytes).toBe(272)
    const block = new DataView((guarded.args as Uint8Array).buffer)
    expect([52, 56].map((offset) => block.getUint32(offset, true))).toEqual([64, 176])
  })

  test('gives sparse rows their offsets and columns', () => {
    const sparse = { places: at(3072), columnsAt: 4, entries: 6 }
    const job = declared.job(
      fakeMemory(),
      { ...args, points: { ...points, type: 'csr', sparse } },
      { items: 1, grain: 1 },
    )
    const block = new DataView((job.args as Uint8Array).buffer)
    expect([4, 8, 12, 16, 20].map((offset) => block.getUint32(offset, true))).toEqual([1024, 2, 8, 3072, 3088])
  })

  test('refuses sparse rows where it takes only dense ones', () => {
    const dense = declareFunction('dense', { args: { points: DENSE_VECTORS } })
    const items = { items: 1, grain: 1 }
    expect(dense.fields).toEqual(declareFunction('any', { args: { points: VECTORS } }).fields)
    expect(dense.job(fakeMemory(), { points }, items).args).toHaveLength(24)
    const sparse = { places: at(3072), columnsAt: 4, entries: 6 }
    expect(() => dense.job(fakeMemory(), { points: { ...points, type: 'csr', sparse } }, items)).toThrow(
      'dense vectors',
    )
  })

  test('gives areas the items that a thread takes at a time', () => {
    const byItem = declareFunction('byItem', {
      args: { m: 'u32' },
      scratch: { lists: ({ m }, { grain }) => grain * m * 8 },
    })
    const { scratchAreas } = byItem.job(fakeMemory(), { m: 3 }, { items: 100, grain: 10 })
    expect(scratchAreas).toEqual([{ name: 'lists', offset: 0, bytes: 240 }])
  })

  test('refuses more arguments than fit, and scratch that is not a number', () => {
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`a${i}`, 'u32' as const]))
    expect(() => declareFunction('many', { args: many })).toThrow('many has 264 bytes of arguments, at most 256 fit')
    const broken = declareFunction('broken', { args: {}, scratch: { row: () => Number.NaN } })
    expect(() => broken.job(fakeMemory(), {}, { items: 1, grain: 1 })).toThrow('broken: NaN bytes of scratch for row')
  })

  test('is checked by the compiler', () => {
    const { count: _, ...withoutCount } = args
    // @ts-expect-error a missing argument
    expect(() => declared.job(fakeMemory(), withoutCount, { items: 1, grain: 1 })).toThrow()
    // @ts-expect-error a buffer without the number of its elements
    expect(() => declared.job(fakeMemory(), { ...args, codes: at(4) }, { items: 1, grain: 1 })).toThrow()
  })
})

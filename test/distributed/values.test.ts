/** Values on their way through a store: what comes out is what went in, and what is damaged or made up is refused. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mergeSums, type PartialSums } from '../../src/clustering/partial.ts'
import { createRandom } from '../../src/core/random.ts'
import { decode, encode } from '../../src/distributed/codec.ts'
import {
  addBlocks,
  applyCenters,
  applySums,
  centerDelta,
  cutDelta,
  type RangeDelta,
  sumOfDeltas,
  sumsDelta,
} from '../../src/distributed/deltas.ts'
import { checkSumsDelta } from '../../src/distributed/messages.ts'
import { differenceExact, exactBytes, mergeExact } from '../../src/kernels/exact-sums.ts'

const random = createRandom(11)
const words = (length: number): Uint32Array => Uint32Array.from({ length }, () => random.next())

describe('codec', () => {
  test('numbers, texts, lists and typed arrays of all kinds and lengths', () => {
    const value = {
      text: 'ä"\\',
      none: null,
      list: [1, -0.5, [true]],
      infinite: [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN],
      bytes: Uint8Array.of(1, 2, 255),
      empty: new Float32Array(),
      inner: { f32: Float32Array.of(0.1, -3), f64: Float64Array.of(0.1), u32: Uint32Array.of(2 ** 32 - 1) },
      i32: Int32Array.of(-1),
    }
    // From any place in a larger buffer.
    const bytes = encode(value)
    const shifted = new Uint8Array(bytes.length + 3)
    shifted.set(bytes, 3)
    for (const given of [bytes, shifted.subarray(3)]) expect(decode(given, 'it')).toEqual(value)
  })

  test('bytes that are cut, changed or made up are refused, or are some other value: nothing else happens', () => {
    const bytes = encode({ a: Float32Array.of(1, 2, 3), b: [1, 'x'] })
    for (let length = 0; length < bytes.length; length += 3) {
      const cut = bytes.slice(0, length)
      try {
        decode(cut, 'it')
      } catch (error) {
        expect((error as Error).message).toBe('it is damaged: start the run again.')
      }
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (made) => {
        try {
          decode(Uint8Array.from(made), 'it')
        } catch (error) {
          expect((error as Error).name).toBe('CentroidalError')
        }
      }),
    )
  })

  test('a field named __proto__ changes no prototype', () => {
    const text = new TextEncoder().encode('{"__proto__":{"polluted":true}}')
    const bytes = new Uint8Array(4 + text.length)
    new DataView(bytes.buffer).setUint32(0, text.length, true)
    bytes.set(text, 4)
    const value = decode(bytes, 'it') as Record<string, unknown>
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect(Object.getPrototypeOf(value)).toBeNull()
  })
})

describe('differences of exact sums', () => {
  test.each([1, 63, 64, 65, 1000])('%i numbers', (numbers) => {
    const length = exactBytes(numbers, 1) / 4
    const [a, b] = [words(length), words(length)]
    expect(mergeExact(b, differenceExact(a, b))).toEqual(a)
    expect(differenceExact(a, a).every((word) => word === 0)).toBe(true)
  })

  test.each([
    { k: 1, width: 4 },
    { k: 17, width: 12 },
    { k: 40, width: 128 },
  ])('k = $k, width = $width: what several processes send adds up to the sum of what they have', ({ k, width }) => {
    const make = (): PartialSums => ({
      exact: [words(exactBytes(k, width) / 4), words(exactBytes(k, 1) / 4)],
      counts: [words(k)],
      values: [{ shard: 1, value: 2 }],
    })
    /** Changes a few blocks, or none. */
    const change = (sums: PartialSums): PartialSums => ({
      ...sums,
      exact: sums.exact.map((own) => own.map((word, i) => (i % 97 === 3 && i < own.length / 2 ? word + 1 : word))),
    })
    const before = [make(), make(), make()]
    const after = [change(before[0]), before[1], make()]
    let total = before.reduce(mergeSums)
    for (const [i, own] of after.entries()) {
      const sent = checkSumsDelta(decode(encode(sumsDelta(own, before[i])), 'it'), 'it')
      const next = applySums(sent, total)
      expect(next).toBeDefined()
      total = next as PartialSums
    }
    const whole = after.reduce(mergeSums)
    expect(total.exact).toEqual(whole.exact)
    expect(total.counts).toEqual(whole.counts)
    // What did not change takes next to no room.
    expect(encode(sumsDelta(before[1], before[1])).length).toBeLessThan(600 + 4 * k)
  })

  // Ranges that do not divide the blocks, one block, and more than there are.
  test.each([1, 2, 3, 5, 100])('in ranges of %i blocks: the sums of the ranges are the sum', (size) => {
    const length = exactBytes(7, 64) / 4
    const before = [words(length), words(length), words(length)]
    const after = before.map((own, i) =>
      own.map((word, at) => (i === 1 || (Math.floor(at / 64) % 7) % 3 === 0 ? word ^ (at + 1) : word)),
    )
    const gathered = new Map<number, RangeDelta[]>()
    for (const [i, own] of after.entries()) {
      const [delta] = sumsDelta(
        { exact: [own], counts: [], values: [] },
        {
          exact: [before[i]],
          counts: [],
          values: [],
        },
      ).exact
      for (const { range, delta: piece } of cutDelta(delta, size)) {
        expect(piece.blocks.every((block) => Math.floor(block / size) === range)).toBe(true)
        gathered.set(range, [...(gathered.get(range) ?? []), piece])
      }
    }
    const sums = before.reduce<Uint32Array>(mergeExact, new Uint32Array(length))
    // In any order.
    for (const [range, pieces] of [...gathered].reverse()) {
      const sum = sumOfDeltas(pieces.reverse(), range, size)
      expect(sum && addBlocks(sums, sum)).toBe(true)
    }
    expect(sums).toEqual(after.reduce<Uint32Array>(mergeExact, new Uint32Array(length)))
  })

  test('ranges that name other blocks, or planes of other lengths, do not fit', () => {
    const piece = (blocks: number[], length = 64, count = 192): RangeDelta => ({
      words: count,
      blocks: Uint32Array.from(blocks),
      planes: [words(length), undefined, undefined],
    })
    expect(sumOfDeltas([piece([0])], 0, 1)).toBeDefined()
    expect(sumOfDeltas([piece([1])], 0, 1)).toBeUndefined()
    expect(sumOfDeltas([piece([0])], 1, 1)).toBeUndefined()
    expect(sumOfDeltas([piece([0], 63)], 0, 1)).toBeUndefined()
    expect(sumOfDeltas([piece([0]), piece([0], 64, 384)], 0, 1)).toBeUndefined()
    expect(addBlocks(new Uint32Array(192), piece([0], 64, 384))).toBe(false)
  })

  test('sums of another shape do not fit', () => {
    const sums: PartialSums = { exact: [words(192)], counts: [], values: [] }
    const other: PartialSums = { exact: [words(384)], counts: [], values: [] }
    expect(applySums(sumsDelta(sums, undefined), other)).toBeUndefined()
    const [block] = sumsDelta(sums, undefined).exact
    const beyond = { ...block, blocks: Uint32Array.of(9), planes: [words(64), undefined, undefined] }
    expect(applySums({ exact: [beyond], counts: [], values: [] }, sums)).toBeUndefined()
  })
})

describe('centres', () => {
  test('only rows that changed are sent', () => {
    const before = Float32Array.from({ length: 70 }, (_, i) => i)
    const after = before.slice()
    after[7] = -1
    after[69] = -0
    const delta = centerDelta(after, before, 7)
    expect(delta.changed).toEqual(Uint32Array.of(1, 9))
    expect(applyCenters(delta, before, 7)).toEqual(after)
    expect(applyCenters(delta, undefined, 7)).toBeUndefined()
    expect(applyCenters({ ...delta, changed: Uint32Array.of(1, 10) }, before, 7)).toBeUndefined()
  })

  test('all where most changed, or their number did', () => {
    const before = new Float32Array(20)
    const after = before.map((_, i) => i + 1)
    for (const delta of [centerDelta(after, before, 2), centerDelta(after, before.subarray(2), 2)]) {
      expect(delta.changed).toBeUndefined()
      expect(applyCenters(delta, before, 2)).toEqual(after)
    }
  })
})

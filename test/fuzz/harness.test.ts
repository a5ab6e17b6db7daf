/** The harness itself: cases that can be repeated, and failures that are told apart. */
import { describe, expect, test } from 'vitest'
import { signature } from '../../fuzz/campaign.ts'
import { Draw } from '../../fuzz/draw.ts'
import { damage, editJson } from '../../fuzz/mutations.ts'

const found = { kind: 'raw error' as const, note: '', stack: '' }

describe('draws', () => {
  test('depend on area, seed and number alone', () => {
    const sequence = (draw: Draw): number[] => Array.from({ length: 20 }, () => draw.word())
    const first = sequence(new Draw('readers', 5, 7))
    expect(sequence(new Draw('readers', 5, 7))).toEqual(first)
    expect(sequence(new Draw('readers', 5, 8))).not.toEqual(first)
    expect(sequence(new Draw('readers', 6, 7))).not.toEqual(first)
    expect(sequence(new Draw('folders', 5, 7))).not.toEqual(first)
  })

  test('spread over their range', () => {
    const draw = new Draw('x', 1, 1)
    const counts = new Uint32Array(10)
    for (let i = 0; i < 10_000; i++) counts[draw.below(10)]++
    expect(Math.min(...counts)).toBeGreaterThan(800)
    expect(Math.max(...counts)).toBeLessThan(1200)
  })
})

describe('mutations', () => {
  test('damage repeats and leaves the input alone', () => {
    const bytes = new Uint8Array(100).fill(7)
    const run = (): Uint8Array[] => Array.from({ length: 50 }, (_, i) => damage(new Draw('x', 1, i), bytes).bytes)
    expect(run()).toEqual(run())
    expect(bytes).toEqual(new Uint8Array(100).fill(7))
    expect(run().some((damaged) => damaged.length !== 100)).toBe(true)
  })

  test('an edit of JSON changes it', () => {
    const texts = Array.from({ length: 50 }, (_, i) => {
      const value = { a: 1, b: [1, 2, { c: 'x' }], d: true }
      editJson(new Draw('x', 1, i), value)
      return JSON.stringify(value)
    })
    expect(new Set(texts).size).toBeGreaterThan(20)
  })
})

describe('failures', () => {
  test('that differ in numbers and quotes alone are one', () => {
    const a = signature({ ...found, message: 'Row 3 of "a" is 1e-5' })
    expect(signature({ ...found, message: 'Row 17 of "b" is -2.5' })).toBe(a)
    expect(signature({ ...found, message: 'Column 3 of "a" is 1e-5' })).not.toBe(a)
    expect(signature({ ...found, kind: 'hang', message: 'Row 3 of "a" is 1e-5' })).not.toBe(a)
  })
})

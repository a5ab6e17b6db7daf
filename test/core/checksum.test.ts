import { expect, test } from 'vitest'
import { Checksum, checksumOf } from '../../src/core/checksum.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

test('is MurmurHash3 x86_128', () => {
  expect(checksumOf(bytes(''))).toBe('0'.repeat(32))
  expect(checksumOf(bytes("I will not buy this tobacconist's, it is scratched."))).toBe(
    '9b5b7ba2ef3f7866889adeaf00f3f98e',
  )
})

test('does not depend on the pieces or on where they are in memory', () => {
  const whole = Uint8Array.from({ length: 100 }, (_, i) => (i * 37) % 251)
  const wanted = checksumOf(whole)
  for (let cut = 0; cut <= 100; cut++) {
    const checksum = new Checksum().update(whole.subarray(0, cut)).update(whole.subarray(cut, cut + 3))
    expect(checksum.update(whole.subarray(cut + 3)).digest()).toBe(wanted)
  }
  for (let shift = 1; shift < 4; shift++) {
    const moved = new Uint8Array(100 + shift)
    moved.set(whole, shift)
    expect(checksumOf(moved.subarray(shift))).toBe(wanted)
  }
})

test('any changed bit and any zero more changes it', () => {
  const data = new Uint8Array(70)
  const seen = new Set([checksumOf(data), checksumOf(new Uint8Array(71)), checksumOf(new Uint8Array(69))])
  for (let bit = 0; bit < data.length * 8; bit++) {
    data[bit >> 3] ^= 1 << (bit & 7)
    seen.add(checksumOf(data))
    data[bit >> 3] ^= 1 << (bit & 7)
  }
  expect(seen.size).toBe(3 + data.length * 8)
})

import { describe, expect, test } from 'vitest'
import { createRandom, matrix } from '../../src/index.ts'
import { CodeStore } from '../../src/search/code-store.ts'
import { expectSame } from '../tolerance.ts'

const codesOf = (ids: readonly number[]) =>
  matrix(Uint8Array.from(ids.flatMap((id) => [id % 251, id % 83])), ids.length, 2)

describe('the content of an index of codes', () => {
  test('adding and removing keeps the order, against a list', () => {
    const random = createRandom(3)
    const store = new CodeStore(codesOf([]), new Uint32Array(0))
    let expected: number[] = []
    let next = 0
    for (let step = 0; step < 400; step++) {
      if (random.below(3) > 0) {
        const fresh = Array.from({ length: random.below(6) }, () => next++)
        // Removed ids may come back.
        if (step % 5 === 0 && fresh.length > 0 && fresh[0] > 3 && !expected.includes(1)) fresh.push(1)
        store.add(codesOf(fresh), Uint32Array.from(fresh))
        expected.push(...fresh)
      } else {
        for (let i = random.below(8); i > 0 && expected.length > 0; i--) {
          const id = expected[random.below(expected.length)]
          expect(store.remove(id)).toBe(true)
          expect(store.remove(id)).toBe(false)
          expected = expected.filter((other) => other !== id)
        }
      }
      expect(store.size).toBe(expected.length)
      for (const id of [0, 1, next - 1, next]) expect(store.has(id)).toBe(expected.includes(id))
      if (step % 3 > 0) continue
      expectSame(store.ids, expected)
      expectSame(store.codes.data, codesOf(expected).data)
    }
    expect(store.nextId).toBe(next)
  })

  test('what a reader got before a change stays as it was', () => {
    const store = new CodeStore(codesOf([5, 6, 7]), Uint32Array.of(5, 6, 7))
    const { ids, codes } = store
    store.add(codesOf([9]), Uint32Array.of(9))
    store.remove(6)
    expectSame(store.ids, [5, 7, 9])
    expectSame(ids, [5, 6, 7])
    expectSame(codes.data, codesOf([5, 6, 7]).data)
  })

  test('a copy learns which rows moved, also after more changes than are remembered', () => {
    const all = Array.from({ length: 600 }, (_, i) => i)
    const store = new CodeStore(codesOf(all), Uint32Array.from(all))
    const { cuts } = store
    expect(store.firstMoved(cuts)).toBe(Number.POSITIVE_INFINITY)
    store.remove(40)
    const after = store.cuts
    expect(store.firstMoved(cuts)).toBe(40)
    expect(store.firstMoved(after)).toBe(Number.POSITIVE_INFINITY)
    for (let id = 599; id > 300; id--) {
      store.remove(id)
      // Read, so that each is a change of its own.
      expect(store.ids.length).toBe(id - 1)
    }
    expect(store.firstMoved(cuts)).toBe(0)
    expect(store.firstMoved(store.cuts)).toBe(Number.POSITIVE_INFINITY)
  })
})

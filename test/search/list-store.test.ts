import { expect, test } from 'vitest'
import { ListStore } from '../../src/search/list-store.ts'
import { fc } from '../properties.ts'

const K = 3
const BYTES = 2

/** What of a vector can be told from its id. */
const codeOf = (id: number): number[] => [id & 255, (id >> 8) ^ 7]
const termOf = (id: number): number => id / 4

function addTo(store: ListStore, ids: readonly number[], lists: readonly number[]): void {
  const codes = Uint8Array.from(ids.flatMap(codeOf))
  store.add({ rows: codes, ids: Uint32Array.from(ids), lists: Uint32Array.from(lists) }, Float32Array.from(ids, termOf))
}

/** A copy that follows the store by what it says has changed. */
class Follower {
  #ids = new Uint32Array(0)
  #version: ListStore['version'] | undefined

  follow(store: ListStore): Uint32Array {
    const changes = this.#version === undefined ? 'all' : store.changesSince(this.#version)
    if (changes === 'all' || store.ids.length > this.#ids.length) this.#ids = store.ids.slice()
    else for (const slot of changes) this.#ids[slot] = store.ids[slot]
    this.#version = store.version
    return this.#ids
  }
}

test('adding and removing leave what a plain list would hold, and followers see all of it', () => {
  const add = fc.record({ count: fc.integer({ min: 1, max: 40 }), list: fc.integer({ min: 0, max: K - 1 }) })
  const remove = fc.record({
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    times: fc.integer({ min: 1, max: 30 }),
  })
  fc.assert(
    fc.property(fc.array(fc.oneof(add, remove), { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (steps, every) => {
      const store = new ListStore(K, BYTES)
      const follower = new Follower()
      const known = new Map<number, number>()
      steps.forEach((step, i) => {
        if ('count' in step) {
          const ids = Array.from({ length: step.count }, (_, j) => store.nextId + j)
          const lists = ids.map((id) => (step.list + (id % 5 === 0 ? 1 : 0)) % K)
          addTo(store, ids, lists)
          ids.forEach((id, j) => {
            known.set(id, lists[j])
          })
        } else {
          for (let t = 0; t < step.times && known.size > 0; t++) {
            const id = [...known.keys()][Math.min(known.size - 1, Math.floor(step.share * known.size))]
            expect(store.remove(id)).toBe(true)
            expect(store.remove(id)).toBe(false)
            known.delete(id)
          }
        }
        expect(store.size).toBe(known.size)
        if (i % every > 0) return
        const copy = follower.follow(store)
        store.forEach((id, slot) => {
          expect(copy[slot]).toBe(id)
        })
      })
      const { rows: codes, ids, lists } = store.content()
      expect([...ids].sort((a, b) => a - b)).toEqual([...known.keys()].sort((a, b) => a - b))
      ids.forEach((id, i) => {
        expect(lists[i]).toBe(known.get(id))
        expect([...codes.subarray(i * BYTES, (i + 1) * BYTES)]).toEqual(codeOf(id))
        const slot = store.slotOf(id) as number
        expect(store.terms[slot]).toBe(termOf(id))
        expect(store.listOf(slot)).toBe(known.get(id))
      })
    }),
    { numRuns: 40 },
  )
})

test('removing nearly everything gives the room back', () => {
  const store = new ListStore(K, BYTES)
  const ids = Array.from({ length: 60_000 }, (_, id) => id)
  addTo(
    store,
    ids,
    ids.map((id) => id % K),
  )
  const before = store.slots
  for (const id of ids) if (id % 100 > 0) store.remove(id)
  expect(store.size).toBe(600)
  expect(store.slots).toBeLessThan(before / 5)
})

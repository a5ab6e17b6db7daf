import { describe, expect, test } from 'vitest'
import { CentroidalError } from '../../src/core/errors.ts'
import { WasmHeap } from '../../src/device/cpu/heap.ts'
import { fc } from '../properties.ts'

const PAGE = 65536
const ALIGNMENT = 64
const FIRST_FREE = 1000

function createHeap(pages: number, maximumPages: number): WasmHeap {
  const memory = new WebAssembly.Memory({ initial: pages, maximum: maximumPages })
  return new WasmHeap(memory, FIRST_FREE, maximumPages * PAGE)
}

function aligned(bytes: number): number {
  return Math.ceil(Math.max(bytes, 1) / ALIGNMENT) * ALIGNMENT
}

/** Bytes one block can take in the memory as it is, if nothing is in use. */
function room(heap: WasmHeap): number {
  return heap.memory.buffer.byteLength - aligned(FIRST_FREE)
}

/** Allocate so many bytes, or free one of the blocks there are. */
const step = fc.oneof(
  fc.record({ bytes: fc.oneof(fc.nat(300), fc.nat(3 * PAGE)) }),
  fc.record({ release: fc.nat(1000) }),
)

describe('the heap', () => {
  test('hands out aligned blocks that do not overlap, and takes everything back', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
        const heap = createHeap(1, 256)
        const blocks: { address: number; bytes: number }[] = []
        for (const action of steps) {
          if ('bytes' in action) {
            const { bytes } = action
            const address = heap.allocate(bytes, 'test')
            expect(address % ALIGNMENT).toBe(0)
            expect(address).toBeGreaterThanOrEqual(FIRST_FREE)
            expect(address + bytes).toBeLessThanOrEqual(heap.memory.buffer.byteLength)
            for (const other of blocks) {
              expect(address + aligned(bytes) <= other.address || other.address + other.bytes <= address).toBe(true)
            }
            blocks.push({ address, bytes: aligned(bytes) })
          } else if (blocks.length > 0) {
            const [{ address }] = blocks.splice(action.release % blocks.length, 1)
            heap.release(address)
          }
          expect(heap.allocatedBytes).toBe(blocks.reduce((sum, block) => sum + block.bytes, 0))
        }
        for (const { address } of blocks) heap.release(address)
        expect(heap.allocatedBytes).toBe(0)
        // All neighbours have merged: one block takes the whole memory without growing it.
        const before = heap.memory.buffer.byteLength
        expect(heap.allocate(room(heap), 'all')).toBe(aligned(FIRST_FREE))
        expect(heap.memory.buffer.byteLength).toBe(before)
      }),
      { numRuns: 150 },
    )
  })

  test.each([[[0, 1, 2]], [[0, 2, 1]], [[1, 0, 2]], [[1, 2, 0]], [[2, 0, 1]], [[2, 1, 0]]])(
    'merges neighbours freed in the order %j',
    (order) => {
      const heap = createHeap(4, 4)
      const third = room(heap) / 3 - ALIGNMENT
      const addresses = [0, 1, 2].map(() => heap.allocate(third, 'third'))
      for (const index of order) heap.release(addresses[index])
      expect(heap.allocate(room(heap), 'all')).toBe(addresses[0])
    },
  )

  test('grows by no more than it lacks', () => {
    const heap = createHeap(2, 100)
    heap.allocate(room(heap) + 1, 'a byte more')
    expect(heap.memory.buffer.byteLength).toBe(3 * PAGE)
  })

  test('uses a freed block again before it grows', () => {
    const heap = createHeap(2, 100)
    const first = heap.allocate(PAGE, 'first')
    heap.allocate(room(heap) - PAGE, 'rest')
    heap.release(first)
    expect(heap.allocate(PAGE, 'again')).toBe(first)
    expect(heap.memory.buffer.byteLength).toBe(2 * PAGE)
  })

  test('ignores an address it did not hand out', () => {
    const heap = createHeap(1, 2)
    const address = heap.allocate(100, 'block')
    heap.release(address + ALIGNMENT)
    expect(heap.allocatedBytes).toBe(128)
    heap.release(address)
    heap.release(address)
    expect(heap.allocatedBytes).toBe(0)
  })

  test('says what it cannot hold, and still works', () => {
    const heap = createHeap(1, 40)
    const before = heap.allocate(1_500_000, 'points')
    let error: unknown
    try {
      heap.allocate(2_000_000, 'centres')
    } catch (caught) {
      error = caught
    }
    expect(error).toBeInstanceOf(CentroidalError)
    expect((error as CentroidalError).code).toBe('out-of-memory')
    expect((error as CentroidalError).message).toBe(
      'The CPU device cannot hold 2 MB for centres: 2 MB of at most 3 MB are in use. ' +
        'Use fewer clusters or dimensions, bytes instead of floats, a smaller memoryBytes or totalBytes so that less is kept on the device, or a WebGPU device.',
    )
    expect(heap.allocatedBytes).toBe(aligned(1_500_000))
    heap.release(before)
    heap.allocate(2_000_000, 'centres')
  })

  test('fails as well where the engine gives less than it said', () => {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 2 })
    const heap = new WasmHeap(memory, FIRST_FREE, 100 * PAGE)
    expect(() => heap.allocate(3 * PAGE, 'points')).toThrow(/^The CPU device cannot hold 1 MB for points/)
    expect(heap.allocatedBytes).toBe(0)
  })
})

/** Splitting the nodes of a level: along the direction of largest spread, at the rank asked for. */

import { describe, expect, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { createGrowWorkspace, growNodes, growSubtrees } from '../../src/kernels/partition-tree.ts'
import { fc } from '../properties.ts'
import { DEVICES, DEVICES_WITH_CUT_TILES, type OpenedDevice, onDevices } from './devices.ts'

/** Members after one level, for nodes given as [from, to, split]. */
async function grow(
  opened: OpenedDevice,
  data: Float32Array | Uint8Array,
  cols: number,
  nodes: readonly (readonly [number, number, number])[],
  seed = 1,
  sortedFrom?: number,
): Promise<Uint32Array> {
  return opened.use(async (buffers) => {
    const n = data.length / cols
    const points = buffers.rows(data, cols)
    const members = buffers.output(
      n * 4,
      Uint32Array.from({ length: n }, (_, i) => i),
    )
    const table = Uint32Array.from(nodes.flat())
    const workspace = createGrowWorkspace(buffers.device, buffers.scope, points, nodes.length, sortedFrom)
    const args = { points, members: members.buffer, nodes: buffers.upload(table), table, workspace }
    await growNodes(buffers.device, { ...args, sample: 32, steps: 3, seed })
    return members.words()
  })
}

describe('growing the nodes of a tree', () => {
  onDevices(DEVICES_WITH_CUT_TILES, (opened) => {
    test('on a line, every node is split at its rank', async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 2, max: 300 }), fc.integer({ min: 0, max: 9999 }), async (n, seed) => {
          const random = createRandom(seed)
          // Few different values, so that ties are common.
          const data = Float32Array.from({ length: n }, () => random.below(12) - 6)
          const middle = 1 + random.below(n - 1)
          const rank = (from: number, to: number): number => from + random.below(to - from + 1)
          const nodes = [
            [0, middle, rank(0, middle)],
            [middle, n, rank(middle, n)],
          ] as const
          const members = await grow(opened, data, 1, nodes, seed)
          for (const [from, to, split] of nodes) {
            const inside = Array.from(members.subarray(from, to))
            expect(inside.slice().sort((a, b) => a - b)).toEqual(Array.from({ length: to - from }, (_, i) => from + i))
            const values = inside.map((point) => data[point])
            const [left, right] = [values.slice(0, split - from), values.slice(split - from)]
            if (left.length === 0 || right.length === 0) continue
            const rising = Math.max(...left) <= Math.min(...right)
            const falling = Math.min(...left) >= Math.max(...right)
            expect(rising || falling).toBe(true)
          }
        }),
        { numRuns: opened.runs },
      )
    })

    test.each(['f32', 'u8'])('the longest axis of a cloud of %s is found', async (type) => {
      const random = createRandom(5)
      const cols = 19
      const spread = (column: number): number => (column === 7 ? 60 : 4)
      const numbers = Array.from({ length: 200 * cols }, (_, i) =>
        Math.min(255, Math.max(0, Math.round(128 + random.normal() * spread(i % cols)))),
      )
      const data = type === 'u8' ? Uint8Array.from(numbers) : Float32Array.from(numbers)
      const members = await grow(opened, data, cols, [[0, 200, 100]])
      const along = Array.from(members, (point) => data[point * cols + 7])
      const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
      expect(Math.abs(mean(along.slice(0, 100)) - mean(along.slice(100)))).toBeGreaterThan(70)
    })

    test('a sampled point at the mean of its node is no first direction', async () => {
      // The mean of each node is one of its points, exactly. Their order is not that of their numbers.
      const values = [3, 1, 2, 0, 4]
      const data = Float32Array.from({ length: 40 * values.length }, (_, i) => values[i % values.length])
      const nodes = Array.from({ length: 40 }, (_, i) => [5 * i, 5 * i + 5, 5 * i + 2] as const)
      const members = await grow(opened, data, 1, nodes)
      for (const [from, , split] of nodes) {
        const left = Array.from(members.subarray(from, split), (point) => data[point]).sort()
        expect([
          [0, 1],
          [3, 4],
        ]).toContainEqual(left)
      }
    })

    test.each([1, 2, 17, 255, 256, 257, 511, 513, 2049])('a node of %i points is split at any rank', async (n) => {
      const random = createRandom(n)
      // Negative and positive, zeros of both signs, some values often and some once.
      const data = Float32Array.from({ length: n }, (_, i) => (i % 3 === 0 ? random.below(5) - 2 : random.normal()))
      for (let i = 0; i < n; i += 7) data[i] = -0
      for (const rank of new Set([0, 1, n >> 1, n - 1, n])) {
        const members = await grow(opened, data, 1, [[0, n, rank]])
        expect(Array.from(members).sort((a, b) => a - b)).toEqual(Array.from({ length: n }, (_, i) => i))
        // The direction is 1 or -1: one of the two orders, and by number where values are equal.
        const orders = [1, -1].map((sign) => {
          const order = Array.from({ length: n }, (_, i) => i)
          return order.sort((a, b) => sign * (data[a] - data[b]) || a - b).slice(0, rank)
        })
        const left = Array.from(members.subarray(0, rank)).sort((a, b) => a - b)
        expect(orders.map((order) => order.sort((a, b) => a - b))).toContainEqual(left)
      }
    })

    // On hardware the largest nodes are split by sorting; here small ones are.
    test.each([
      [2, 1],
      [300, 77],
      // Several tiles of the sort.
      ...(opened.hardware
        ? [
            [4097, 4096],
            [9001, 4500],
          ]
        : []),
    ])('nodes split by sorting: %i points, of which %i in the first node', async (n, first) => {
      const random = createRandom(n)
      const data = Float32Array.from({ length: n }, (_, i) => (i % 3 === 0 ? random.below(5) - 2 : random.normal()))
      const nodes = [
        [0, first, first >> 1],
        [first, n, first + ((n - first) >> 1)],
      ] as const
      const members = await grow(opened, data, 1, nodes, 1, 1)
      for (const [from, to, split] of nodes) {
        const inside = Array.from({ length: to - from }, (_, i) => from + i)
        const orders = [1, -1].map((sign) => inside.slice().sort((a, b) => sign * (data[a] - data[b]) || a - b))
        const found = Array.from(members.subarray(from, to))
        if (opened.hardware) expect(orders).toContainEqual(found)
        const rising = (list: number[]): number[] => list.slice(0, split - from).sort((a, b) => a - b)
        expect(orders.map(rising)).toContainEqual(rising(found))
      }
    })

    test('equal points of a large node split by number', async () => {
      const members = await grow(opened, new Float32Array(1000 * 3).fill(4), 3, [[0, 1000, 601]])
      const left = Array.from(members.subarray(0, 601)).sort((a, b) => a - b)
      expect(left).toEqual(Array.from({ length: 601 }, (_, i) => i))
    })

    test('members that belong to no node keep their order', async () => {
      const data = Float32Array.from({ length: 700 }, (_, i) => (i * 37) % 101)
      const members = await grow(opened, data, 1, [
        [10, 300, 100],
        [310, 640, 500],
      ])
      for (const [from, to] of [
        [0, 10],
        [300, 310],
        [640, 700],
      ])
        expect(Array.from(members.subarray(from, to))).toEqual(Array.from({ length: to - from }, (_, i) => from + i))
    })

    test('equal points split by number', async () => {
      const members = await grow(opened, new Float32Array(50 * 3).fill(4), 3, [[0, 50, 20]])
      const left = Array.from(members.subarray(0, 20)).sort((a, b) => a - b)
      expect(left).toEqual(Array.from({ length: 20 }, (_, i) => i))
    })
  })
})

/** Where the leaves of a node begin and end: half of the leaves to each side, and of the points in proportion. */
function leaves(from: number, to: number, cells: number): [number, number][] {
  if (cells < 2) return [[from, to]]
  const left = Math.ceil(cells / 2)
  const middle = from + Math.round(((to - from) * left) / cells)
  return [...leaves(from, middle, left), ...leaves(middle, to, cells - left)]
}

describe('growing nodes down to their leaves', () => {
  onDevices(
    DEVICES.filter(({ name }) => name.startsWith('cpu')),
    (opened) => {
      // The largest node fills its areas of scratch memory. Samples are smaller than it, or as large.
      test.each([
        ['f32', 97, 16, 32],
        ['f32', 33, 5, 64],
        ['u8', 121, 7, 32],
        ['u8', 120, 120, 16],
      ])('on a line of %s, %i points to %i leaves by samples of %i', async (type, size, cells, sample) => {
        const n = size + 29
        const random = createRandom(size)
        const values = Array.from({ length: n }, (_, i) => i)
        for (let i = n - 1; i > 0; i--) {
          const j = random.below(i + 1)
          ;[values[i], values[j]] = [values[j], values[i]]
        }
        const table = Uint32Array.of(0, size, cells, size, n, 3)
        const members = await opened.use(async (buffers) => {
          const points = buffers.rows(type === 'u8' ? Uint8Array.from(values) : Float32Array.from(values), 1)
          const start = Uint32Array.from({ length: n }, (_, i) => i)
          const members = buffers.output(n * 4, start)
          const workspace = createGrowWorkspace(buffers.device, buffers.scope, points, 2)
          const args = { points, members: members.buffer, nodes: buffers.upload(table), table, workspace }
          await growSubtrees(buffers.device, { ...args, sample, steps: 3, seed: 7 }, size)
          return members.words()
        })
        for (const [from, to, count] of [table.subarray(0, 3), table.subarray(3)]) {
          const inside = Array.from(members.subarray(from, to))
          expect(inside.slice().sort((a, b) => a - b)).toEqual(Array.from({ length: to - from }, (_, i) => from + i))
          const sorted = values.slice(from, to).sort((a, b) => a - b)
          for (const [first, end] of leaves(from, to, count)) {
            // Values of a leaf follow each other among those of the node.
            const ranks = Array.from(members.subarray(first, end), (point) => sorted.indexOf(values[point]))
            expect(Math.max(...ranks) - Math.min(...ranks) + 1).toBe(end - first)
          }
        }
      })
    },
  )
})

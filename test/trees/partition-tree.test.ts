/** Partition trees are balanced and complete whatever the data. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRandom, shuffle } from '../../src/core/random.ts'
import { BufferScope, type Device } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import { allocateRows, writeRows } from '../../src/kernels/rows.ts'
import { growCells, growTree, type PartitionTree } from '../../src/trees/partition-tree.ts'
import { CLUSTERING_DEVICES } from '../clustering/devices.ts'

for (const { name, options } of CLUSTERING_DEVICES) {
  describe(`partition trees on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(options)
    })
    afterAll(() => device.close())

    const leavesOf = async (
      data: Float32Array,
      cols: number,
      grow: (device: Device, scope: BufferScope, points: ReturnType<typeof allocateRows>) => Promise<PartitionTree>,
    ): Promise<number[][]> => {
      const scope = new BufferScope(device)
      try {
        const points = allocateRows(scope, data.length / cols, cols, 'f32', 'points')
        writeRows(device, points, data)
        const tree = await grow(device, scope, points)
        const members = new Uint32Array(await device.read(tree.members)).subarray(0, points.rows)
        const offsets = new Uint32Array(await device.read(tree.offsets))
        const leaves = Array.from({ length: tree.leaves }, (_, i) =>
          Array.from(members.subarray(offsets[i], offsets[i + 1])),
        )
        expect(leaves.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: points.rows }, (_, i) => i))
        expect(Math.max(...leaves.map((leaf) => leaf.length))).toBe(tree.largest)
        return leaves
      } finally {
        scope.free()
      }
    }
    const cloud = (n: number, cols: number): Float32Array => {
      const random = createRandom(n)
      return Float32Array.from({ length: n * cols }, () => random.normal())
    }

    test.each([1, 2, 9, 10, 11, 37, 129, 513])('%i points in leaves of at most 10, as equal as can be', async (n) => {
      const leaves = await leavesOf(cloud(n, 5), 5, (...args) => growTree(...args, 10, 7))
      const sizes = leaves.map((leaf) => leaf.length)
      expect(Math.max(...sizes)).toBeLessThanOrEqual(10)
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
    })

    test.each([1, 2, 3, 7, 64, 99, 100])('exactly %i cells of 100 points, none empty', async (cells) => {
      const leaves = await leavesOf(cloud(100, 3), 3, (...args) => growCells(...args, cells, 7))
      expect(leaves).toHaveLength(cells)
      expect(Math.min(...leaves.map((leaf) => leaf.length))).toBeGreaterThan(0)
    })

    test.each([2 ** 30, 2 ** -30])('values of size %d give the same trees', async (factor) => {
      const data = cloud(150, 5)
      const scaled = data.map((value) => value * factor)
      const grow = (points: Float32Array) => leavesOf(points, 5, (...args) => growTree(...args, 10, 7))
      expect(await grow(scaled)).toEqual(await grow(data))
    })

    test('duplicates and constant data split all the same', async () => {
      const same = await leavesOf(new Float32Array(300).fill(2), 3, (...args) => growTree(...args, 10, 7))
      expect(Math.max(...same.map((leaf) => leaf.length))).toBeLessThanOrEqual(10)
      const pairs = Float32Array.from({ length: 400 }, (_, i) => Math.floor(i / 200))
      const leaves = await leavesOf(pairs, 2, (...args) => growTree(...args, 100, 7))
      expect(leaves.map((leaf) => new Set(leaf.map((point) => pairs[point * 2])).size)).toEqual([1, 1])
    })

    // GPUs split all levels on the device.
    if (options.kind === 'cpu')
      test('of many points, the first levels come from a sample', async () => {
        const n = 70_001
        const mixed = Uint32Array.from({ length: n }, (_, i) => i)
        shuffle(createRandom(3), mixed)
        const line = Float32Array.from(mixed)
        const leaves = await leavesOf(line, 1, (...args) => growTree(...args, 16, 7))
        expect(Math.max(...leaves.map((leaf) => leaf.length))).toBeLessThanOrEqual(16)
        expect(leaves.length).toBeLessThan(n / 8)
        for (const leaf of leaves) {
          const values = leaf.map((point) => line[point])
          expect(Math.max(...values) - Math.min(...values)).toBe(leaf.length - 1)
        }
        // No sample tells equal points apart.
        const same = await leavesOf(new Float32Array(n).fill(2), 1, (...args) => growTree(...args, 16, 7))
        expect(Math.max(...same.map((leaf) => leaf.length))).toBeLessThanOrEqual(16)
      })

    test('neighbours share leaves, and another seed gives another tree', async () => {
      const line = Float32Array.from({ length: 512 }, (_, i) => i)
      const leaves = await leavesOf(line, 1, (...args) => growTree(...args, 8, 7))
      for (const leaf of leaves) expect(Math.max(...leaf) - Math.min(...leaf)).toBe(7)
      const data = cloud(400, 6)
      const [one, other] = [
        await leavesOf(data, 6, (...args) => growTree(...args, 10, 1)),
        await leavesOf(data, 6, (...args) => growTree(...args, 10, 2)),
      ]
      expect(one).not.toEqual(other)
    })
  })
}

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { BufferScope, type Device } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import { allocateRows, type DeviceRows, writeRows } from '../../src/kernels/rows.ts'
import { growHierarchy } from '../../src/trees/hierarchical.ts'
import type { TreePoints } from '../../src/vectors/tree-points.ts'

describe('hierarchical k-means', () => {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ kind: 'cpu', threads: 2 })
  })
  afterAll(() => device.close())

  /** `cuts`: in how many parts the points lie on the device. */
  const labelsOf = async (
    data: Float32Array,
    cols: number,
    k: number,
    { cuts = 1, branching = 10, seed = 0 } = {},
  ): Promise<Uint32Array> => {
    const scope = new BufferScope(device)
    try {
      const n = data.length / cols
      const step = Math.ceil(n / cuts)
      const parts: { first: number; count: number; rows: DeviceRows }[] = []
      for (let first = 0; first < n; first += step) {
        const count = Math.min(step, n - first)
        const rows = allocateRows(scope, count, cols, 'f32', 'rows')
        writeRows(device, rows, data.subarray(first * cols, (first + count) * cols))
        parts.push({ first, count, rows })
      }
      const points: TreePoints = {
        rows: n,
        cols,
        stride: parts[0].rows.stride,
        parts: parts.map(({ first, count, rows }) => ({ first, count, vectors: async () => rows })),
        async gather(indices) {
          return Float32Array.from({ length: indices.length * cols }, (_, i) => {
            return data[indices[Math.floor(i / cols)] * cols + (i % cols)]
          })
        },
      }
      const options = { k, branching, rounds: 5, random: createRandom(seed) }
      return (await growHierarchy(device, points, options)).labels
    } finally {
      scope.free()
    }
  }

  const normal = (count: number, seed: number): Float32Array => {
    const random = createRandom(seed)
    return Float32Array.from({ length: count }, () => random.normal())
  }

  const sizesOf = (labels: Uint32Array, k: number): Uint32Array => {
    const sizes = new Uint32Array(k)
    for (const label of labels) sizes[label]++
    return sizes
  }

  test.each([1, 2, 3, 9, 10, 11, 19, 20, 50, 137, 399, 400])('400 points give exactly %i leaves', async (k) => {
    const labels = await labelsOf(normal(400 * 5, 1), 5, k)
    expect(Math.max(...labels)).toBe(k - 1)
    expect(sizesOf(labels, k).every((size) => size > 0)).toBe(true)
  })

  test.each([2, 3, 40])('any branching will do: %i', async (branching) => {
    const sizes = sizesOf(await labelsOf(normal(300 * 4, 2), 4, 60, { branching }), 60)
    expect(sizes.every((size) => size > 0)).toBe(true)
  })

  test('the largest leaf is split: no leaf is far larger than the others', async () => {
    const sizes = sizesOf(await labelsOf(normal(2000 * 8, 3), 8, 200), 200)
    expect(Math.max(...sizes)).toBeLessThan(5 * (2000 / 200))
  })

  test('duplicates: as many leaves as there are different points', async () => {
    const data = new Float32Array(1000 * 2).fill(3)
    for (let i = 0; i < 30; i++) data[i * 64] = i % 15
    const labels = await labelsOf(data, 2, 15)
    expect(new Set(labels).size).toBe(15)
    const byRow = new Map<string, number>()
    labels.forEach((label, i) => {
      const row = `${data[2 * i]} ${data[2 * i + 1]}`
      expect(byRow.get(row) ?? label).toBe(label)
      byRow.set(row, label)
    })
  })

  test('points too close for their distance to be told from zero are still told apart', async () => {
    const data = Float32Array.from({ length: 12 }, (_, i) => (i < 6 ? i * 1e-30 : 1))
    expect(new Set(await labelsOf(data, 1, 7)).size).toBe(7)
  })

  test('parts and seeds: parts change nothing, seeds do', async () => {
    const data = normal(600 * 6, 4)
    const whole = await labelsOf(data, 6, 40)
    expect(await labelsOf(data, 6, 40)).toEqual(whole)
    const cut = await labelsOf(data, 6, 40, { cuts: 3 })
    // Sums in another order may move a point on the border.
    expect(cut.filter((label, i) => label !== whole[i]).length).toBeLessThan(30)
    expect(await labelsOf(data, 6, 40, { seed: 1 })).not.toEqual(whole)
  })
})

/** The indices over centres: every centre is in one leaf of every tree, and searching longer finds more. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { BufferScope, type Device } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import { allocateRows, writeRows } from '../../src/kernels/rows.ts'
import { searchTree } from '../../src/kernels/search-tree.ts'
import { type FlatTree, leavesOf, nodeCountOf, TreeBuffers } from '../../src/trees/flat-tree.ts'
import { buildKdForest } from '../../src/trees/kd-forest.ts'
import { buildKMeansTree } from '../../src/trees/kmeans-tree.ts'
import { ranking } from '../kernels/oracles.ts'

type Build = (device: Device, scope: BufferScope, data: Float32Array, cols: number, seed: number) => Promise<FlatTree>

const kmeans: Build = (device, scope, data, cols, seed) => {
  const centers = allocateRows(scope, data.length / cols, cols, 'f32', 'centres')
  writeRows(device, centers, data)
  return buildKMeansTree(device, centers, data, { branching: 6, seed })
}
const kd: Build = async (_device, _scope, data, cols, seed) => buildKdForest(data, cols, { trees: 3, seed })

function normal(count: number, seed: number): Float32Array {
  const random = createRandom(seed)
  return Float32Array.from({ length: count }, () => random.normal())
}

/** Rows around few places, as centres are. */
function clumped(rows: number, cols: number, seed: number): Float32Array {
  const places = normal(20 * cols, 99)
  const near = normal(rows * cols, seed)
  return near.map((value, i) => value * 0.3 + places[(Math.floor(i / cols) % 20) * cols + (i % cols)])
}

for (const [name, build] of Object.entries({ kmeans, kd })) {
  describe(`${name} index`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice({ kind: 'cpu', threads: 2 })
    })
    afterAll(() => device.close())

    const use = async <T>(work: (scope: BufferScope) => Promise<T>): Promise<T> => {
      const scope = new BufferScope(device)
      try {
        return await work(scope)
      } finally {
        scope.free()
      }
    }

    const search = (
      tree: FlatTree,
      data: Float32Array,
      x: Float32Array,
      cols: number,
      checks: number,
    ): Promise<Uint32Array> =>
      use(async (scope) => {
        const rows = (of: Float32Array) => {
          const to = allocateRows(scope, of.length / cols, cols, 'f32', 'rows')
          writeRows(device, to, of)
          return to
        }
        const n = x.length / cols
        const labels = scope.allocate(n * 4, 'labels')
        const args = {
          points: rows(x),
          centers: rows(data),
          tree: new TreeBuffers(device, scope).upload(tree),
          checks,
          labels,
          distances: scope.allocate(n * 4, 'distances'),
          evaluated: scope.allocate(n * 4, 'evaluated'),
        }
        await searchTree(device, args)
        return new Uint32Array(await device.read(labels), 0, n)
      })

    test.each([
      [1, 1],
      [2, 3],
      [5, 4],
      [37, 1],
      [300, 10],
      [1000, 7],
    ])('every one of %i centres of %i columns is in one leaf of every tree', (k, cols) =>
      use(async (scope) => {
        const tree = await build(device, scope, normal(k * cols, 3), cols, 1)
        for (let root = 0; root < tree.roots; root++) {
          const items = [...leavesOf(tree, root)].flatMap((leaf) => Array.from(leaf))
          expect(items.sort((a, b) => a - b)).toEqual(Array.from({ length: k }, (_, i) => i))
        }
      }),
    )

    test('equal centres end in one leaf, others apart', () =>
      use(async (scope) => {
        const same = await build(device, scope, new Float32Array(100 * 3).fill(2), 3, 1)
        expect(nodeCountOf(same)).toBe(same.roots)
        const two = new Float32Array(100 * 3).fill(2)
        two.set([2, 2, 3], 60)
        const tree = await build(device, scope, two, 3, 1)
        expect([...leavesOf(tree)].map((leaf) => leaf.length).sort((a, b) => a - b)).toEqual([1, 99])
      }))

    test('with as many checks as centres the answer is exact; with fewer, more find more', () =>
      use(async (scope) => {
        const [k, n, cols] = [700, 400, 16]
        const data = clumped(k, cols, 4)
        const x = clumped(n, cols, 5)
        const tree = await build(device, scope, data, cols, 2)
        const nearest = Array.from({ length: n }, (_, i) => ranking({ data: x, cols }, i, { data, cols })[0].label)
        const recall: number[] = []
        for (const checks of [1, 8, 32, 128, k]) {
          const found = await search(tree, data, x, cols, checks)
          recall.push(nearest.filter((label, i) => found[i] === label).length / n)
        }
        expect(recall[4]).toBe(1)
        for (let i = 1; i < recall.length; i++) expect(recall[i]).toBeGreaterThanOrEqual(recall[i - 1])
        expect(recall[0]).toBeLessThan(0.8)
        expect(recall[3]).toBeGreaterThan(0.8)
      }))

    test('same seed, same tree; another seed, another tree', () =>
      use(async (scope) => {
        const data = clumped(500, 6, 6)
        const [a, b, c] = [
          await build(device, scope, data, 6, 1),
          await build(device, scope, data, 6, 1),
          await build(device, scope, data, 6, 2),
        ]
        expect(b).toEqual(a)
        expect(c.items).not.toEqual(a.items)
      }))
  })
}

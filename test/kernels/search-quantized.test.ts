/** A search in integers finds the nearest of the centres it looks at, or lists them, and measures them exactly. */
import { describe, expect, test } from 'vitest'
import { createRandom, shuffle } from '../../src/core/random.ts'
import { f32 } from '../../src/device/contract.ts'
import { assignLists, NO_LABEL } from '../../src/kernels/assign-lists.ts'
import { LEAF, searchTree } from '../../src/kernels/search-tree.ts'
import { TreeBuffers } from '../../src/trees/flat-tree.ts'
import { expectSame, expectSameBits } from '../tolerance.ts'
import { DEVICES, type OpenedDevice, onDevices } from './devices.ts'

interface Shape {
  readonly type: 'f32' | 'u8'
  readonly n: number
  readonly k: number
  readonly cols: number
}

/** More centres than are scored together, in leaves of any size, and most of them repeat others. */
const MANY = 500

/** Two levels: inner nodes with three leaves each, of few centres; the last leaf has what is left. */
function treeOf(k: number, centers: Float32Array, cols: number) {
  const random = createRandom(k)
  const items = Uint32Array.from({ length: k }, (_, i) => i)
  shuffle(random, items)
  const leaves: [number, number][] = []
  for (let at = 0; at < k; ) {
    const count = Math.min(k - at, 1 + random.below(k > MANY ? 40 : 5))
    leaves.push([at, count])
    at += count
  }
  const inner = Math.ceil(leaves.length / 3)
  const words = [1, inner, 0, 0]
  for (let i = 0; i < inner; i++) words.push(1 + inner + 3 * i, Math.min(3, leaves.length - 3 * i), 0, 0)
  for (const [from, count] of leaves) words.push(from, LEAF + count, 0, 0)
  const mean = (from: number, count: number): number[] => {
    const own = items.subarray(from, from + count)
    return Array.from({ length: cols }, (_, t) => own.reduce((sum, j) => sum + centers[j * cols + t], 0) / count)
  }
  const nodeCenters = [mean(0, k)]
  for (let i = 0; i < inner; i++) {
    const own = leaves.slice(3 * i, 3 * i + 3)
    nodeCenters.push(
      mean(
        own[0][0],
        own.reduce((sum, [, count]) => sum + count, 0),
      ),
    )
  }
  for (const [from, count] of leaves) nodeCenters.push(mean(from, count))
  // Any discounts will do, if they change the order in which nodes are visited.
  const nodes = Uint32Array.from(words, (word, at) => (at % 4 === 3 ? f32(5000 * cols * random.uniform()) : word))
  return { nodes, items, nodeCenters: Float32Array.from(nodeCenters.flat()), roots: 1, cols }
}

/** `draw` gives numbers from 0 to 1. */
function centersOf(k: number, cols: number, draw: () => number): Float32Array {
  const value = k > MANY ? () => 64 * Math.floor(4 * draw()) : () => 255 * draw()
  return Float32Array.from({ length: k * cols }, value)
}

async function search(opened: OpenedDevice, { type, n, k, cols }: Shape, checks: number, merged = false) {
  return opened.use(async (buffers) => {
    const { device, scope } = buffers
    const random = createRandom(n + k)
    const data = Array.from({ length: n * cols }, () => random.below(256))
    const centers = centersOf(k, cols, () => random.uniform())
    const points = buffers.rows(type === 'u8' ? Uint8Array.from(data) : Float32Array.from(data), cols)
    const rows = buffers.rows(centers, cols)
    const held = new TreeBuffers(device, scope)
    const tree = await held.quantize(held.upload(treeOf(k, centers, cols)), rows)
    expect(tree.quantized).toBeDefined()
    const labels = buffers.output(n * 4, new Uint32Array(n).fill(k - 1))
    const distances = buffers.output(n * 4, new Float32Array(n).fill(merged ? 0 : 1e30))
    const evaluated = buffers.output(n * 4)
    const order = Uint32Array.from({ length: n }, (_, i) => n - 1 - i)
    await searchTree(device, {
      points,
      centers: rows,
      tree,
      checks,
      labels: labels.buffer,
      distances: distances.buffer,
      evaluated: evaluated.buffer,
      order: buffers.upload(order),
      merge: merged,
    })
    // Distances to the labels found, and to the nearest of all, by another kernel.
    const measure = async (lists: Uint32Array, width: number) => {
      const own = buffers.output(n * 4)
      const to = buffers.output(n * 4)
      const given = { points, centers: rows, lists: buffers.upload(lists), width }
      await assignLists(device, { ...given, labels: own.buffer, distances: to.buffer })
      return { labels: await own.words(), distances: await to.floats() }
    }
    const found = {
      labels: await labels.words(),
      distances: await distances.floats(),
      evaluated: await evaluated.floats(),
    }
    const all = Uint32Array.from({ length: n * k }, (_, i) => i % k)
    return { ...found, own: await measure(found.labels, 1), nearest: await measure(all, k) }
  })
}

/** Lists, by a tree whose nodes alone are integers; `measured`: the distances to those listed, by another kernel. */
async function searchLists(opened: OpenedDevice, { type, n, k, cols }: Shape, width: number) {
  return opened.use(async (buffers) => {
    const { device, scope } = buffers
    const random = createRandom(n + k)
    const data = Array.from({ length: n * cols }, () => random.below(256))
    const centers = Float32Array.from({ length: k * cols }, () => 255 * random.uniform())
    const points = buffers.rows(type === 'u8' ? Uint8Array.from(data) : Float32Array.from(data), cols)
    const rows = buffers.rows(centers, cols)
    const held = new TreeBuffers(device, scope)
    const tree = await held.quantize(held.upload(treeOf(k, centers, cols)), rows, false)
    expect(tree.quantized?.centers).toBeUndefined()
    const labels = buffers.output(n * width * 4)
    const distances = buffers.output(n * width * 4)
    const evaluated = buffers.output(n * 4)
    const output = { labels: labels.buffer, distances: distances.buffer, evaluated: evaluated.buffer }
    await searchTree(device, { points, centers: rows, tree, checks: 0, width, ...output })
    const lists = await labels.words()
    const found = await distances.floats()
    const counts = await evaluated.floats()
    const measured = new Float32Array(n * width)
    for (let place = 0; place < width; place++) {
      const one = buffers.upload(Uint32Array.from({ length: n }, (_, i) => lists[i * width + place]))
      const to = buffers.output(n * 4)
      const own = buffers.output(n * 4)
      await assignLists(device, {
        points,
        centers: rows,
        lists: one,
        width: 1,
        labels: own.buffer,
        distances: to.buffer,
      })
      const squares = await to.floats()
      for (let i = 0; i < n; i++) measured[i * width + place] = squares[i]
    }
    const inFloats = buffers.output(n * width * 4)
    const plain = held.upload(treeOf(k, centers, cols))
    await searchTree(device, {
      points,
      centers: rows,
      tree: plain,
      checks: 0,
      width,
      ...output,
      labels: inFloats.buffer,
    })
    return { lists, distances: found, measured, evaluated: counts, inFloats: await inFloats.words() }
  })
}

describe('searching in integers', () => {
  onDevices(
    DEVICES.filter(({ name }) => name.startsWith('cpu')),
    (opened) => {
      const shapes: Shape[] = [
        { type: 'f32', n: 65, k: 40, cols: 1 },
        { type: 'f32', n: 129, k: 97, cols: 33 },
        { type: 'u8', n: 130, k: 61, cols: 128 },
        { type: 'u8', n: 33, k: 30, cols: 7 },
      ]
      test.each(shapes)('with as many checks as centres it is exact: $type, $k centres of $cols', async (shape) => {
        const found = await search(opened, shape, shape.k)
        expectSame(found.labels, found.nearest.labels)
        expectSameBits(found.distances, found.nearest.distances)
      })

      test('so it is with more centres than are scored together, and more in doubt than wait to be measured', async () => {
        for (const type of ['u8', 'f32'] as const) {
          const found = await search(opened, { type, n: 20, k: 700, cols: 2 }, 700)
          expectSame(found.labels, found.nearest.labels)
          expectSameBits(found.distances, found.nearest.distances)
        }
      })

      test.each(shapes)(
        'with fewer it looks at fewer, and measures what it found: $type, $k centres of $cols',
        async (shape) => {
          const few = await search(opened, shape, 8)
          expectSameBits(few.distances, few.own.distances)
          const hits = (labels: Uint32Array): number =>
            labels.reduce((sum, label, i) => sum + (label === few.nearest.labels[i] ? 1 : 0), 0)
          // Centres without any structure, so that a fifth of them hold about a third of the nearest.
          expect(hits(few.labels)).toBeGreaterThan(shape.n / 6)
          expect(hits((await search(opened, shape, 20)).labels)).toBeGreaterThanOrEqual(hits(few.labels))
          const most = Math.max(...few.evaluated)
          expect(most).toBeLessThanOrEqual(8 + 4 + 1 + 2 * shape.k)
        },
      )

      test.each(shapes)(
        'a list as long as there are centres has all of them: $type, $k centres of $cols',
        async (shape) => {
          const { lists, distances, measured } = await searchLists(opened, shape, shape.k + 3)
          for (let i = 0; i < shape.n; i++) {
            const list = lists.subarray(i * (shape.k + 3), (i + 1) * (shape.k + 3))
            expect([...list].sort((a, b) => a - b)).toEqual([
              ...Array.from({ length: shape.k }, (_, j) => j),
              ...[NO_LABEL, NO_LABEL, NO_LABEL],
            ])
          }
          expectSameBits(distances, measured)
        },
      )

      test.each(shapes)(
        'a shorter list is full, of the centres that a search in floats lists: $type, $k centres of $cols',
        async (shape) => {
          const width = 10
          const { lists, distances, measured, evaluated, inFloats } = await searchLists(opened, shape, width)
          for (let i = 0; i < shape.n; i++) {
            const list = new Set(lists.subarray(i * width, (i + 1) * width))
            expect(list.size).toBe(width)
            expect(list.has(NO_LABEL)).toBe(false)
          }
          expectSameBits(distances, measured)
          // Rounding of ranks changes the order in which nodes are visited for few points.
          const same = lists.reduce((sum, center, at) => sum + (center === inFloats[at] ? 1 : 0), 0)
          expect(same).toBeGreaterThan(0.9 * lists.length)
          expect(Math.max(...evaluated)).toBeLessThan(width + 1 + 2 * shape.k)
        },
      )

      test('a point keeps what is as near or nearer', async () => {
        const kept = await search(opened, { type: 'f32', n: 40, k: 30, cols: 5 }, 30, true)
        expect(kept.labels).toEqual(new Uint32Array(40).fill(29))
      })
    },
  )
})

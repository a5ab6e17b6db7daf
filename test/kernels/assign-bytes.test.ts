/** Points of bytes scored by integers: data that leaves none, some or all of the points to the exact form. */
import { describe, expect, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { assign, assignWorkspaceBytes } from '../../src/kernels/assign.ts'
import { bytesLayout } from '../../src/kernels/assign-workspace.ts'
import { paddedCols } from '../../src/kernels/rows.ts'
import { expectSame } from '../tolerance.ts'
import { type OpenedDevice, onDevices, withForms } from './devices.ts'
import { countOf, type Rows, squaredDistance } from './oracles.ts'

interface Found {
  readonly labels: Uint32Array
  readonly distances: Float32Array
  /** Points of the last pass that went to the exact form. */
  readonly unsure: number
}

/** `lastBound`: centres of the last binding. */
async function run(
  opened: OpenedDevice,
  x: Rows,
  c: Rows,
  before?: Omit<Found, 'unsure'>,
  lastBound = countOf(c),
): Promise<Found> {
  return opened.use(async (buffers) => {
    const from = buffers.rows(x.data, x.cols)
    const to = buffers.rows(c.data, c.cols)
    const labels = buffers.output(from.rows * 4, before?.labels)
    const distances = buffers.output(from.rows * 4, before?.distances)
    const workspace = buffers.output(assignWorkspaceBytes(to))
    await assign(buffers.device, {
      points: from,
      centers: to,
      labels: labels.buffer,
      distances: distances.buffer,
      workspace: workspace.buffer,
      merge: before !== undefined,
    })
    const { offset } = bytesLayout(Math.ceil(lastBound / 256) * 256, paddedCols(c.cols)).unsure
    const counters = new Uint32Array((await workspace.bytes()).buffer, offset, 2)
    expect(Math.min(...counters), 'one of the counters is ready for the next pass').toBe(0)
    return { labels: await labels.words(), distances: await distances.floats(), unsure: Math.max(...counters) }
  })
}

function nearest(x: Rows, c: Rows): { labels: number[]; distances: number[] } {
  const labels: number[] = []
  const distances: number[] = []
  for (let i = 0; i < countOf(x); i++) {
    let [label, distance] = [0, Infinity]
    for (let j = 0; j < countOf(c); j++) {
      const other = squaredDistance(x, i, c, j)
      if (other < distance) [label, distance] = [j, other]
    }
    labels.push(label)
    distances.push(distance)
  }
  return { labels, distances }
}

/** Multiples of `unit` below `most`: with a quarter and 32 all scores are exact in 32 bits, so labels are too. */
function numbers(count: number, most: number, unit: number, seed: number): Float32Array {
  const random = createRandom(seed)
  return Float32Array.from({ length: count }, () => random.below(most / unit) * unit)
}

function bytes(count: number, most: number, seed: number): Uint8Array {
  return Uint8Array.from(numbers(count, most, 1, seed))
}

onDevices([withForms({ assign: 'bytes' })], (opened) => {
  describe('bytes scored by integers', () => {
    test.each([
      [1, 129, 13],
      [17, 257, 16],
      [33, 511, 17],
      [40, 513, 29],
      [511, 300, 32],
    ])('are exact where rounded centres decide nothing, %i points, %i centres, %i columns', async (n, k, d) => {
      const x = { data: bytes(n * d, 32, 1), cols: d }
      const c = { data: numbers(k * d, 32, 0.25, 2), cols: d }
      const found = await run(opened, x, c)
      const expected = nearest(x, c)
      expectSame(found.labels, expected.labels)
      expectSame(found.distances, expected.distances)
    })

    test('are exact among pairs of centres nearly as far, in one lane, in two, and in two blocks', async () => {
      const [n, k, d] = [200, 600, 24]
      const x = { data: bytes(n * d, 32, 3), cols: d }
      for (const apart of [1, 64, 256]) {
        const data = numbers(k * d, 32, 1, 4)
        for (let j = 0; j + apart < k; j += 2 * apart) {
          for (let t = 0; t < d; t++) data[(j + apart) * d + t] = data[j * d + t]
          data[(j + apart) * d + (j % d)] += 0.25
        }
        const c = { data, cols: d }
        const found = await run(opened, x, c)
        expectSame(found.labels, nearest(x, c).labels)
      }
    })

    test('are sure beside whole centres far apart, unsure beside equal ones, and both are exact', async () => {
      const [n, k, d] = [150, 260, 32]
      const data = numbers(k * d, 256, 1, 5)
      // Copies of a centre for the same lane.
      for (const copy of [70, 134, 198]) data.copyWithin(copy * d, 6 * d, 7 * d)
      const c = { data, cols: d }
      const near = (center: number) => Uint8Array.from(data.subarray(center * d, (center + 1) * d))
      const x = { data: new Uint8Array(n * d), cols: d }
      for (let i = 0; i < n; i++) x.data.set(near(i < 100 ? 200 + (i % 50) : 6), i * d)
      const found = await run(opened, x, c)
      expect(found.unsure).toBe(50)
      const expected = nearest(x, c)
      expectSame(found.labels, expected.labels)
      expectSame(found.distances, expected.distances)
    })

    test('are exact beside centres that are no bytes at all', async () => {
      const [n, k, d] = [60, 140, 16]
      const x = { data: bytes(n * d, 32, 6), cols: d }
      const c = { data: numbers(k * d, 32, 1, 7), cols: d }
      c.data.fill(-300, 0, d)
      c.data.fill(500, d, 2 * d)
      const found = await run(opened, x, c)
      expectSame(found.labels, nearest(x, c).labels)
    })

    test('keep an earlier label unless a centre is strictly nearer, sure or not', async () => {
      const [n, k, d] = [90, 200, 16]
      const x = { data: bytes(n * d, 32, 8), cols: d }
      const c = { data: numbers(k * d, 32, 0.25, 9), cols: d }
      const expected = nearest(x, c)
      const before = {
        labels: new Uint32Array(n).fill(777),
        distances: Float32Array.from(expected.distances, (distance, i) => distance + ((i % 3) - 1) / 16),
      }
      const found = await run(opened, x, c, before)
      expectSame(
        found.labels,
        expected.labels.map((label, i) => (i % 3 === 2 ? label : 777)),
      )
    })

    test('are exact in several passes', async () => {
      const [n, k, d] = [1500, 257, 512]
      const x = { data: bytes(n * d, 8, 10), cols: d }
      const c = { data: numbers(k * d, 8, 0.25, 11), cols: d }
      const found = await run(opened, x, c)
      const expected = nearest(x, c)
      expectSame(found.labels, expected.labels)
      expectSame(found.distances, expected.distances)
    })
  })
})

onDevices([withForms({ assign: 'bytes' }, { bindingBytes: 2 ** 21 })], (opened) => {
  test('bytes scored by integers are exact where centres are cut into several bindings', async () => {
    const [n, k, d] = [33, 600, 1024]
    const x = { data: bytes(n * d, 8, 12), cols: d }
    const c = { data: numbers(k * d, 8, 0.25, 13), cols: d }
    c.data.copyWithin(599 * d, 5 * d, 6 * d)
    x.data.set(Uint8Array.from(c.data.subarray(5 * d, 6 * d), Math.round))
    const found = await run(opened, x, c, undefined, 600 - 512)
    const expected = nearest(x, c)
    expect(expected.labels[0]).toBe(5)
    expectSame(found.labels, expected.labels)
    expectSame(found.distances, expected.distances)
  })
})

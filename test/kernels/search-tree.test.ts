import { describe, expect, test } from 'vitest'
import { createRandom, shuffle } from '../../src/core/random.ts'
import { f32 } from '../../src/device/contract.ts'
import { padRows } from '../../src/kernels/rows.ts'
import { LEAF, searchTree } from '../../src/kernels/search-tree.ts'
import { fc } from '../properties.ts'
import { distanceBound, expectClose, expectSame } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice } from './devices.ts'
import { countOf, type Labelled, NONE, type Rows, ranking, squaredDistance } from './oracles.ts'
import { anySeed, centers, checkProperty, type Flavour, points, size } from './vectors.ts'

interface Node {
  readonly items?: readonly number[]
  readonly first?: number
  readonly count?: number
  readonly column: number
  /** With centres of nodes: the discount. */
  readonly threshold: number
}

interface Case {
  readonly x: Rows
  readonly c: Rows
  readonly nodes: readonly Node[]
  readonly roots: number
  /** For a k-means tree; any will do for a search that is compared with another over the same tree. */
  readonly nodeCenters: Rows | undefined
}

/** Trees of random shape: what a search does is right or wrong whatever the tree is good for. `wide`: large nodes. */
function makeCase(
  flavour: Flavour,
  n: number,
  k: number,
  d: number,
  roots: number,
  kd: boolean,
  seed: number,
  wide = false,
): Case {
  const random = createRandom(seed)
  const nodes: Node[] = []
  const spans: number[][] = []
  for (let root = 0; root < roots; root++) {
    const all = Uint32Array.from({ length: k }, (_, i) => i)
    shuffle(random, all)
    spans.push(Array.from(all))
  }
  for (let node = 0; node < spans.length; node++) {
    const inside = spans[node]
    const column = random.below(d)
    const threshold = Math.fround(random.normal() + 1)
    const most = kd ? 2 : wide ? 15 + random.below(20) : 2 + random.below(4)
    const count = Math.min(most, inside.length)
    if (inside.length < (wide ? 21 : 4) || count < 2) {
      nodes.push({ items: inside, column, threshold })
      continue
    }
    nodes.push({ first: spans.length, count, column, threshold })
    for (let child = 0; child < count; child++) spans.push(inside.filter((_, i) => i % count === child))
  }
  return {
    x: { data: points(flavour, n, d, seed + 1), cols: d },
    c: { data: centers(flavour, k, d, seed + 2), cols: d },
    nodes,
    roots,
    nodeCenters: kd ? undefined : { data: centers(flavour, nodes.length, d, seed + 3), cols: d },
  }
}

interface Found {
  readonly labels: Uint32Array
  readonly distances: Float32Array
  readonly evaluated: Float32Array
}

function run(
  opened: OpenedDevice,
  given: Case,
  checks: number,
  has?: readonly Labelled[],
  width?: number,
  order?: Uint32Array,
): Promise<Found> {
  return opened.use(async (buffers) => {
    const { x, c, nodes, roots, nodeCenters } = given
    const n = countOf(x)
    const items: number[] = []
    const words: number[] = []
    for (const { items: inside, first = 0, count = 0, column, threshold } of nodes) {
      words.push(inside ? items.length : first, inside ? LEAF + inside.length : count, column, f32(threshold))
      items.push(...(inside ?? []))
    }
    const bytes = n * 4 * (width ?? 1)
    const labels = buffers.output(bytes, has && Uint32Array.from(has, ({ label }) => label))
    const distances = buffers.output(bytes, has && Float32Array.from(has, ({ distance }) => distance))
    const evaluated = buffers.output(n * 4)
    await searchTree(buffers.device, {
      points: buffers.rows(x.data, x.cols),
      centers: buffers.rows(c.data, c.cols),
      tree: {
        nodes: buffers.upload(Uint32Array.from(words)),
        items: buffers.upload(Uint32Array.from(items)),
        nodeCenters: nodeCenters && buffers.upload(padRows(nodeCenters.data, nodes.length, x.cols)),
        roots,
        nodeCount: nodes.length,
      },
      checks,
      labels: labels.buffer,
      distances: distances.buffer,
      evaluated: evaluated.buffer,
      ...(has ? { merge: true } : {}),
      ...(width ? { width } : {}),
      ...(order ? { order: buffers.upload(order) } : {}),
    })
    return { labels: await labels.words(), distances: await distances.floats(), evaluated: await evaluated.floats() }
  })
}

/** The same search with a sorted list for a queue. `again`: centres met in several trees count each time. */
function oracle(given: Case, i: number, checks: number, again: boolean): Labelled & { evaluated: number } {
  const { x, c, nodes, roots, nodeCenters } = given
  const queue = Array.from({ length: roots }, (_, node) => ({ rank: 0, node }))
  const seen = new Set<number>()
  let best: Labelled = { label: NONE, distance: Infinity }
  let checked = 0
  let measured = 0
  while (queue.length > 0 && checked < checks) {
    queue.sort((a, b) => a.rank - b.rank)
    const { rank, node: from } = queue.shift() as { rank: number; node: number }
    let node = nodes[from]
    while (node.items === undefined) {
      const { first = 0, count = 0, column, threshold } = node
      const gap = x.data[i * x.cols + column] - threshold
      const children = Array.from({ length: count }, (_, child) => ({
        node: first + child,
        rank: nodeCenters
          ? squaredDistance(x, i, nodeCenters, first + child) - nodes[first + child].threshold
          : (child === 1) === gap >= 0
            ? -1
            : rank + gap ** 2,
      }))
      if (nodeCenters) measured += count
      const [next, ...others] = children.sort((a, b) => a.rank - b.rank)
      queue.push(...others)
      node = nodes[next.node]
    }
    for (const label of node.items) {
      if (!again && seen.has(label)) continue
      seen.add(label)
      checked++
      const distance = squaredDistance(x, i, c, label)
      if (distance < best.distance || (distance === best.distance && label < best.label)) best = { label, distance }
    }
  }
  return { ...best, evaluated: measured + checked }
}

onEveryDevice((opened) => {
  describe('search-tree', () => {
    test.each([
      [1, 1, 1, 1],
      [17, 5, 4, 1],
      [60, 40, 5, 1],
      [40, 100, 9, 1],
      [40, 60, 3, 3],
    ])(
      'with enough checks is exact on whole numbers, %i points, %i centres, %i columns, %i trees',
      async (n, k, d, roots) => {
        for (const flavour of ['whole', 'wholeBytes'] as const) {
          for (const kd of [false, true]) {
            const given = makeCase(flavour, n, k, d, roots, kd, 7)
            // A GPU counts a centre again in each tree.
            const found = await run(opened, given, k * roots)
            const best = Array.from({ length: n }, (_, i) => ranking(given.x, i, given.c)[0])
            expectSame(
              found.labels,
              best.map(({ label }) => label),
            )
            expectSame(
              found.distances,
              best.map(({ distance }) => distance),
            )
          }
        }
      },
    )

    test.each([1, 17, 511, 513])('looks into nodes wider than the threads of a row, %i points', async (n) => {
      for (const [k, kd] of [
        [300, false],
        [900, false],
        [300, true],
      ] as const) {
        const given = makeCase('unit', n, k, 6, 1, kd, 19, true)
        const found = await run(opened, given, 50)
        const best = Array.from({ length: n }, (_, i) => oracle(given, i, 50, true))
        expectSame(
          found.labels,
          best.map(({ label }) => label),
        )
        expectSame(
          found.evaluated,
          best.map(({ evaluated }) => evaluated),
        )
      }
    })

    test.each([1, 7, 60, 75])('lists the %i centres it measures first', async (width) => {
      for (const kd of [false, true]) {
        const given = makeCase('whole', 30, 60, 5, 1, kd, 11)
        const { x, c } = given
        const found = await run(opened, given, 1, undefined, width)
        const alone = await run(opened, given, width)
        for (let i = 0; i < countOf(x); i++) {
          const labels = Array.from(found.labels.subarray(i * width, (i + 1) * width)).filter((label) => label !== NONE)
          expect(labels.length).toBe(Math.min(width, 60))
          expect(new Set(labels).size).toBe(labels.length)
          labels.forEach((label, place) => {
            expect(found.distances[i * width + place]).toBe(squaredDistance(x, i, c, label))
          })
          // A search for one ends with a whole leaf, so it may have seen a little more.
          if (width >= 60)
            expect(Math.min(...found.distances.subarray(i * width, i * width + labels.length))).toBe(alone.distances[i])
        }
      }
    })

    test('looks where the oracle looks', async () => {
      const again = opened.device.info.kind === 'webgpu'
      const shape = fc.record({
        n: size(40),
        k: size(60),
        d: size(17),
        roots: fc.integer({ min: 1, max: 3 }),
        kd: fc.boolean(),
        checks: fc.integer({ min: 1, max: 70 }),
        bytes: fc.boolean(),
        seed: anySeed,
      })
      await checkProperty(opened.runs, shape, async ({ n, k, d, roots, kd, checks, bytes, seed }) => {
        // One column of bytes has many equal ranks, between which any order is right.
        const given = makeCase(bytes && d > 8 ? 'bytes' : 'unit', n, k, d, kd ? roots : 1, kd, seed)
        const found = await run(opened, given, checks)
        const best = Array.from({ length: n }, (_, i) => oracle(given, i, checks, again))
        expectSame(
          found.labels,
          best.map(({ label }) => label),
        )
        expectClose(
          found.distances,
          best.map(({ distance }) => distance),
          (i) => distanceBound(d, best[i].distance),
        )
        expectSame(
          found.evaluated,
          best.map(({ evaluated }) => evaluated),
        )
      })
    })

    test.each([undefined, 7])('finds the same in any order of the rows, lists of %s', async (width) => {
      const given = makeCase('unit', 65, 40, 5, 1, false, 17)
      const order = Uint32Array.from({ length: 65 }, (_, row) => row)
      shuffle(createRandom(4), order)
      const found = await run(opened, given, 9, undefined, width, order)
      const plain = await run(opened, given, 9, undefined, width)
      expectSame(found.labels, plain.labels)
      expectSame(found.distances, plain.distances)
      expectSame(found.evaluated, plain.evaluated)
    })

    test('keeps what is there unless strictly nearer', async () => {
      const given = makeCase('whole', 50, 30, 4, 1, false, 11)
      const best = Array.from({ length: 50 }, (_, i) => ranking(given.x, i, given.c)[0])
      const has = best.map(({ distance }, i) => ({ label: 40 + i, distance: distance + (i % 3) - 1 }))
      const { labels, distances } = await run(opened, given, 30, has)
      expectSame(
        labels,
        best.map(({ label }, i) => (i % 3 === 2 ? label : 40 + i)),
      )
      expectSame(
        distances,
        best.map(({ distance }, i) => (i % 3 === 0 ? distance - 1 : distance)),
      )
    })

    test('a long queue loses nothing on the CPU and stays right on a GPU', async () => {
      const given = makeCase('unit', 30, 900, 4, 1, true, 13)
      expect(given.nodes.length).toBeGreaterThan(512)
      const { labels, distances } = await run(opened, given, 900)
      for (let i = 0; i < 30; i++) {
        const [best] = ranking(given.x, i, given.c)
        const chosen = squaredDistance(given.x, i, given.c, labels[i])
        expect(Math.abs(distances[i] - chosen)).toBeLessThanOrEqual(distanceBound(4, chosen))
        if (opened.device.info.kind === 'cpu') expect(labels[i]).toBe(best.label)
      }
    })
  })
})

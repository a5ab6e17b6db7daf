import { describe, expect, test } from 'vitest'
import type { VectorData } from '../../src/core/matrix.ts'
import { assign, assignWorkspaceBytes, MOST_NEAREST } from '../../src/kernels/assign.ts'
import { fc } from '../properties.ts'
import {
  type Choice,
  distanceBound,
  expectChoices,
  expectClose,
  expectSame,
  isAbsent,
  scoreBound,
} from '../tolerance.ts'
import { DEVICES, type OpenedDevice, onDevices, SMALL_LIMITS, SOFTWARE_DEVICES, withForms } from './devices.ts'
import { countOf, lengthOf, longest, NONE, type Rows, ranking, squaredDistance } from './oracles.ts'
import { anySeed, centers, checkProperty, EXACT, exactFlavour, points, ROUGH, roughFlavour, size } from './vectors.ts'

interface Found {
  readonly labels: Uint32Array
  readonly distances: Float32Array
}

interface Call {
  readonly c: Rows
  readonly m?: number
  readonly merge?: boolean
  readonly firstLabel?: number
}

/** One call after the other over the same results, which at first hold `before` or rubbish. */
async function run(opened: OpenedDevice, x: Rows, calls: readonly Call[], before?: Found): Promise<Found> {
  return opened.use(async (buffers) => {
    const from = buffers.rows(x.data, x.cols)
    const m = calls[0].m ?? 1
    const labels = buffers.output(from.rows * m * 4, before?.labels)
    const distances = buffers.output(from.rows * m * 4, before?.distances)
    for (const { c, ...options } of calls) {
      const to = buffers.rows(c.data, c.cols)
      const workspace = buffers.output(assignWorkspaceBytes(to))
      await assign(buffers.device, {
        points: from,
        centers: to,
        labels: labels.buffer,
        distances: distances.buffer,
        workspace: workspace.buffer,
        ...options,
      })
      await workspace.bytes()
    }
    return { labels: await labels.words(), distances: await distances.floats() }
  })
}

/** On whole numbers nothing is rounded: the m nearest in order, ties by index, absent places marked. */
function expectExact(found: Found, x: Rows, c: Rows, m = 1, firstLabel = 0): void {
  const labels: number[] = []
  const distances: number[] = []
  for (let i = 0; i < countOf(x); i++) {
    const best = ranking(x, i, c, firstLabel)
    for (let place = 0; place < m; place++) {
      labels.push(best[place]?.label ?? NONE)
      distances.push(best[place]?.distance ?? Infinity)
    }
  }
  expectSame(found.labels, labels)
  expectSame(
    Array.from(found.distances, (distance) => (isAbsent(distance) ? Infinity : distance)),
    distances,
  )
}

/** On other numbers each place holds a centre as near as the best for that place, within the bounds. */
function expectNearest(found: Found, x: Rows, c: Rows, m = 1, firstLabel = 0): void {
  const k = countOf(c)
  const present = Math.min(m, k)
  const reach = longest(c)
  const choices: Choice[] = []
  const expected: number[] = []
  for (let i = 0; i < countOf(x); i++) {
    const best = ranking(x, i, c, firstLabel)
    const labels = found.labels.subarray(i * m, i * m + present)
    expect(new Set(labels).size, 'a centre was given twice').toBe(present)
    for (let place = 0; place < present; place++) {
      const index = labels[place] - firstLabel
      const chosen = index >= 0 && index < k ? squaredDistance(x, i, c, index) : undefined
      // Places are ordered by rounded distances, so two neighbours may be swapped by that much too.
      const slack = scoreBound(x.cols, lengthOf(x, i), reach) + 2 * distanceBound(x.cols, best[place].distance)
      choices.push({ label: labels[place], chosen, best: best[place].distance, slack })
      expected.push(chosen ?? 0)
    }
  }
  expectChoices(choices)
  const given = Float64Array.from(expected, (_, at) => found.distances[Math.floor(at / present) * m + (at % present)])
  expectClose(given, expected, (at) => distanceBound(x.cols, expected[at]))
  for (let at = 0; at < given.length; at++) {
    if (at % present > 0) expect(given[at]).toBeGreaterThanOrEqual(given[at - 1])
  }
}

/** n, k, d around panels of 8, tiles of 64, blocks of 4 points and 16 columns; few tiles, they are slow in software. */
const SHAPES = [
  [1, 1, 1],
  [2, 3, 5],
  [3, 2, 4],
  [4, 5, 3],
  [5, 4, 17],
  [17, 8, 2],
  [17, 9, 2],
  [63, 64, 3],
  [65, 65, 1],
  [129, 127, 4],
  [127, 129, 5],
  [511, 3, 2],
  [513, 5, 3],
  [2, 511, 5],
  [4, 513, 17],
  [3, 2, 129],
  [5, 17, 127],
  [2, 4, 513],
  [1, 3, 511],
  // From 32 points, 64 centres and 13 columns on the CPU takes scores in integers, 1,024 centres at a time.
  [31, 64, 13],
  [32, 63, 13],
  [32, 64, 13],
  [33, 65, 17],
  [129, 127, 16],
  [40, 66, 129],
  [65, 1100, 14],
  [33, 64, 513],
]

function pair(flavour: Parameters<typeof points>[0], n: number, k: number, d: number, seed: number): [Rows, Rows] {
  return [
    { data: points(flavour, n, d, seed), cols: d },
    { data: centers(flavour, k, d, seed + 1), cols: d },
  ]
}

function split(c: Rows, at: number): [Rows, Rows] {
  const cut = at * c.cols
  const part = (data: VectorData): Rows => ({ data, cols: c.cols })
  return [part(c.data.subarray(0, cut)), part(c.data.subarray(cut))]
}

/** With small limits centres are cut into several bindings. */
const FORMS = [
  withForms({ assign: 'tiles' }),
  withForms({ assign: 'wide-tiles' }),
  withForms({ assign: 'bytes' }),
  withForms({ assign: 'scalar' }, { ...SMALL_LIMITS, workgroups: 65535 }),
]

onDevices([...SOFTWARE_DEVICES, ...FORMS], (opened) => {
  describe('the nearest', () => {
    test.each(SHAPES)('is exact on whole numbers, %i points, %i centres, %i columns', async (n, k, d) => {
      for (const flavour of EXACT) {
        const [x, c] = pair(flavour, n, k, d, 1)
        expectExact(await run(opened, x, [{ c }]), x, c)
      }
    })

    test.each(ROUGH)('is as near as rounding lets it be, %s values', async (flavour) => {
      const [x, c] = pair(flavour, 70, 66, 19, 3)
      expectNearest(await run(opened, x, [{ c }]), x, c)
    })

    test('keeps its distance exact where scores lose most digits', async () => {
      // Far from the origin the choice is a gamble, but the distance of the chosen is not.
      const [x, c] = pair('offset', 20, 9, 3, 4)
      const found = await run(opened, x, [{ c }])
      const expected = Array.from(found.labels, (label, i) => squaredDistance(x, i, c, label))
      expectClose(found.distances, expected, (i) => distanceBound(3, expected[i]))
    })

    test('is the first of equal centres', async () => {
      for (const [n, d] of [
        [9, 6],
        [40, 18],
      ]) {
        const x = { data: points('unit', n, d, 5), cols: d }
        const one = centers('unit', 1, d, 6)
        const c = { data: Float32Array.from({ length: 130 * d }, (_, i) => one[i % d]), cols: d }
        const { labels } = await run(opened, x, [{ c }])
        expectSame(labels, new Uint32Array(n))
      }
    })

    test('is exact beside a centre far out, which leaves the others few integers', async () => {
      const [x, c] = pair('whole', 64, 100, 16, 14)
      c.data.fill(1000, 99 * 16)
      x.data.fill(1000, 63 * 16)
      expectExact(await run(opened, x, [{ c }]), x, c)
    })

    test('of centres in two calls, numbered on, is the nearest of all', async () => {
      for (const [k, cut, d] of [
        [12, 5, 5],
        [70, 1, 5],
        [70, 69, 5],
        [140, 70, 17],
      ]) {
        const [x, c] = pair('whole', 33, k, d, 7)
        const [left, right] = split(c, cut)
        const calls = [{ c: left }, { c: right, merge: true, firstLabel: cut }]
        expectExact(await run(opened, x, calls), x, c)
        const [y, e] = pair('unit', 33, k, d, 8)
        const [first, second] = split(e, cut)
        expectNearest(await run(opened, y, [{ c: first }, { c: second, merge: true, firstLabel: cut }]), y, e)
      }
    })

    test('counts from firstLabel', async () => {
      const [x, c] = pair('whole', 21, 11, 3, 9)
      expectExact(await run(opened, x, [{ c, firstLabel: 1_000_000 }]), x, c, 1, 1_000_000)
    })

    test('with merge keeps the first of two equal sets of centres', async () => {
      for (const [n, k, d] of [
        [9, 3, 2],
        [9, 12, 5],
        [40, 70, 17],
      ]) {
        const [x, c] = pair('unit', n, k, d, 15)
        const calls = [{ c }, { c, merge: true, firstLabel: 1000 }]
        expectSame((await run(opened, x, calls)).labels, (await run(opened, x, [{ c }])).labels)
      }
    })

    test('with merge replaces only what is strictly farther', async () => {
      const x = { data: Float32Array.of(0, 0, 10, 10, 20, 20), cols: 2 }
      const c = { data: Float32Array.of(0, 1, 10, 11, 20, 21), cols: 2 }
      const before = { labels: Uint32Array.of(70, 80, 90), distances: Float32Array.of(0.5, 1, 2) }
      const after = await run(opened, x, [{ c, merge: true }], before)
      expectSame(after.labels, [70, 80, 2])
      expectSame(after.distances, [0.5, 1, 1])
    })

    test('agrees with the oracle on any shape', async () => {
      const shape = fc.oneof(
        fc.record({ n: size(80), k: size(80), d: size(20), seed: anySeed }),
        fc.record({
          n: fc.integer({ min: 30, max: 70 }),
          k: fc.integer({ min: 60, max: 140 }),
          d: fc.integer({ min: 12, max: 24 }),
          seed: anySeed,
        }),
      )
      await checkProperty(opened.runs, fc.tuple(shape, exactFlavour), async ([{ n, k, d, seed }, flavour]) => {
        const [x, c] = pair(flavour, n, k, d, seed)
        expectExact(await run(opened, x, [{ c }]), x, c)
      })
      await checkProperty(opened.runs, fc.tuple(shape, roughFlavour), async ([{ n, k, d, seed }, flavour]) => {
        const [x, c] = pair(flavour, n, k, d, seed)
        expectNearest(await run(opened, x, [{ c }]), x, c)
      })
    })
  })
})

// One form serves all hardware.
onDevices(DEVICES, (opened) => {
  describe('the m nearest', () => {
    test.each([
      [2, 2, 1, 1],
      [3, 5, 2, 4],
      [4, 17, 17, 5],
      [5, 17, 129, 3],
      [7, 33, 5, 17],
      [8, 9, 4, 4],
      [17, 5, 3, 2],
      [40, 7, 40, 3],
      [MOST_NEAREST, 3, 300, 2],
    ])('are exact on whole numbers, m %i, %i points, %i centres, %i columns', async (m, n, k, d) => {
      for (const flavour of EXACT) {
        const [x, c] = pair(flavour, n, k, d, 10)
        expectExact(await run(opened, x, [{ c, m }]), x, c, m)
      }
    })

    test.each(ROUGH)('are as near as rounding lets them be, %s values', async (flavour) => {
      const [x, c] = pair(flavour, 40, 37, 11, 11)
      expectNearest(await run(opened, x, [{ c, m: 6 }]), x, c, 6)
    })

    test('of centres in two calls, numbered on, are the nearest of all', async () => {
      for (const [m, k, cut] of [
        [3, 12, 5],
        [4, 7, 2],
        [9, 5, 3],
      ]) {
        const [x, c] = pair('whole', 21, k, 3, 12)
        const [left, right] = split(c, cut)
        const calls = [
          { c: left, m },
          { c: right, m, merge: true, firstLabel: cut },
        ]
        expectExact(await run(opened, x, calls), x, c, m)
      }
    })

    test('agree with the oracle on any shape', async () => {
      const shape = fc.record({
        n: size(40),
        k: size(40),
        d: size(20),
        m: fc.integer({ min: 2, max: 12 }),
        seed: anySeed,
      })
      await checkProperty(opened.runs, fc.tuple(shape, exactFlavour), async ([{ n, k, d, m, seed }, flavour]) => {
        const [x, c] = pair(flavour, n, k, d, seed)
        expectExact(await run(opened, x, [{ c, m }]), x, c, m)
      })
      await checkProperty(opened.runs, fc.tuple(shape, roughFlavour), async ([{ n, k, d, m, seed }, flavour]) => {
        const [x, c] = pair(flavour, n, k, d, seed)
        expectNearest(await run(opened, x, [{ c, m }]), x, c, m)
      })
    })

    test.each([0, -1, 1.5, MOST_NEAREST + 1, Number.NaN])('cannot be %d', async (m) => {
      const [x, c] = pair('whole', 2, 2, 2, 13)
      await expect(run(opened, x, [{ c, m }])).rejects.toThrow(
        `Option m is ${m}: give a whole number from 1 to ${MOST_NEAREST}.`,
      )
    })
  })
})

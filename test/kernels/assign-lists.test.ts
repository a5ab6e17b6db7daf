import { describe, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { assignLists, NO_LABEL } from '../../src/kernels/assign-lists.ts'
import { fc } from '../properties.ts'
import { distanceBound, expectChoices, expectClose, expectSame, isAbsent } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice } from './devices.ts'
import { bestOf, countOf, type Labelled, NONE, type Rows, squaredDistance } from './oracles.ts'
import {
  anySeed,
  centers,
  checkProperty,
  EXACT,
  exactFlavour,
  type Flavour,
  points,
  ROUGH,
  roughFlavour,
  size,
  wholeNumbers,
} from './vectors.ts'

interface Case {
  readonly x: Rows
  readonly c: Rows
  readonly lists: Uint32Array
  readonly width: number
  /** What points have before; with it the call merges. */
  readonly has?: readonly Labelled[]
}

/** Random candidates, about one place in five empty, the same centre sometimes twice. */
function makeCase(flavour: Flavour, n: number, k: number, d: number, width: number, seed: number): Case {
  const random = createRandom(seed)
  return {
    x: { data: points(flavour, n, d, seed + 1), cols: d },
    c: { data: centers(flavour, k, d, seed + 2), cols: d },
    lists: Uint32Array.from({ length: n * width }, () => (random.below(5) === 0 ? NONE : random.below(k))),
    width,
  }
}

/** Each point starts at some centre, as after an assignment. */
function withStart(given: Case, seed: number): Case {
  const labels = Array.from(wholeNumbers(countOf(given.x), countOf(given.c), seed))
  const distanceTo = (label: number, i: number): number => Math.fround(squaredDistance(given.x, i, given.c, label))
  return { ...given, has: labels.map((label, i) => ({ label, distance: distanceTo(label, i) })) }
}

async function run(opened: OpenedDevice, given: Case): Promise<{ labels: Uint32Array; distances: Float32Array }> {
  return opened.use(async (buffers) => {
    const { has, width } = given
    const n = countOf(given.x)
    const labels = buffers.output(n * 4, has && Uint32Array.from(has, ({ label }) => label))
    const distances = buffers.output(n * 4, has && Float32Array.from(has, ({ distance }) => distance))
    await assignLists(buffers.device, {
      points: buffers.rows(given.x.data, given.x.cols),
      centers: buffers.rows(given.c.data, given.c.cols),
      lists: buffers.upload(given.lists),
      width,
      labels: labels.buffer,
      distances: distances.buffer,
      ...(has ? { merge: true } : {}),
    })
    return { labels: await labels.words(), distances: await distances.floats() }
  })
}

function candidatesOf({ lists, width }: Case, i: number): Uint32Array {
  return lists.subarray(i * width, (i + 1) * width)
}

function expected(given: Case): Labelled[] {
  return Array.from({ length: countOf(given.x) }, (_, i) =>
    bestOf(given.x, i, given.c, candidatesOf(given, i), given.has?.[i]),
  )
}

function withInfinity(distances: Float32Array): number[] {
  return Array.from(distances, (distance) => (isAbsent(distance) ? Infinity : distance))
}

async function checkExact(opened: OpenedDevice, given: Case): Promise<void> {
  const found = await run(opened, given)
  const best = expected(given)
  expectSame(
    found.labels,
    best.map(({ label }) => label),
  )
  expectSame(
    withInfinity(found.distances),
    best.map(({ distance }) => distance),
  )
}

async function checkRough(opened: OpenedDevice, given: Case): Promise<void> {
  const { x, c, has } = given
  const found = await run(opened, given)
  const chosen = Array.from(found.labels, (label, i) => {
    if (label === has?.[i].label) return has[i].distance
    if (label === NONE) return Infinity
    return candidatesOf(given, i).includes(label) ? squaredDistance(x, i, c, label) : undefined
  })
  expectChoices(
    expected(given).map(({ distance: best }, i) => ({
      label: found.labels[i],
      chosen: chosen[i],
      best,
      slack: Number.isFinite(best) ? 2 * distanceBound(x.cols, best) : 0,
    })),
  )
  const distances = chosen.map((distance) => distance ?? 0)
  expectClose(withInfinity(found.distances), distances, (i) => distanceBound(x.cols, distances[i]))
}

onEveryDevice((opened) => {
  describe('assign-lists', () => {
    test.each([
      [1, 1, 1, 1],
      [17, 5, 4, 3],
      [129, 17, 5, 2],
      [127, 513, 2, 17],
      [513, 3, 3, 1],
      [3, 129, 511, 5],
      [5, 2, 513, 4],
    ])('is exact on whole numbers, %i points, %i centres, %i columns, %i places', async (n, k, d, width) => {
      for (const flavour of EXACT) {
        const given = makeCase(flavour, n, k, d, width, 1)
        await checkExact(opened, given)
        await checkExact(opened, withStart(given, 2))
      }
    })

    test.each(ROUGH)('is as near as rounding lets it be, %s values', async (flavour) => {
      const given = makeCase(flavour, 60, 30, 19, 5, 3)
      await checkRough(opened, given)
      await checkRough(opened, withStart(given, 4))
    })

    test.each([0, 3])('gives no label for %i empty places, and keeps one that is there', async (width) => {
      const given = { ...makeCase('whole', 9, 4, 3, width, 5), lists: new Uint32Array(9 * width).fill(NO_LABEL) }
      const found = await run(opened, given)
      expectSame(found.labels, new Uint32Array(9).fill(NO_LABEL))
      expectSame(withInfinity(found.distances), new Array(9).fill(Infinity))
      const has = Array.from({ length: 9 }, (_, i) => ({ label: i, distance: i / 2 }))
      const kept = await run(opened, { ...given, has })
      expectSame(
        kept.labels,
        has.map(({ label }) => label),
      )
      expectSame(
        kept.distances,
        has.map(({ distance }) => distance),
      )
    })

    test('breaks ties by index, not by place, also with what is there', async () => {
      const x = { data: new Float32Array(3 * 2), cols: 2 }
      const c = { data: Float32Array.of(3, 0, 0, 3, -3, 0, 0, -3, 5, 5), cols: 2 }
      const lists = Uint32Array.of(3, 1, 2, 4, 3, 2, 2, 1, 4)
      expectSame((await run(opened, { x, c, lists, width: 3 })).labels, [1, 2, 1])
      const has = [0, 3, 3].map((label) => ({ label, distance: 9 }))
      expectSame((await run(opened, { x, c, lists, width: 3, has })).labels, [0, 2, 1])
    })

    test('agrees with the oracle on any lists', async () => {
      const shape = fc.record({
        n: size(40),
        k: size(40),
        d: size(20),
        width: fc.nat(8),
        merge: fc.boolean(),
        seed: anySeed,
      })
      const cases = (flavours: fc.Arbitrary<Flavour>): fc.Arbitrary<Case> =>
        fc.tuple(shape, flavours).map(([{ n, k, d, width, merge, seed }, flavour]) => {
          const given = makeCase(flavour, n, k, d, width, seed)
          return merge ? withStart(given, seed + 3) : given
        })
      await checkProperty(opened.runs, cases(exactFlavour), (given) => checkExact(opened, given))
      await checkProperty(opened.runs, cases(roughFlavour), (given) => checkRough(opened, given))
    })
  })
})

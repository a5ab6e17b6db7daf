import { describe, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { assignGroups } from '../../src/kernels/assign-groups.ts'
import { fc } from '../properties.ts'
import { distanceBound, expectChoices, expectSame } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice } from './devices.ts'
import { bestOf, countOf, type Labelled, NONE, type Rows, squaredDistance } from './oracles.ts'
import { anySeed, centers, checkProperty, EXACT, exactFlavour, type Flavour, points, ROUGH, size } from './vectors.ts'

interface Case {
  readonly x: Rows
  readonly c: Rows
  /** First centre and number of centres of each group. */
  readonly groups: Uint32Array
  readonly places: Uint32Array
}

/** Ranges of centres side by side, some of them empty; about one point in five is in no group. */
function makeCase(flavour: Flavour, n: number, k: number, d: number, seed: number): Case {
  const random = createRandom(seed)
  const groups: number[] = []
  for (let first = 0; first < k; ) {
    const count = Math.min(random.below(5), k - first)
    groups.push(first, count)
    first += count
  }
  const place = (): number => (random.below(5) === 0 ? NONE : random.below(groups.length / 2))
  return {
    x: { data: points(flavour, n, d, seed + 1), cols: d },
    c: { data: centers(flavour, k, d, seed + 2), cols: d },
    groups: Uint32Array.from(groups),
    places: Uint32Array.from({ length: n }, place),
  }
}

function run(opened: OpenedDevice, { x, c, groups, places }: Case): Promise<Uint32Array> {
  return opened.use(async (buffers) => {
    const labels = buffers.output(countOf(x) * 4)
    await assignGroups(buffers.device, {
      points: buffers.rows(x.data, x.cols),
      centers: buffers.rows(c.data, c.cols),
      groups: buffers.upload(groups),
      width: 5,
      places: buffers.upload(places),
      labels: labels.buffer,
    })
    return labels.words()
  })
}

function candidatesOf({ groups, places }: Case, i: number): number[] {
  if (places[i] === NONE) return []
  return Array.from({ length: groups[places[i] * 2 + 1] }, (_, j) => groups[places[i] * 2] + j)
}

function expected(given: Case): Labelled[] {
  return Array.from({ length: countOf(given.x) }, (_, i) => bestOf(given.x, i, given.c, candidatesOf(given, i)))
}

async function checkExact(opened: OpenedDevice, given: Case): Promise<void> {
  expectSame(
    await run(opened, given),
    expected(given).map(({ label }) => label),
  )
}

onEveryDevice((opened) => {
  describe('assign-groups', () => {
    test.each([
      [1, 1, 1],
      [17, 5, 4],
      [129, 17, 5],
      [127, 513, 2],
      [3, 7, 511],
    ])('is exact on whole numbers, %i points, %i centres, %i columns', async (n, k, d) => {
      for (const flavour of EXACT) await checkExact(opened, makeCase(flavour, n, k, d, 1))
    })

    test.each(ROUGH)('is as near as rounding lets it be, %s values', async (flavour) => {
      const given = makeCase(flavour, 60, 30, 19, 3)
      const found = await run(opened, given)
      expectChoices(
        expected(given).map(({ distance: best }, i) => ({
          label: found[i],
          chosen: candidatesOf(given, i).includes(found[i])
            ? squaredDistance(given.x, i, given.c, found[i])
            : found[i] === NONE && best === Infinity
              ? Infinity
              : undefined,
          best,
          slack: Number.isFinite(best) ? 2 * distanceBound(19, best) : 0,
        })),
      )
    })

    test('agrees with the oracle on any groups', async () => {
      const shape = fc.record({ n: size(40), k: size(40), d: size(20), seed: anySeed, flavour: exactFlavour })
      const cases = shape.map(({ n, k, d, seed, flavour }) => makeCase(flavour, n, k, d, seed))
      await checkProperty(opened.runs, cases, (given) => checkExact(opened, given))
    })
  })
})

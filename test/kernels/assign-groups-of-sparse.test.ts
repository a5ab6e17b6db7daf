/** assign-groups given sparse rows: the same as over the rows in full. */
import { describe, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { assignGroups } from '../../src/kernels/assign-groups.ts'
import { expectChoices, expectSame, sparseDistanceBound } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice } from './devices.ts'
import { bestOf, countOf, lengthOf, longest, NONE, type Rows, squaredDistance } from './oracles.ts'
import { type SparseRows, sparsePoints, uploadSparse } from './sparse-rows.ts'
import { centers, type Flavour } from './vectors.ts'

interface Case {
  readonly x: SparseRows
  readonly c: Rows
  /** First centre and number of centres of each group. */
  readonly groups: Uint32Array
  readonly places: Uint32Array
}

/** Ranges of centres side by side, some of them empty; about one row in five is in no group. */
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
    x: sparsePoints(flavour, n, d, Math.min(0.6, 8 / d), seed + 1),
    c: { data: centers(flavour, k, d, seed + 2), cols: d },
    groups: Uint32Array.from(groups),
    places: Uint32Array.from({ length: n }, place),
  }
}

function run(opened: OpenedDevice, { x, c, groups, places }: Case): Promise<Uint32Array> {
  return opened.use(async (buffers) => {
    const labels = buffers.output(x.sparse.rows * 4)
    await assignGroups(buffers.device, {
      points: uploadSparse(buffers, x.sparse),
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

onEveryDevice((opened) => {
  describe('assign-groups of sparse rows', () => {
    test.each([
      [1, 1, 1],
      [17, 5, 4],
      [129, 17, 5],
      [127, 513, 2],
      [40, 21, 127],
      [3, 7, 513],
    ])('is exact on whole numbers, %i rows, %i centres, %i columns', async (n, k, d) => {
      const given = makeCase('whole', n, k, d, 1)
      const best = Array.from({ length: n }, (_, i) => bestOf(given.x.dense, i, given.c, candidatesOf(given, i)))
      expectSame(
        await run(opened, given),
        best.map(({ label }) => label),
      )
    })

    test.each(['unit', 'huge', 'tiny', 'repeated'] as const)(
      'is as near as rounding lets it be, %s values',
      async (flavour) => {
        const given = makeCase(flavour, 60, 30, 19, 3)
        const { dense } = given.x
        const found = await run(opened, given)
        const reach = longest(given.c)
        expectChoices(
          Array.from({ length: countOf(dense) }, (_, i) => {
            const candidates = candidatesOf(given, i)
            const label = found[i]
            const known = candidates.includes(label) ? squaredDistance(dense, i, given.c, label) : undefined
            return {
              label,
              chosen: candidates.length === 0 && label === NONE ? Number.POSITIVE_INFINITY : known,
              best: bestOf(dense, i, given.c, candidates).distance,
              slack: candidates.length === 0 ? 0 : 2 * sparseDistanceBound(19, lengthOf(dense, i), reach),
            }
          }),
        )
      },
    )
  })
})

/** assign and assign-lists given sparse rows: the same as over the rows in full. */

import { describe, expect, test } from 'vitest'
import { assign, assignWorkspaceBytes } from '../../src/kernels/assign.ts'
import { assignLists } from '../../src/kernels/assign-lists.ts'
import { distances as distanceKernel } from '../../src/kernels/distances.ts'
import { fc } from '../properties.ts'
import { expectChoices, expectClose, expectSame, isAbsent, scoreBound, sparseDistanceBound } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice } from './devices.ts'
import { bestOf, countOf, lengthOf, longest, NONE, type Rows, ranking, squaredDistance } from './oracles.ts'
import { type SparseRows, sparsePoints, uploadSparse } from './sparse-rows.ts'
import { anySeed, centers, checkProperty, type Flavour, ROUGH, size, wholeNumbers } from './vectors.ts'

interface Found {
  readonly labels: Uint32Array
  readonly distances: Float32Array
}

async function nearest(opened: OpenedDevice, x: SparseRows, calls: readonly Rows[], m = 1): Promise<Found> {
  return opened.use(async (buffers) => {
    const points = uploadSparse(buffers, x.sparse)
    const labels = buffers.output(points.rows * m * 4)
    const distances = buffers.output(points.rows * m * 4)
    let firstLabel = 0
    for (const c of calls) {
      const to = buffers.rows(c.data, c.cols)
      const workspace = buffers.output(assignWorkspaceBytes(to, true))
      await assign(buffers.device, {
        points,
        centers: to,
        labels: labels.buffer,
        distances: distances.buffer,
        workspace: workspace.buffer,
        merge: firstLabel > 0,
        firstLabel,
        m,
      })
      await workspace.bytes()
      firstLabel += to.rows
    }
    return { labels: await labels.words(), distances: await distances.floats() }
  })
}

function expectNearest(found: Found, x: Rows, c: Rows): void {
  const reach = longest(c)
  const at = (i: number): number => squaredDistance(x, i, c, Math.min(found.labels[i], countOf(c) - 1))
  expectChoices(
    Array.from(found.labels, (label, i) => ({
      label,
      chosen: label < countOf(c) ? at(i) : undefined,
      best: ranking(x, i, c)[0].distance,
      slack: scoreBound(x.cols, lengthOf(x, i), reach),
    })),
  )
  expectClose(
    found.distances,
    Array.from(found.labels, (_, i) => at(i)),
    (i) => sparseDistanceBound(x.cols, lengthOf(x, i), reach),
  )
}

function expectExact(found: Found, x: Rows, c: Rows): void {
  const best = Array.from(found.labels, (_, i) => ranking(x, i, c)[0])
  expectSame(
    found.labels,
    best.map(({ label }) => label),
  )
  expectSame(
    found.distances,
    best.map(({ distance }) => distance),
  )
}

const made = (flavour: Flavour, n: number, k: number, d: number, seed = 3): { x: SparseRows; c: Rows } => ({
  x: sparsePoints(flavour, n, d, Math.min(0.6, 8 / d), seed),
  c: { data: centers(flavour, k, d, seed + 1), cols: d },
})

/** n, k, d around panels of 8, pairs of panels, and a width of 4 columns. */
const SHAPES = [
  [1, 1, 1],
  [2, 3, 5],
  [5, 7, 3],
  [17, 8, 4],
  [17, 9, 2],
  [65, 16, 17],
  [63, 17, 127],
  [129, 33, 129],
  [520, 2, 1],
  [9, 3, 200],
]

onEveryDevice((opened) => {
  describe('assign of sparse rows', () => {
    test.each(SHAPES)('%i rows, %i centres, %i columns', async (n, k, d) => {
      const { x, c } = made('whole', n, k, d)
      expectExact(await nearest(opened, x, [c]), x.dense, c)
    })

    test.each(ROUGH)('is right within rounding on %s values', async (flavour) => {
      const { x, c } = made(flavour, 70, 19, 40)
      expectNearest(await nearest(opened, x, [c]), x.dense, c)
    })

    test('later centres win only if they are nearer', async () => {
      const { x, c } = made('whole', 90, 20, 9)
      const first = { data: c.data.slice(0, 11 * 9), cols: 9 }
      const rest = { data: c.data.slice(11 * 9), cols: 9 }
      expectExact(await nearest(opened, x, [first, rest]), x.dense, c)
      const twice = await nearest(opened, x, [c, c])
      expectExact(twice, x.dense, c)
    })

    test('a row that is a centre has distance zero', async () => {
      const { x } = made('unit', 40, 1, 60)
      const found = await nearest(opened, x, [x.dense])
      expectSame(found.distances, new Float32Array(40))
    })

    test('agrees with the oracle on any shape', async () => {
      const shape = fc.record({ n: size(129), k: size(60), d: size(129), seed: anySeed })
      await checkProperty(opened.runs, shape, async ({ n, k, d, seed }) => {
        const { x, c } = made('whole', n, k, d, seed)
        expectExact(await nearest(opened, x, [c]), x.dense, c)
      })
    })

    test.each([2, 5, 40])('the %i nearest, best first, absent places marked', async (m) => {
      const { x, c } = made('whole', 70, 19, 23)
      const first = { data: c.data.slice(0, 11 * 23), cols: 23 }
      const rest = { data: c.data.slice(11 * 23), cols: 23 }
      for (const found of [await nearest(opened, x, [c], m), await nearest(opened, x, [first, rest], m)]) {
        const best = Array.from({ length: 70 }, (_, i) => ranking(x.dense, i, c).slice(0, m))
        const places = best.flatMap((list) => Array.from({ length: m }, (_, place) => list[place]))
        expectSame(
          found.labels,
          places.map((place) => place?.label ?? NONE),
        )
        expectSame(
          Array.from(found.distances, (distance) => (isAbsent(distance) ? Infinity : distance)),
          places.map((place) => place?.distance ?? Infinity),
        )
      }
    })

    test.each([1, 3, 5])('nearest of %i candidates', async (width) => {
      const { x, c } = made('whole', 120, 17, 30)
      const lists = wholeNumbers(120 * width, 19, 4).map((label) => (label < 17 ? label : NONE))
      const found = await opened.use(async (buffers) => {
        const labels = buffers.output(120 * 4)
        const distances = buffers.output(120 * 4)
        await assignLists(buffers.device, {
          points: uploadSparse(buffers, x.sparse),
          centers: buffers.rows(c.data, c.cols),
          lists: buffers.upload(lists),
          width,
          labels: labels.buffer,
          distances: distances.buffer,
        })
        return { labels: await labels.words(), distances: await distances.floats() }
      })
      for (let i = 0; i < 120; i++) {
        const best = bestOf(x.dense, i, c, lists.subarray(i * width, (i + 1) * width))
        expect(found.labels[i]).toBe(best.label)
        if (best.label !== NONE) expect(found.distances[i]).toBe(best.distance)
      }
    })

    test('what cannot take sparse rows says so', async () => {
      await opened.use(async (buffers) => {
        const points = uploadSparse(buffers, made('whole', 3, 1, 4).x.sparse)
        const to = buffers.rows(new Float32Array(8), 4)
        const out = buffers.output(64).buffer
        await expect(distanceKernel(buffers.device, { points, centers: to, out })).rejects.toThrow(
          /requires dense rows/,
        )
      })
    })
  })
})

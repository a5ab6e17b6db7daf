import { describe, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { means } from '../../src/kernels/means.ts'
import { padRows } from '../../src/kernels/rows.ts'
import { fc } from '../properties.ts'
import { expectClose, expectSame, gainBound, meanBound } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice, unpadded } from './devices.ts'
import { lengthOf, meansOf } from './oracles.ts'
import { anySeed, centers, checkProperty, type RoughFlavour, size } from './vectors.ts'

interface Case {
  readonly sums: Float32Array
  readonly totals: Float32Array
  readonly old: Float32Array
  readonly d: number
  readonly unit: boolean
}

type Floats = Exclude<RoughFlavour, 'bytes'>
const FLOATS: readonly Floats[] = ['unit', 'offset', 'huge', 'tiny', 'repeated']

/** Sums of clusters of up to 40 points; about one in six is empty. */
function makeCase(flavour: Floats, k: number, d: number, unit: boolean, seed: number): Case {
  const random = createRandom(seed)
  const totals = Float32Array.from({ length: k }, () => (random.below(6) === 0 ? 0 : random.uniform() * 40))
  const places = centers(flavour, k, d, seed + 1)
  const sums = places.map((value, at) => value * totals[Math.floor(at / d)])
  return { sums, totals, old: centers(flavour, k, d, seed + 2), d, unit }
}

async function run(opened: OpenedDevice, given: Case): Promise<{ centers: Float32Array; gains: Float32Array }> {
  return opened.use(async (buffers) => {
    const { sums, totals, old, d, unit } = given
    const k = totals.length
    const { rows, output } = buffers.outputRows(k, d)
    buffers.device.write(rows.buffer, padRows(old, k, d))
    const gains = buffers.output(k * 4)
    await means(buffers.device, {
      sums: buffers.rows(sums, d).buffer,
      totals: buffers.upload(totals),
      centers: rows,
      gains: gains.buffer,
      unit,
    })
    return { centers: unpadded(await output.floats(), k, d), gains: await gains.floats() }
  })
}

async function check(opened: OpenedDevice, given: Case): Promise<void> {
  const { d, unit } = given
  const found = await run(opened, given)
  const expected = meansOf(given.sums, given.totals, given.old, d, unit)
  const fresh = { data: Float32Array.from(expected.centers), cols: d }
  expectClose(found.centers, expected.centers, (at) => {
    const cluster = Math.floor(at / d)
    return given.totals[cluster] > 0 ? meanBound(d, unit, lengthOf(fresh, cluster)) : 0
  })
  expectClose(found.gains, expected.gains, (j) =>
    gainBound(d, given.totals[j], expected.before[j], expected.after[j], expected.lengths[j]),
  )
}

onEveryDevice((opened) => {
  describe('means', () => {
    test.each([
      [1, 1],
      [2, 3],
      [5, 4],
      [3, 5],
      [129, 17],
      [513, 2],
      [511, 5],
      [17, 127],
      [4, 513],
    ])('of %i clusters, %i columns', async (k, d) => {
      await check(opened, makeCase('unit', k, d, false, 1))
      await check(opened, makeCase('unit', k, d, true, 2))
    })

    test.each(FLOATS)('of %s values', async (flavour) => {
      await check(opened, makeCase(flavour, 40, 7, false, 3))
      await check(opened, makeCase(flavour, 40, 7, true, 4))
    })

    test('are exact where nothing is rounded, and say how much they gain', async () => {
      const found = await run(opened, {
        sums: Float32Array.of(4, 8, 2, 0, 0, 0, -3, 6, 9),
        totals: Float32Array.of(2, 0, 3),
        old: Float32Array.of(0, 4, 1, 7, 8, 9, -1, 2, 0),
        d: 3,
        unit: false,
      })
      expectSame(found.centers, [2, 4, 1, 7, 8, 9, -1, 2, 3])
      expectSame(found.gains, [8, 0, 27])
    })

    test('of length one where asked; without a direction they stay zero', async () => {
      const found = await run(opened, {
        sums: Float32Array.of(6, 8, 0, 0, 5, 5),
        totals: Float32Array.of(2, 3, 0),
        old: Float32Array.of(0, 1, 1, 0, 0.6, 0.8),
        d: 2,
        unit: true,
      })
      expectClose(found.centers, [0.6, 0.8, 0, 0, Math.fround(0.6), Math.fround(0.8)], (at) =>
        at < 4 ? meanBound(2, true, 1) : 0,
      )
      // Cluster 0: mean (3, 4), 18 from (0, 1) and 16 from (0.6, 0.8), twice; cluster 1: from 1 to 0, three times.
      expectClose(found.gains, [4, 3, 0], (j) => [gainBound(2, 2, 18, 16, 6), gainBound(2, 3, 1, 0, 0), 0][j])
    })

    test('agree with the oracle on any shape', async () => {
      const shape = fc.record({
        k: size(150),
        d: size(40),
        flavour: fc.constantFrom(...FLOATS),
        unit: fc.boolean(),
        seed: anySeed,
      })
      await checkProperty(opened.runs, shape, async ({ k, d, flavour, unit, seed }) => {
        await check(opened, makeCase(flavour, k, d, unit, seed))
      })
    })
  })
})

/** Where clusters are relocated, starts may be short: what relocation repairs need not be chosen well. */
import { expect, test } from 'vitest'
import { greedySample } from '../../src/clustering/greedy-start.ts'
import { chooseStart } from '../../src/clustering/seeding.ts'
import { stream } from '../../src/core/streams.ts'
import { blobs, cluster, openDevice } from '../../src/index.ts'
import { normal } from './clouds.ts'
import { potential, startCenters, withState } from './starting.ts'

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

test('where clusters are relocated, auto looks at a share of the points that pays off in a short run', async () => {
  const device = await openDevice({ kind: 'cpu', threads: 2 })
  try {
    // Five candidates for each of 40 centres: a row of the start costs 15 of a round, and 3 rounds are a short run.
    const vectors = normal(9000, 3, 2)
    const rows = Math.floor((9000 * 3) / 5 / (3 * 5))
    const [own, some] = await withState(device, vectors, 40, undefined, async (state) => {
      const auto = await chooseStart(state, {
        start: 'auto',
        random: stream(5, 'seeding', 0),
        weights: undefined,
        iterations: 100,
        relocate: true,
      })
      const greedy = { k: 40, random: stream(5, 'seeding', 0), control: {} }
      return [auto, await state.points.gather(await greedySample(state, rows, undefined, greedy))] as const
    })
    expect(own).toEqual({ centers: some })
    // Without relocation nothing repairs a start: it is the thorough one.
    const kept = await startCenters(device, vectors, 40, { start: 'auto', seed: 5 })
    expect(kept).toEqual(await startCenters(device, vectors, 40, { start: 'kpp', seed: 5 }))
    expect(potential(vectors, kept)).toBeLessThan(potential(vectors, some))
  } finally {
    await device.close()
  }
})

test.each(['lloyd', 'sharp', 'akm'] as const)(
  '%s ends as low from a short start as from a thorough one',
  async (method) => {
    const { vectors } = blobs({ rows: 6000, cols: 8, clusters: 60, separated: true, seed: 9 })
    const device = await openDevice({ kind: 'cpu', threads: 2 })
    try {
      const runs = async (start: 'auto' | 'kpp'): Promise<number> => {
        const found: number[] = []
        for (let seed = 0; seed < 5; seed++) {
          found.push((await cluster(vectors, { k: 60, method, start, seed, device })).distortion)
        }
        return mean(found)
      }
      expect(await runs('auto')).toBeLessThan(1.02 * (await runs('kpp')))
    } finally {
      await device.close()
    }
  },
)

/** The order of methods in table 2 of the k-means# paper, on handwritten digits, in Node. */
import { expect, test } from 'vitest'
import { type AnyClusterOptions, type ClusterOptions, cluster, openDevice } from '../../src/index.ts'
import { digits } from './digits.ts'

const SEEDS = 5
const KINDS: Record<string, AnyClusterOptions> = {
  lloyd: { method: 'lloyd', start: 'random', iterations: 60 },
  plain: { method: 'bisecting' },
  refined: { method: 'bisecting', refine: true, iterations: 60 },
  'plain #': { method: 'bisecting', splitMethod: 'sharp' },
  'refined #': { method: 'bisecting', splitMethod: 'sharp', refine: true, iterations: 60 },
}

test('bisecting ends above Lloyd, refined below plain, by moves below by means', async () => {
  const images = await digits(150)
  const device = await openDevice({ kind: 'cpu', threads: 2 })
  try {
    const ends: Record<string, number> = {}
    for (const [kind, options] of Object.entries(KINDS)) {
      ends[kind] = 0
      for (let seed = 1; seed <= SEEDS; seed++) {
        ends[kind] +=
          (await cluster(images, { k: 30, tolerance: 0, seed, device, ...options } as ClusterOptions)).distortion /
          SEEDS
      }
    }
    console.log(`means over ${SEEDS} seeds of ${images.rows} digits: ${JSON.stringify(ends)}`)
    expect(ends.plain).toBeGreaterThan(ends.lloyd)
    expect(ends.refined).toBeLessThan(ends.plain)
    expect(ends['plain #']).toBeLessThan(ends.plain)
    expect(ends['refined #']).toBeLessThan(ends.refined)
  } finally {
    await device.close()
  }
})

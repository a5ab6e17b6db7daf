/** k-means# on handwritten digits, in Node: they come from files of a package. */
import { expect, test } from 'vitest'
import { cluster, type Device, type Matrix, openDevice } from '../../src/index.ts'
import { digits } from './digits.ts'

const EACH = 100
const SEEDS = 10

/** Distortions of one method, each seed with a start of its own. */
async function distortions(device: Device, images: Matrix, method: 'lloyd' | 'sharp'): Promise<number[]> {
  const found: number[] = []
  for (let seed = 1; seed <= SEEDS; seed++) {
    const options = { k: 20, method, seed, start: 'random', iterations: 60, tolerance: 0, device } as const
    found.push((await cluster(images, options)).distortion)
  }
  return found
}

test('from the same start, points that move end below points that are assigned', async () => {
  const images = await digits(EACH)
  const device = await openDevice({ kind: 'cpu', threads: 2 })
  try {
    const lloyd = await distortions(device, images, 'lloyd')
    const sharp = await distortions(device, images, 'sharp')
    const ratios = sharp.map((value, i) => value / lloyd[i])
    const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / SEEDS
    const spread = Math.sqrt(ratios.reduce((sum, ratio) => sum + (ratio - mean) ** 2, 0) / (SEEDS - 1))
    console.log(
      `sharp / lloyd on ${images.rows} digits, ${SEEDS} seeds: mean ${mean.toFixed(4)}, spread ${spread.toFixed(4)}`,
    )
    // The mean lies below 1 by more than chance: three standard errors.
    expect(mean + (3 * spread) / Math.sqrt(SEEDS)).toBeLessThan(1)
  } finally {
    await device.close()
  }
})

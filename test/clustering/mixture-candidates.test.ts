/** What a round of a mixture says it looked at. */
import { expect, test } from 'vitest'
import { cluster, openDevice } from '../../src/index.ts'
import { squareModes } from './mixture-clouds.ts'

test('where every point looks at every component, the candidates are as many as those', async () => {
  const device = await openDevice({ kind: 'cpu', threads: 1 })
  const { points } = squareModes(3, 6, 240)
  try {
    for (const options of [{ method: 'gmm', k: 7 } as const, { method: 'egm', start: 30 } as const]) {
      let components: number = 'k' in options ? options.k : options.start
      const { facts } = await cluster(points, { ...options, iterations: 4, device })
      for (const { candidates, extra } of facts.iterations) {
        expect(candidates).toBe(components)
        components = extra?.components as number
      }
    }
  } finally {
    await device.close()
  }
})

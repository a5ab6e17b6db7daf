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

test('where all points are components to begin with, they are searched for once, with the same results as twice', async () => {
  const devices = [await openDevice({ kind: 'cpu', threads: 1 }), await openDevice({ kind: 'cpu', threads: 1 })]
  const searches = [0, 0]
  devices.forEach((device, owner) => {
    const run = device.run.bind(device)
    device.run = (work, control) => {
      if (work.name === 'search-tree') searches[owner]++
      return run(work, control)
    }
  })
  const { points } = squareModes(3, 6, 240)
  const common = { method: 'agm', criterion: 'overlap', start: 'all', memory: 5, iterations: 1, seed: 2 } as const
  const options = { ...common, shards: [100, 140] }
  try {
    const alone = await cluster(points, { ...options, device: devices[0] })
    // What lies near the components as they stand before the round, and after it.
    expect(searches).toEqual([2, 0])
    // The second device searches for its points: it knows nothing of the components.
    const both = await cluster(points, { ...options, devices })
    expect(searches).toEqual([4, 1])
    expect(both.labels).toEqual(alone.labels)
    expect(both.centers).toEqual(alone.centers)
    expect(both.facts.iterations[0].candidates).toBe(alone.facts.iterations[0].candidates)
    expect(both.facts.iterations[0].extra).toEqual(alone.facts.iterations[0].extra)
  } finally {
    for (const device of devices) await device.close()
  }
})

/** How often a round asks something of the GPU: on hardware that costs more than the work of small kernels. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Launches } from '../../src/device/contract.ts'
import { type AnyClusterOptions, blobs, clusterSteps, type Device, openDevice } from '../../src/index.ts'
import { openIdle } from './changed-gpu.ts'

let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'webgpu' })
})
afterAll(() => device.close())

/** What each round launched. */
async function roundsOf(rows: number, options: AnyClusterOptions): Promise<Launches[]> {
  const { vectors } = blobs({ rows, cols: 8, clusters: 24, seed: 5 })
  const rounds: Launches[] = []
  let before = device.launches as Launches
  const settings = { seed: 1, tolerance: 0, relocate: false, ...options, device }
  for await (const _ of clusterSteps(vectors, settings)) {
    const { submits, dispatches, readbacks } = device.launches as Launches
    rounds.push({
      submits: submits - before.submits,
      dispatches: dispatches - before.dispatches,
      readbacks: readbacks - before.readbacks,
    })
    before = device.launches as Launches
  }
  return rounds
}

describe('a round', () => {
  test('of lloyd reads once', async () => {
    const rounds = await roundsOf(3000, { k: 20, method: 'lloyd', start: 'random', empty: 'keep', iterations: 5 })
    expect(rounds.length).toBe(5)
    // In the first, pipelines were compiled.
    for (const { submits, dispatches, readbacks } of rounds.slice(1)) {
      expect(readbacks).toBe(1)
      expect(submits).toBeLessThanOrEqual(3)
      expect(dispatches).toBeLessThanOrEqual(26)
    }
  })

  test('of lloyd over several shards reads sizes of clusters besides', async () => {
    const parts = await openDevice({ kind: 'webgpu', limits: { partBytes: 32_768 } })
    const { vectors } = blobs({ rows: 3000, cols: 8, clusters: 24, seed: 5 })
    const settings = { k: 20, method: 'lloyd', start: 'random', empty: 'keep', relocate: false, tolerance: 0 } as const
    const readbacks: number[] = []
    for await (const _ of clusterSteps(vectors, { ...settings, iterations: 4, device: parts })) {
      readbacks.push((parts.launches as Launches).readbacks)
    }
    await parts.close()
    expect(readbacks.slice(1).map((count, i) => count - readbacks[i])).toEqual([2, 2, 2])
  })

  /** The real code at full size, on a device that counts and executes nothing. */
  test('of closures-sharp takes at most 1,000 dispatches and 2 readbacks for a million points, 10,000 clusters', async () => {
    const [rows, cols, k] = [1_000_000, 128, 10_000]
    const data = new Uint8Array(rows * cols)
    for (let i = 0; i < data.length; i++) data[i] = Math.imul(i, 2654435761) >>> 24
    const idle = await openIdle({ tiled: true })
    const settings = { k, method: 'closures-sharp', start: 'random', iterations: 7, tolerance: 0 } as const
    const rounds: Launches[] = []
    for await (const _ of clusterSteps(
      { data, rows, cols },
      { ...settings, seed: 1, relocate: false, empty: 'keep', device: idle },
    )) {
      rounds.push(idle.launches as Launches)
    }
    await idle.close()
    expect(rounds.length).toBe(7)
    for (let i = 2; i < rounds.length; i++) {
      const dispatches = rounds[i].dispatches - rounds[i - 1].dispatches
      expect(dispatches).toBeLessThanOrEqual(1000)
      // 128 batches of each tree, proposed and applied: fewer would mean that points were left out.
      expect(dispatches).toBeGreaterThan(128 * 2 * Math.min(3, i))
      expect(rounds[i].readbacks - rounds[i - 1].readbacks).toBeLessThanOrEqual(2)
    }
  }, 240_000)

  /** Below half a million points batches have 4,096 points. */
  test('of closures-sharp reads once, and grows by what its batches take', async () => {
    const steady = async (rows: number): Promise<Launches> => {
      const rounds = await roundsOf(rows, { k: 40, method: 'closures-sharp', trees: 1, iterations: 3 })
      return rounds[rounds.length - 1]
    }
    // Leaves of 16 points: 2 and 8 batches.
    const [small, large] = [await steady(8192), await steady(32_768)]
    for (const { submits, readbacks } of [small, large]) {
      expect(readbacks).toBeLessThanOrEqual(2)
      expect(submits).toBeLessThanOrEqual(3)
    }
    expect(large.dispatches - small.dispatches).toBeLessThanOrEqual(6 * 3)
    expect(small.dispatches).toBeLessThanOrEqual(2 * 3 + 20)
  })
})

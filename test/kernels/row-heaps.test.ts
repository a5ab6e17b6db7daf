import { expect, test } from 'vitest'
import { assign, assignWorkspaceBytes } from '../../src/kernels/assign.ts'
import { expectSame } from '../tolerance.ts'
import { CaseBuffers, openFilledWebGpu, SMALL_LIMITS } from './devices.ts'
import { ranking } from './oracles.ts'
import { centers, points } from './vectors.ts'

test('heaps that fit no binding are used for a part of the rows at a time', async () => {
  const [n, k, d, m] = [100, 70, 3, 40]
  // 51 heaps of 40 entries fit 16 KiB.
  expect(n * m * 8).toBeGreaterThan(SMALL_LIMITS.bindingBytes ?? Infinity)
  const device = await openFilledWebGpu(0x7f, { tiled: true, limits: SMALL_LIMITS })
  try {
    const buffers = new CaseBuffers(device)
    const x = { data: points('whole', n, d, 1), cols: d }
    const c = { data: centers('whole', k, d, 2), cols: d }
    const labels = buffers.output(n * m * 4)
    const distances = buffers.output(n * m * 4)
    const to = buffers.rows(c.data, d)
    const workspace = buffers.output(assignWorkspaceBytes(to))
    const from = buffers.rows(x.data, d)
    const before = device.allocatedBytes
    await assign(device, {
      points: from,
      centers: to,
      labels: labels.buffer,
      distances: distances.buffer,
      workspace: workspace.buffer,
      m,
    })
    const best = Array.from({ length: n }, (_, i) => ranking(x, i, c).slice(0, m)).flat()
    expectSame(
      await labels.words(),
      best.map(({ label }) => label),
    )
    expectSame(
      await distances.floats(),
      best.map(({ distance }) => distance),
    )
    expect(device.allocatedBytes - before).toBeLessThan(n * m * 8)
  } finally {
    await device.close()
  }
})

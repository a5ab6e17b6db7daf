/** What the forms of assign on hardware have in common, and how they divide the centres. The results are tested in assign.test.ts. */
import { describe, expect, test } from 'vitest'
import type { AssignForm } from '../../src/device/forms.ts'
import { assign, assignWorkspaceBytes } from '../../src/kernels/assign.ts'
import { packedBytes, packedCenters, packedLayout, splitCenters } from '../../src/kernels/assign-workspace.ts'
import { expectSame } from '../tolerance.ts'
import { openFilledWebGpu, useBuffers } from './devices.ts'
import { centers, points } from './vectors.ts'

async function nearest(form: AssignForm, n: number, k: number, d: number) {
  const device = await openFilledWebGpu(0xff, { tiled: true, forms: { assign: form } })
  try {
    return await useBuffers(device, async (buffers) => {
      const to = buffers.rows(centers('unit', k, d, 2), d)
      const labels = buffers.output(n * 4)
      const distances = buffers.output(n * 4)
      await assign(device, {
        points: buffers.rows(points('unit', n, d, 1), d),
        centers: to,
        labels: labels.buffer,
        distances: distances.buffer,
        workspace: buffers.scope.allocate(assignWorkspaceBytes(to), 'workspace'),
      })
      return { labels: await labels.words(), distances: await distances.floats() }
    })
  } finally {
    await device.close()
  }
}

describe('forms of assign', () => {
  test('give the same bits', async () => {
    for (const [n, k, d] of [
      [17, 511, 33],
      [513, 140, 5],
    ]) {
      const scalar = await nearest('scalar', n, k, d)
      const wide = await nearest('wide-tiles', n, k, d)
      expectSame(wide.labels, scalar.labels)
      expectSame(wide.distances, scalar.distances)
    }
  })
})

describe('the workspace of packed centres', () => {
  test.each([1, 63, 64, 65, 127, 128, 129, 191, 193, 256, 257, 300, 511, 513, 1000, 10_000])(
    'holds any %i centres or fewer',
    (most) => {
      const room = packedBytes({ rows: most, stride: 8 })
      for (let count = Math.max(1, most - 600); count <= most; count++) {
        const { padded, block, perLane } = packedCenters(count)
        expect(padded).toBeGreaterThanOrEqual(count)
        expect(padded % block).toBe(0)
        expect(block).toBe(64 * perLane)
        expect(packedLayout(padded, 8).bytes).toBeLessThanOrEqual(room)
      }
    },
  )

  test('divides all centres where there are few points, and none where there are many', () => {
    for (const rows of [1, 17, 511, 513, 5000, 16_384, 16_385, 1_000_000]) {
      for (const count of [1, 64, 65, 1000, 100_000]) {
        const { padded, block } = packedCenters(count)
        const { splits, each } = splitCenters(rows, { points: 16, centers: padded, block })
        expect(splits * each).toBeGreaterThanOrEqual(padded)
        expect((splits - 1) * each).toBeLessThan(padded)
        if (splits > 1) expect(splits * rows * 8).toBeLessThanOrEqual(packedLayout(padded, 4).partials.bytes)
        if (rows > 16_384) expect(splits).toBe(1)
      }
    }
    expect(splitCenters(16, { points: 16, centers: 10_240, block: 256 }).splits).toBe(40)
  })
})

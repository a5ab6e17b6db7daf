/** How the forms of assign on hardware divide the centres. Their results are tested in assign.test.ts and form-bits.test.ts. */
import { describe, expect, test } from 'vitest'
import { packedBytes, packedCenters, packedLayout, splitCenters } from '../../src/kernels/assign-workspace.ts'

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

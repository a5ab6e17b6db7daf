/** A round of 2-means in every group, against the same in plain TypeScript. */
import { describe, expect, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { halveGroupsOnce, listGroups, measureHalves } from '../../src/kernels/halve-groups.ts'
import { DEVICES, onDevices } from './devices.ts'

const NONE = 0xffffffff

describe('halving groups', () => {
  onDevices(
    DEVICES.filter(({ name }) => name.startsWith('cpu')),
    (opened) => {
      test.each([
        { type: 'f32', n: 1, cols: 1, groups: 1, weighted: false },
        { type: 'f32', n: 257, cols: 5, groups: 3, weighted: true },
        { type: 'f32', n: 130, cols: 129, groups: 70, weighted: false },
        { type: 'u8', n: 700, cols: 127, groups: 2, weighted: false },
        { type: 'u8', n: 601, cols: 12, groups: 9, weighted: true },
        { type: 'u8', n: 64, cols: 3, groups: 64, weighted: false },
      ])(
        '$n rows of $cols $type in $groups groups, weighted: $weighted',
        async ({ type, n, cols, groups, weighted }) => {
          const random = createRandom(n)
          const data = Array.from({ length: n * cols }, () => random.below(256))
          const rows = type === 'u8' ? Uint8Array.from(data) : Float32Array.from(data)
          const places = Uint32Array.from({ length: n }, (_, i) => (n > 1 && i % 7 === 3 ? NONE : random.below(groups)))
          const weights = weighted ? Float32Array.from({ length: n }, () => 0.5 + random.uniform()) : undefined
          const centers = Float32Array.from({ length: 2 * groups * cols }, () => 255 * random.uniform())
          const squared = (point: number, half: number): number => {
            let sum = 0
            for (let t = 0; t < cols; t++) sum += (data[point * cols + t] - centers[half * cols + t]) ** 2
            return sum
          }
          await opened.use(async (buffers) => {
            const { device, scope } = buffers
            const points = buffers.rows(rows, cols)
            const halves = buffers.rows(centers, cols)
            const listed = await listGroups(device, scope, buffers.upload(places), n, groups)
            const labels = buffers.output(n * 4, new Uint32Array(n).fill(NONE))
            // Sums are added to what is there.
            const sums = buffers.output(
              2 * groups * halves.stride * 4,
              new Float32Array(2 * groups * halves.stride).fill(3),
            )
            const totals = buffers.output(2 * groups * 4, new Float32Array(2 * groups).fill(5))
            const distances = buffers.output(n * 4, new Float32Array(n).fill(-1))
            await halveGroupsOnce(device, {
              points,
              weights: weights && buffers.upload(weights),
              listed,
              centers: halves,
              sums: sums.buffer,
              totals: totals.buffer,
              labels: labels.buffer,
            })
            await measureHalves(device, {
              points,
              listed,
              centers: halves,
              labels: labels.buffer,
              distances: distances.buffer,
            })
            const found = await labels.words()
            const measured = await distances.floats()
            const wantedSums = new Float64Array(2 * groups * halves.stride).fill(3)
            const wantedTotals = new Float64Array(2 * groups).fill(5)
            places.forEach((group, point) => {
              if (group === NONE) {
                expect([found[point], measured[point]]).toEqual([NONE, -1])
                return
              }
              const [a, b] = [squared(point, 2 * group), squared(point, 2 * group + 1)]
              // Points very near to the plane between the centres may go to either side.
              if (Math.abs(a - b) > 2e-3 * (a + b)) expect(found[point]).toBe(2 * group + (b < a ? 1 : 0))
              else expect(found[point] >> 1).toBe(group)
              const half = found[point]
              expect(measured[point] / Math.max(1, squared(point, half))).toBeCloseTo(
                Math.min(1, squared(point, half)),
                4,
              )
              const weight = weights ? weights[point] : 1
              wantedTotals[half] += weight
              for (let t = 0; t < cols; t++) wantedSums[half * halves.stride + t] += weight * data[point * cols + t]
            })
            const foundTotals = await totals.floats()
            wantedTotals.forEach((value, half) => {
              expect(foundTotals[half] / value).toBeCloseTo(1, 5)
            })
            const foundSums = await sums.floats()
            for (let half = 0; half < 2 * groups; half++) {
              for (let t = 0; t < cols; t++) {
                const at = half * halves.stride + t
                expect(foundSums[at] / wantedSums[at]).toBeCloseTo(1, 5)
              }
            }
          })
        },
      )
    },
  )
})

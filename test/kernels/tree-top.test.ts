/** The first levels of a tree: cells that follow each other along a direction, whatever the points. */
import { describe, expect, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { growTop } from '../../src/kernels/tree-top.ts'
import { DEVICES, type OpenedDevice, onDevices } from './devices.ts'

const SAMPLE = 16

interface Cells {
  readonly members: Uint32Array
  readonly ends: Uint32Array
}

function grow(
  opened: OpenedDevice,
  data: Float32Array | Uint8Array,
  cols: number,
  levels: number,
  seed = 1,
): Promise<Cells> {
  return opened.use(async (buffers) => {
    const n = data.length / cols
    const points = buffers.rows(data, cols)
    const members = buffers.output(n * 4)
    const count = Math.min(n, 40 * 2 ** levels)
    const sampled = Uint32Array.from({ length: count }, (_, i) => Math.floor((i * n) / count))
    const top = { points, sampled, levels, members: members.buffer, sample: SAMPLE, steps: 3, seed }
    const ends = await growTop(buffers.device, top)
    return { members: await members.words(), ends }
  })
}

/** Every point once, and the points of a cell by rising number. */
function checkCells({ members, ends }: Cells, n: number): number[][] {
  expect(members.slice().sort()).toEqual(Uint32Array.from({ length: n }, (_, i) => i))
  expect([ends[0], ends[ends.length - 1]]).toEqual([0, n])
  return Array.from({ length: ends.length - 1 }, (_, cell) => {
    const inside = Array.from(members.subarray(ends[cell], ends[cell + 1]))
    expect(inside).toEqual(inside.slice().sort((a, b) => a - b))
    return inside
  })
}

describe('the top of a tree', () => {
  onDevices(
    DEVICES.filter(({ name }) => name.startsWith('cpu')),
    (opened) => {
      test.each([
        ['f32', 1, 1],
        ['f32', 513, 3],
        ['u8', 1021, 4],
        ['u8', 66, 1],
      ])('cells of %s on a line hold values that follow each other: %i points, %i levels', async (type, n, levels) => {
        const random = createRandom(n)
        const values = Array.from({ length: n }, () => random.below(type === 'u8' ? 256 : 100_000))
        const data = type === 'u8' ? Uint8Array.from(values) : Float32Array.from(values)
        const found = await grow(opened, data, 1, levels)
        expect(found.ends).toHaveLength(2 ** levels + 1)
        const ranges = checkCells(found, n)
          .filter((cell) => cell.length > 0)
          .map((cell) => cell.map((point) => values[point]))
          .map((inside) => [Math.min(...inside), Math.max(...inside)])
          .sort(([a], [b]) => a - b)
        // Equal values are in one cell.
        for (let i = 1; i < ranges.length; i++) expect(ranges[i][0]).toBeGreaterThan(ranges[i - 1][1])
        if (n > 500) expect(ranges.length).toBeGreaterThan(2 ** (levels - 1))
      })

      test.each(['f32', 'u8'])('a cloud of %s is cut into cells of similar size', async (type) => {
        const [n, cols, levels] = [3000, 33, 3]
        const random = createRandom(9)
        const numbers = Array.from({ length: n * cols }, () => Math.round(128 + 20 * random.normal()))
        const data = type === 'u8' ? Uint8Array.from(numbers) : Float32Array.from(numbers)
        const found = await grow(opened, data, cols, levels)
        const sizes = checkCells(found, n).map((cell) => cell.length)
        expect(Math.min(...sizes)).toBeGreaterThan(n / 8 / 3)
        expect(Math.max(...sizes)).toBeLessThan((n / 8) * 2)
        expect((await grow(opened, data, cols, levels, 2)).members).not.toEqual(found.members)
      })

      test('equal points are all in one cell', async () => {
        const cells = checkCells(await grow(opened, new Float32Array(700 * 3).fill(4), 3, 2), 700)
        expect(cells.map((cell) => cell.length).sort((a, b) => a - b)).toEqual([0, 0, 0, 700])
      })
    },
  )
})

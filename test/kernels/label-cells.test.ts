import { describe, test } from 'vitest'
import { createRandom, shuffle } from '../../src/core/random.ts'
import { labelCells } from '../../src/kernels/label-cells.ts'
import { fc } from '../properties.ts'
import { expectSame } from '../tolerance.ts'
import { onEveryDevice } from './devices.ts'
import { anySeed, checkProperty, size } from './vectors.ts'

/** Points in random order, cut into cells at random places: some cells are empty. */
function cutPoints(n: number, cells: number, seed: number): { members: Uint32Array; offsets: Uint32Array } {
  const random = createRandom(seed)
  const members = Uint32Array.from({ length: n }, (_, i) => i)
  shuffle(random, members)
  const inner = Uint32Array.from({ length: cells - 1 }, () => random.below(n + 1)).sort()
  return { members, offsets: Uint32Array.of(0, ...inner, n) }
}

function labelled(members: Uint32Array, offsets: Uint32Array): Uint32Array {
  const labels = new Uint32Array(members.length)
  for (let cell = 0; cell + 1 < offsets.length; cell++) {
    for (let at = offsets[cell]; at < offsets[cell + 1]; at++) labels[members[at]] = cell
  }
  return labels
}

onEveryDevice((opened) => {
  const run = (members: Uint32Array, offsets: Uint32Array): Promise<Uint32Array> =>
    opened.use(async (buffers) => {
      const out = buffers.output(members.length * 4)
      await labelCells(buffers.device, {
        count: members.length,
        members: buffers.upload(members),
        offsets: buffers.upload(offsets),
        cells: offsets.length - 1,
        labels: out.buffer,
      })
      return out.words()
    })

  describe('label-cells', () => {
    test.each([
      [1, 1],
      [2, 1],
      [2, 2],
      [3, 2],
      [5, 17],
      [63, 4],
      [64, 64],
      [65, 3],
      [513, 511],
      [2047, 5],
      [3001, 129],
    ])('%i points in %i cells', async (n, cells) => {
      const { members, offsets } = cutPoints(n, cells, n + cells)
      expectSame(await run(members, offsets), labelled(members, offsets))
    })

    test('the first and the last cells may be empty', async () => {
      const members = Uint32Array.of(2, 0, 1)
      const offsets = Uint32Array.of(0, 0, 0, 2, 2, 3, 3)
      expectSame(await run(members, offsets), Uint32Array.of(2, 4, 2))
    })

    test('slices of a job begin in the middle of a cell', async () => {
      // A GPU of small limits takes no more than 3,136 threads at once.
      const { members, offsets } = cutPoints(opened.device.info.kind === 'cpu' ? 150_000 : 3100, 7, 3)
      expectSame(await run(members, offsets), labelled(members, offsets))
    })

    test('agrees with the oracle on any cells', async () => {
      const shape = fc.record({ n: size(600), cells: size(90), seed: anySeed })
      await checkProperty(opened.runs, shape, async ({ n, cells, seed }) => {
        const { members, offsets } = cutPoints(n, cells, seed)
        expectSame(await run(members, offsets), labelled(members, offsets))
      })
    })
  })
})

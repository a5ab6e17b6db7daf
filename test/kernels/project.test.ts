import { describe, test } from 'vitest'
import { project } from '../../src/kernels/project.ts'
import { fc } from '../properties.ts'
import { expectClose, expectSame, sumBound } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice } from './devices.ts'
import { countOf, projections, type Rows } from './oracles.ts'
import { anyFlavour, anySeed, centers, checkProperty, EXACT, points, ROUGH, size, wholeNumbers } from './vectors.ts'

async function run(opened: OpenedDevice, x: Rows, directions: Rows, nodes: Uint32Array): Promise<Float32Array> {
  return opened.use(async (buffers) => {
    const out = buffers.output(countOf(x) * 4)
    await project(buffers.device, {
      points: buffers.rows(x.data, x.cols),
      directions: buffers.rows(directions.data, directions.cols),
      nodes: buffers.upload(nodes),
      out: out.buffer,
    })
    return out.floats()
  })
}

onEveryDevice((opened) => {
  describe('project', () => {
    test.each([
      [1, 1, 1],
      [2, 3, 4],
      [5, 17, 3],
      [17, 2, 513],
      [127, 5, 2],
      [129, 129, 5],
      [511, 4, 17],
      [513, 511, 1],
      [3, 3, 127],
      [4, 5, 129],
    ])('is exact on whole numbers, %i points, %i nodes, %i columns', async (n, nodes, d) => {
      for (const flavour of EXACT) {
        const x = { data: points(flavour, n, d, 1), cols: d }
        const directions = { data: centers('whole', nodes, d, 2), cols: d }
        const of = wholeNumbers(n, nodes, 3)
        expectSame(await run(opened, x, directions, of), projections(x, directions, of).values)
      }
    })

    test.each(ROUGH)('is exact to rounding on %s values', async (flavour) => {
      const x = { data: points(flavour, 70, 21, 4), cols: 21 }
      const directions = { data: centers('unit', 8, 21, 5), cols: 21 }
      const of = wholeNumbers(70, 8, 6)
      const { values, magnitudes } = projections(x, directions, of)
      expectClose(await run(opened, x, directions, of), values, (i) => sumBound(21, magnitudes[i]))
    })

    test('agrees with the oracle on any shape', async () => {
      const shape = fc.record({ n: size(200), nodes: size(20), d: size(40), flavour: anyFlavour, seed: anySeed })
      await checkProperty(opened.runs, shape, async ({ n, nodes, d, flavour, seed }) => {
        const x = { data: points(flavour, n, d, seed), cols: d }
        const directions = { data: centers('unit', nodes, d, seed + 1), cols: d }
        const of = wholeNumbers(n, nodes, seed + 2)
        const { values, magnitudes } = projections(x, directions, of)
        expectClose(await run(opened, x, directions, of), values, (i) => sumBound(d, magnitudes[i]))
      })
    })
  })
})

import { describe, test } from 'vitest'
import { distances } from '../../src/kernels/distances.ts'
import { fc } from '../properties.ts'
import { distanceBound, expectClose, expectSame } from '../tolerance.ts'
import { type OpenedDevice, onDevices, SOFTWARE_DEVICES, withForms } from './devices.ts'
import { distanceMatrix, type Rows } from './oracles.ts'
import { anySeed, centers, checkProperty, EXACT, exactFlavour, points, ROUGH, roughFlavour, size } from './vectors.ts'

const SHAPES = [
  [1, 1, 1],
  [2, 3, 5],
  [3, 2, 4],
  [4, 5, 3],
  [17, 4, 2],
  [5, 513, 1],
  [2, 511, 17],
  [129, 127, 5],
  [511, 17, 3],
  [513, 1, 4],
  [3, 2, 513],
  [17, 129, 127],
  [4, 3, 511],
]

async function run(opened: OpenedDevice, x: Rows, c: Rows): Promise<Float32Array> {
  return opened.use(async (buffers) => {
    const from = buffers.rows(x.data, x.cols)
    const to = buffers.rows(c.data, c.cols)
    const out = buffers.output(from.rows * to.rows * 4)
    await distances(buffers.device, { points: from, centers: to, out: out.buffer })
    return out.floats()
  })
}

onDevices([...SOFTWARE_DEVICES, withForms({ distances: 'tiles' }), withForms({ distances: 'products' })], (opened) => {
  describe('distances', () => {
    test.each(SHAPES)('are exact on whole numbers, %i points, %i centres, %i columns', async (n, k, d) => {
      for (const flavour of EXACT) {
        const x = { data: points(flavour, n, d, 1), cols: d }
        const c = { data: centers(flavour, k, d, 2), cols: d }
        expectSame(await run(opened, x, c), distanceMatrix(x, c))
      }
    })

    test.each(ROUGH)('are exact to rounding on %s values', async (flavour) => {
      const d = 19
      const x = { data: points(flavour, 67, d, 3), cols: d }
      const c = { data: centers(flavour, 23, d, 4), cols: d }
      const expected = distanceMatrix(x, c)
      expectClose(await run(opened, x, c), expected, (i) => distanceBound(d, expected[i]))
    })

    test('are zero between a row and itself, far from the origin', async () => {
      const x = { data: centers('offset', 9, 7, 5), cols: 7 }
      const matrix = await run(opened, x, x)
      expectSame(
        Array.from({ length: 9 }, (_, i) => matrix[i * 9 + i]),
        new Float32Array(9),
      )
    })

    test('agree with the oracle on any shape', async () => {
      const shape = fc.record({ n: size(40), k: size(40), d: size(40), seed: anySeed })
      await checkProperty(opened.runs, fc.tuple(shape, exactFlavour), async ([{ n, k, d, seed }, flavour]) => {
        const x = { data: points(flavour, n, d, seed), cols: d }
        const c = { data: centers(flavour, k, d, seed + 1), cols: d }
        expectSame(await run(opened, x, c), distanceMatrix(x, c))
      })
      await checkProperty(opened.runs, fc.tuple(shape, roughFlavour), async ([{ n, k, d, seed }, flavour]) => {
        const x = { data: points(flavour, n, d, seed), cols: d }
        const c = { data: centers(flavour, k, d, seed + 1), cols: d }
        const expected = distanceMatrix(x, c)
        expectClose(await run(opened, x, c), expected, (i) => distanceBound(d, expected[i]))
      })
    })
  })
})

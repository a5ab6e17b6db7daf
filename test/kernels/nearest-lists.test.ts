import { describe, expect, test } from 'vitest'
import { elements } from '../../src/device/fields.ts'
import { nearestListsKernel, packCenters } from '../../src/kernels/nearest-lists.ts'
import { paddedCols } from '../../src/kernels/rows.ts'
import { fc } from '../properties.ts'
import { distanceBound, expectClose, expectSame } from '../tolerance.ts'
import { DEVICES, type OpenedDevice, onDevices } from './devices.ts'
import { anySeed, centers, checkProperty, type Flavour } from './vectors.ts'

interface Shape {
  readonly rows: number
  readonly k: number
  readonly cols: number
  readonly probe: number
  /** Directions of a rotation; 0: none. */
  readonly width: number
  readonly inner: boolean
}

function padded(data: Float32Array, cols: number): Float32Array {
  const stride = paddedCols(cols)
  const out = new Float32Array((data.length / cols) * stride)
  for (let i = 0; i * cols < data.length; i++) out.set(data.subarray(i * cols, (i + 1) * cols), i * stride)
  return out
}

function dot(a: Float32Array, i: number, b: Float32Array, j: number, cols: number): number {
  let sum = 0
  for (let t = 0; t < cols; t++) sum += a[i * cols + t] * b[j * cols + t]
  return sum
}

function squared(a: Float32Array, i: number, b: Float32Array, j: number, cols: number): number {
  let sum = 0
  for (let t = 0; t < cols; t++) sum += (a[i * cols + t] - b[j * cols + t]) ** 2
  return sum
}

async function check(opened: OpenedDevice, flavour: Flavour, shape: Shape, seed: number): Promise<void> {
  const { rows, k, cols, width, inner } = shape
  const probe = Math.min(shape.probe, k)
  const stride = paddedCols(cols)
  const queries = centers(flavour, rows, cols, seed)
  const places = centers(flavour, k, cols, seed + 1)
  const rotation = width > 0 ? centers('whole', width, cols, seed + 2) : undefined
  const out = await opened.use(async (buffers) => {
    const lists = buffers.output(rows * probe * 4)
    const bases = buffers.output(rows * probe * 4)
    const projected = buffers.output(rows * (width || cols) * 4)
    const upload = (data: Float32Array) => elements(buffers.upload(data))
    const packed = upload(packCenters(padded(places, cols), stride, inner))
    const given = { queries: upload(padded(queries, cols)), centers: upload(padded(places, cols)) }
    const turn = rotation && upload(padded(rotation, cols))
    await buffers.device.run({
      name: 'nearest-lists',
      webgpu: () => [],
      *cpu(memory) {
        yield nearestListsKernel.job(memory, {
          ...given,
          ...{ rows, stride, panels: packed, k, rotation: turn, width: width || cols, probe, inner },
          lists: elements(lists.buffer, rows * probe),
          bases: elements(bases.buffer, rows * probe),
          projected: elements(projected.buffer, rows * (width || cols)),
        })
      },
    })
    return { lists: await lists.words(), bases: await bases.floats(), projected: await projected.floats() }
  })
  const far = (i: number, j: number): number =>
    inner ? -dot(queries, i, places, j, cols) : squared(queries, i, places, j, cols)
  for (let i = 0; i < rows; i++) {
    const best = Array.from({ length: k }, (_, j) => ({ j, far: far(i, j) }))
      .sort((a, b) => a.far - b.far || a.j - b.j)
      .slice(0, probe)
    const found = Array.from(out.lists.subarray(i * probe, (i + 1) * probe))
    expect(new Set(found).size).toBe(probe)
    const own = found.map((j) => far(i, j))
    const scale = best.reduce((most, each) => Math.max(most, Math.abs(each.far)), dot(queries, i, queries, i, cols))
    const bound = (): number => 4 * distanceBound(cols + 8, scale + dot(places, best[0].j, places, best[0].j, cols))
    if (flavour === 'whole') {
      expectSame(
        found,
        best.map(({ j }) => j),
      )
    } else {
      expectClose(
        own,
        best.map((each) => each.far),
        bound,
      )
    }
    expectClose(out.bases.subarray(i * probe, (i + 1) * probe), own, bound)
    for (let t = 0; t < (width || cols); t++) {
      const expected = rotation ? dot(queries, i, rotation, t, cols) : queries[i * cols + t]
      expect(Math.abs(out.projected[i * (width || cols) + t] - expected)).toBeLessThanOrEqual(bound() + 1e-5)
    }
  }
}

onDevices(
  DEVICES.filter(({ name }) => name.startsWith('cpu')),
  (opened) => {
    describe('nearest-lists', () => {
      test.each([1, 2, 3, 4, 5, 9])('%i queries', async (rows) => {
        for (const k of [1, 3, 31, 32, 33, 70]) {
          await check(opened, 'whole', { rows, k, cols: 5, probe: 7, width: 0, inner: rows % 2 === 0 }, rows + k)
        }
      })

      test('agrees with the oracle whatever the shape', async () => {
        const shapes = fc.record({
          shape: fc.record({
            rows: fc.integer({ min: 1, max: 9 }),
            k: fc.integer({ min: 1, max: 90 }),
            cols: fc.integer({ min: 1, max: 20 }),
            probe: fc.integer({ min: 1, max: 40 }),
            width: fc.integer({ min: 0, max: 9 }),
            inner: fc.boolean(),
          }),
          flavour: fc.constantFrom<Flavour>('whole', 'unit', 'repeated'),
          seed: anySeed,
        })
        await checkProperty(opened.runs, shapes, ({ shape, flavour, seed }) => check(opened, flavour, shape, seed))
      })
    })
  },
)

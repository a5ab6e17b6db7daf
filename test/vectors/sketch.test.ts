/** A sketch keeps who is near whom, in a quarter of the columns or less, whatever the data. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { matrix, toSource } from '../../src/core/matrix.ts'
import { createRandom } from '../../src/core/random.ts'
import { BufferScope, type Device } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import { allocateRows, type DeviceRows, writeRows } from '../../src/kernels/rows.ts'
import { inspectFrame } from '../../src/vectors/frame.ts'
import { PointStore } from '../../src/vectors/points.ts'
import { projectRows, type SketchBasis, sketchBasis } from '../../src/vectors/sketch.ts'
import { CLUSTERING_DEVICES } from '../clustering/devices.ts'

/** Rows with most of their spread in a few directions, far from zero. */
function flatCloud(n: number, cols: number, directions: number): Float32Array {
  const random = createRandom(n + cols)
  const basis = Array.from({ length: directions }, () => Float64Array.from({ length: cols }, () => random.normal()))
  const rows = new Float32Array(n * cols)
  for (let i = 0; i < n; i++) {
    const place = basis.map(() => random.normal())
    for (let j = 0; j < cols; j++) {
      rows[i * cols + j] = 100 + basis.reduce((sum, row, t) => sum + row[j] * place[t], 0) + random.normal() * 0.01
    }
  }
  return rows
}

function distance(data: ArrayLike<number>, cols: number, a: number, b: number): number {
  let sum = 0
  for (let j = 0; j < cols; j++) sum += (data[a * cols + j] - data[b * cols + j]) ** 2
  return Math.sqrt(sum)
}

function basisOf(data: Float32Array | Uint8Array, cols: number): Promise<SketchBasis> {
  return sketchBasis(data.length / cols, cols, async (first, end) => data.subarray(first * cols, end * cols))
}

describe('the basis of a sketch', () => {
  test('is a plain value that rows alone decide', async () => {
    const data = flatCloud(200, 70, 5)
    const basis = await basisOf(data, 70)
    expect(structuredClone(basis)).toEqual(basis)
    expect(await basisOf(data.slice(), 70)).toEqual(basis)
  })

  test.each([70, 513, 700])(
    'has orthogonal directions of one length that hold the spread, %i columns',
    async (cols) => {
      const data = flatCloud(150, cols, 12)
      const { directions, columns } = await basisOf(data, cols)
      const rows = Array.from({ length: columns }, (_, i) => directions.subarray(i * cols, (i + 1) * cols))
      const product = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, j) => sum + value * b[j], 0)
      const squared = product(rows[0], rows[0])
      rows.forEach((row, i) => {
        rows.forEach((other, j) => {
          expect(product(row, other) / squared).toBeCloseTo(i === j ? 1 : 0, 4)
        })
      })
      // Differences of rows lie in the span, but for the noise.
      for (let i = 1; i < 150; i++) {
        const difference = data.slice(i * cols, (i + 1) * cols).map((value, j) => value - data[j])
        const held = rows.reduce((sum, row) => sum + product(row, difference) ** 2 / squared, 0)
        expect(held / product(difference, difference)).toBeGreaterThan(0.99)
      }
    },
  )
})

for (const { name, options } of CLUSTERING_DEVICES) {
  describe(`sketches on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(options)
    })
    afterAll(() => device.close())

    const sketched = async <T>(
      data: Float32Array | Uint8Array,
      cols: number,
      use: (sketch: DeviceRows, points: DeviceRows, bytes: Uint8Array) => T,
    ): Promise<T> => {
      const scope = new BufferScope(device)
      try {
        const type = data instanceof Uint8Array ? 'u8' : 'f32'
        const points = allocateRows(scope, data.length / cols, cols, type, 'points')
        writeRows(device, points, data)
        const sketch = await projectRows(device, scope, points, await basisOf(data, cols))
        return use(sketch, points, new Uint8Array(await device.read(sketch.buffer)))
      } finally {
        scope.free()
      }
    }

    test.each([
      [1, 64],
      [33, 65],
      [300, 128],
      [517, 131],
    ])('%i x %i: distances keep their proportions', async (n, cols) => {
      const data = flatCloud(n, cols, 12)
      await sketched(data, cols, (sketch, _points, bytes) => {
        expect([sketch.rows, sketch.cols, sketch.type]).toEqual([n, 32, 'u8'])
        const ratios: number[] = []
        for (let i = 1; i < n; i++) ratios.push(distance(bytes, 32, i, i - 1) / distance(data, cols, i, i - 1))
        if (ratios.length > 0) expect(Math.max(...ratios) / Math.min(...ratios)).toBeLessThan(1.25)
      })
    })

    test('wide vectors keep proportions too, without a square matrix of their columns', async () => {
      const cols = 2003
      const data = flatCloud(90, cols, 12)
      const allocate = vi.spyOn(device, 'allocate')
      try {
        await sketched(data, cols, (_sketch, _points, bytes) => {
          const ratios: number[] = []
          for (let i = 1; i < 90; i++) ratios.push(distance(bytes, 32, i, i - 1) / distance(data, cols, i, i - 1))
          expect(Math.max(...ratios) / Math.min(...ratios)).toBeLessThan(1.25)
        })
        // The points, or a copy of them, are the largest.
        expect(Math.max(...allocate.mock.calls.map(([bytes]) => bytes))).toBeLessThan(4 * cols * 100)
      } finally {
        allocate.mockRestore()
      }
    })

    test('bytes as well as floats, and rows beyond one chunk in their places', async () => {
      const cols = 64
      const data = new Uint8Array(16_500 * cols)
      // Two kinds of rows in turn: every sketch must say which.
      for (let i = 0; i < data.length; i++) data[i] = Math.floor(i / cols) % 2 === 0 ? 10 : 200
      await sketched(data, cols, (_sketch, _points, bytes) => {
        for (let i = 2; i < 16_500; i++) {
          const same = bytes.subarray((i - 2) * 32, (i - 1) * 32)
          expect(bytes.subarray(i * 32, (i + 1) * 32).join()).toBe(same.join())
        }
        expect(distance(bytes, 32, 0, 1)).toBeGreaterThan(100)
      })
    })

    test('equal points have equal sketches', async () => {
      await sketched(new Float32Array(100 * 70).fill(3), 70, (_sketch, _points, bytes) => {
        expect(new Set(bytes)).toEqual(new Set([128]))
      })
    })

    test('vectors that spread evenly get more columns', async () => {
      const random = createRandom(5)
      const even = Float32Array.from({ length: 200 * 100 }, () => random.normal())
      await sketched(even, 100, (sketch) => expect(sketch.cols).toBe(48))
    })

    const stored = async <T>(data: Float32Array, cols: number, use: (points: PointStore) => Promise<T>): Promise<T> => {
      const source = toSource(matrix(data, data.length / cols, cols))
      const points = await PointStore.open(device, source, { frame: await inspectFrame(source, 'euclidean') })
      try {
        return await use(points)
      } finally {
        points.free()
      }
    }

    test('narrow points are their own', async () => {
      await stored(flatCloud(20, 63, 3), 63, async (points) => {
        expect(await points.sketch(points.parts[0])).toBe(await points.vectors(points.parts[0]))
      })
    })

    test('nothing is read back from the device, and a part is sketched once', async () => {
      await stored(flatCloud(300, 80, 3), 80, async (points) => {
        const read = vi.spyOn(device, 'read')
        try {
          const sketch = await points.sketch(points.parts[0])
          expect(await points.sketch(points.parts[0])).toBe(sketch)
          expect(read).not.toHaveBeenCalled()
        } finally {
          read.mockRestore()
        }
      })
    })

    test('a row has the same sketch however rows are cut into calls', async () => {
      const [n, cols] = [301, 90]
      const data = flatCloud(n, cols, 9)
      const basis = await basisOf(data, cols)
      const bytesOf = async (from: number, to: number): Promise<number[]> => {
        const scope = new BufferScope(device)
        try {
          const points = allocateRows(scope, to - from, cols, 'f32', 'points')
          writeRows(device, points, data.subarray(from * cols, to * cols))
          const sketch = await projectRows(device, scope, points, basis)
          return Array.from(new Uint8Array(await device.read(sketch.buffer)).subarray(0, (to - from) * sketch.stride))
        } finally {
          scope.free()
        }
      }
      const cuts = [0, 1, 4, 130, n]
      const pieces = await Promise.all(cuts.slice(1).map((to, i) => bytesOf(cuts[i], to)))
      expect(pieces.flat()).toEqual(await bytesOf(0, n))
    })
  })
}

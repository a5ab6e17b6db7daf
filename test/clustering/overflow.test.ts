/** Options and weights that would overflow 32-bit arithmetic are scaled, or refused with the largest value that works. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cluster } from '../../src/clustering/cluster.ts'
import type { ClusterOptions } from '../../src/clustering/cluster-options.ts'
import { readOptions, resolveOptions } from '../../src/clustering/options.ts'
import { METHODS } from '../../src/clustering/presets.ts'
import { CentroidalError } from '../../src/core/errors.ts'
import { matrix } from '../../src/core/matrix.ts'
import type { Device } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import type { MethodName } from '../../src/models/method-names.ts'
import { nearest } from '../../src/search/flat.ts'

describe('overflow', () => {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ kind: 'cpu', threads: 1 })
  })
  afterAll(() => device.close())

  const points = matrix(
    Float32Array.from({ length: 120 }, (_, i) => ((i * 7919) % 101) / 10 + 40 * (Math.floor(i / 3) % 4)),
    40,
    3,
  )
  const methods = Object.keys(METHODS) as MethodName[]

  test.each(methods.filter((name) => METHODS[name].weights !== false))(
    '%s: weights times a power of two change no bit',
    async (method) => {
      const run = (factor: number) =>
        cluster(points, {
          ...(METHODS[method].findsCount ? {} : { k: 4 }),
          method,
          weights: Array.from({ length: 40 }, (_, i) => (1 + (i % 3)) * factor),
          device,
          iterations: 5,
        })
      const ordinary = await run(1)
      for (const factor of [2 ** 125, 2 ** -120]) {
        const scaled = await run(factor)
        // A mixture joins components by how many points there are, and weights say so.
        if (METHODS[method].findsCount) {
          expect(scaled.centers.data.every(Number.isFinite)).toBe(true)
          continue
        }
        expect(scaled.centers.data).toEqual(ordinary.centers.data)
        expect(scaled.labels).toEqual(ordinary.labels)
        expect(scaled.distortion).toBe(ordinary.distortion)
      }
    },
  )

  test.each([
    ['egm', 'sigma', 1e200],
    ['agm', 'floor', 1e99],
    ['gmm', 'floor', 1e30],
  ] as const)('%s with %s %s is refused with the largest value that works', async (method, name, value) => {
    const options = { method, [name]: value, ...(method === 'gmm' ? { k: 2 } : {}), device } as ClusterOptions
    const error = await cluster(points, options).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(CentroidalError)
    const most = Number(/at most ([\d.e+]+)\.$/.exec((error as Error).message)?.[1])
    const model = await cluster(points, { ...options, [name]: most / 2, iterations: 5 })
    expect(model.centers.data.every(Number.isFinite)).toBe(true)
  })

  test('a floor too small for 32 bits is raised', async () => {
    const model = await cluster(points, { method: 'gmm', k: 10, floor: 1e-44, device, iterations: 10 })
    expect(model.sigmas?.every((sigma) => sigma > 0)).toBe(true)
  })

  test('squared distances beyond the largest float become that', async () => {
    const far = matrix(Float32Array.of(-3e38, 3e38, 1e30, 2e30), 4, 1)
    const model = await cluster(far, { k: 1, device })
    const { distances } = await model.assign(far, { device })
    expect(Array.from(distances)).toEqual(new Array(4).fill(Math.fround(3.4028234663852886e38)))
    expect(model.distortion).toBeGreaterThan(1e76)
  })

  test('vectors far beyond those of the model are refused, not mislabelled', async () => {
    const model = await cluster(points, { k: 2, device })
    const huge = matrix(Float32Array.of(1e38, 0, 0), 1, 3)
    await expect(model.assign(huge, { device })).rejects.toThrow(
      /values \S*e\+37 away from those of the model, .* up to 1\.13e\+15/,
    )
    const tiny = await cluster(matrix(Float32Array.of(1e-44, 2e-44, 9e-44), 3, 1), { k: 2, device })
    await expect(tiny.assign([[1]], { device })).rejects.toThrow(/remove such rows/)
  })

  test('centres and neighbours may be much larger than the vectors', async () => {
    const model = await cluster(points, { k: 2, start: matrix(Float32Array.of(1e38, 0, 0, 1, 1, 1), 2, 3), device })
    expect(model.centers.data.every(Number.isFinite)).toBe(true)
    const among = matrix(Float32Array.of(1e38, 1, -1e38), 3, 1)
    expect(Array.from((await nearest([[2], [3]], among, { device })).labels)).toEqual([1, 1])
  })

  test('a result that is not finite is an error', async () => {
    const { requireFiniteResult } = await import('../../src/vectors/finite.ts')
    expect(() => requireFiniteResult([1, Number.NaN], 'a centre')).toThrow(/holds NaN in a centre: .* rescale/)
  })

  test.each([
    [{ seed: 2 ** 53 }, /seed is 9007199254740992/],
    [{ iterations: 1e10 }, /iterations is 10000000000: give a whole number from 1 to 1000000000/],
    [{ iterations: Number.POSITIVE_INFINITY }, /iterations is Infinity/],
    [{ restarts: 1e6 }, /restarts is 1000000: give a whole number from 1 to 10000/],
    [{ method: 'sharp', batch: 1e9 }, /batch is 1000000000: sharp needs a whole number, 0 to 1000000/],
    [{ method: 'closures', leafSize: 1e9 }, /leafSize/],
    [{ method: 'hkm', nodeRounds: 1e9 }, /nodeRounds/],
    [{ method: 'gmm', sigma: Number.POSITIVE_INFINITY }, /sigma is Infinity/],
  ] as const)('%o is out of bounds', (options, message) => {
    expect(() => resolveOptions(readOptions({ k: 2, ...options }), { rows: 9, cols: 2 })).toThrow(message)
  })

  test('every number a method takes has a largest value, or one the data sets', () => {
    const open = methods.flatMap((name) =>
      METHODS[name].options.filter(({ kind, most }) => (kind === 'whole' || kind === 'real') && most === undefined),
    )
    expect(new Set(open.map(({ name }) => name))).toEqual(new Set(['sigma', 'floor']))
  })
})

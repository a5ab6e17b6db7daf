/** How many clusters `egm` and `agm` find by default, and that it depends on the data alone. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  CentroidalError,
  type ClusterOptions,
  cluster,
  createRandom,
  type Device,
  loadModel,
  type Matrix,
  matrix,
  openDevice,
} from '../../src/index.ts'
import { ClusterModel } from '../../src/models/model.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { bitsOf } from './contract/subjects.ts'
import { CLUSTERING_DEVICES } from './devices.ts'
import { spacedModes, worstGap } from './mixture-clouds.ts'
import { logParts, logSumExp, type OracleMixture } from './mixture-oracle.ts'

const METHODS = ['egm', 'agm'] as const
const path = temporaryFolder()

let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 2 })
})
afterAll(() => device.close())

function equal(count: number, size: number, sigma = 1): { readonly size: number; readonly sigma: number }[] {
  return Array.from({ length: count }, () => ({ size, sigma }))
}

describe.each(CLUSTERING_DEVICES)('on $name', ({ options }) => {
  test.each(METHODS)('%s finds separated modes', async (method) => {
    const cloud = spacedModes(1, 3, equal(3, 20), 10)
    const model = await cluster(cloud.points, { method, device: options })
    expect(model.facts.k).toBe(3)
    expect(Array.from(model.sizes)).toEqual([20, 20, 20])
    expect(worstGap(cloud, model.centers)).toBeLessThan(1)
  })
})

describe.each(METHODS)('%s', (method) => {
  // 1,200 points begin with 300 components: more than agm ranks without searching for them.
  test.each([
    [2, 20, 4],
    [16, 20, 4],
    [64, 20, 4],
    [2, 300, 2],
    [16, 300, 2],
    [64, 300, 1],
  ])('separated modes in %i dimensions, %i points each: the exact number', async (cols, size, seeds) => {
    for (let seed = 1; seed <= seeds; seed++) {
      const cloud = spacedModes(seed, cols, equal(size === 20 ? 6 : 4, size), 8)
      const model = await cluster(cloud.points, { method, device, seed })
      expect(model.facts.k, `seed ${seed}`).toBe(cloud.modes.length)
      expect(new Set(model.sizes)).toEqual(new Set([size]))
    }
  })

  test.each([2, 16, 64])('very unequal sizes and widths in %i dimensions', async (cols) => {
    const sizes = [20, 1000, 20, 60].map((size) => ({ size, sigma: 1 }))
    const unequal = await cluster(spacedModes(5, cols, sizes, 10).points, { method, device })
    expect(Array.from(unequal.sizes).sort((a, b) => a - b)).toEqual([20, 20, 60, 1000])
    const widths = [1, 5, 1, 5].map((sigma) => ({ size: 80, sigma }))
    const model = await cluster(spacedModes(6, cols, widths, 40).points, { method, device })
    expect(model.facts.k).toBe(4)
    const sigmas = Array.from(model.sigmas ?? []).sort((a, b) => a - b)
    sigmas.forEach((sigma, place) => {
      expect(sigma / (place < 2 ? 1 : 5)).toBeGreaterThan(0.8)
      expect(sigma / (place < 2 ? 1 : 5)).toBeLessThan(1.2)
    })
  })

  describe('the same clusters, whatever is done to the data', () => {
    const cloud = spacedModes(7, 3, equal(5, 50), 10)
    const { rows, cols } = cloud.points
    const data = cloud.points.data as Float32Array
    let plain: ClusterModel
    beforeAll(async () => {
      plain = await cluster(cloud.points, { method, device })
    })

    /** Means within a hundredth of a standard deviation, weights and deviations within a thousandth, in any order. */
    async function expectSame(changed: Matrix, back: (mean: Float64Array) => Float64Array, scale = 1): Promise<void> {
      const model = await cluster(changed, { method, device })
      expect(model.facts.k).toBe(5)
      expect(plain.facts.k).toBe(5)
      const taken = new Set<number>()
      for (let c = 0; c < 5; c++) {
        const mean = back(Float64Array.from(model.centers.data.subarray(c * cols, (c + 1) * cols)))
        const gaps = Array.from({ length: 5 }, (_, other) =>
          Math.hypot(...mean.map((value, t) => value - plain.centers.data[other * cols + t])),
        )
        const nearest = gaps.indexOf(Math.min(...gaps))
        taken.add(nearest)
        expect(gaps[nearest]).toBeLessThan(0.01)
        expect(Math.abs((model.weights?.[c] ?? 0) - (plain.weights?.[nearest] ?? 1))).toBeLessThan(1e-3)
        expect(Math.abs((model.sigmas?.[c] ?? 0) / scale / (plain.sigmas?.[nearest] ?? 0) - 1)).toBeLessThan(1e-3)
      }
      expect(taken.size).toBe(5)
    }

    test.each([-40, -3, 1, 30])('scaled by 2^%i', async (exponent) => {
      const scale = 2 ** exponent
      await expectSame(
        matrix(
          data.map((value) => value * scale),
          rows,
          cols,
        ),
        (mean) => mean.map((value) => value / scale),
        scale,
      )
    })

    test('shifted', async () => {
      const shift = [1000, -500, 3]
      await expectSame(
        matrix(
          data.map((value, at) => value + shift[at % cols]),
          rows,
          cols,
        ),
        (mean) => mean.map((value, t) => value - shift[t]),
      )
    })

    test('rows in another order', async () => {
      const random = createRandom(3)
      const order = Array.from({ length: rows }, (_, i) => ({ i, at: random.uniform() })).sort((a, b) => a.at - b.at)
      const mixed = order.flatMap(({ i }) => Array.from(data.subarray(i * cols, (i + 1) * cols)))
      await expectSame(matrix(Float32Array.from(mixed), rows, cols), (mean) => mean)
    })

    test('columns in another order', async () => {
      const from = [2, 0, 1]
      const mixed = data.map((_, at) => data[Math.floor(at / cols) * cols + from[at % cols]])
      await expectSame(matrix(mixed, rows, cols), (mean) => {
        const plain = new Float64Array(cols)
        mean.forEach((value, t) => {
          plain[from[t]] = value
        })
        return plain
      })
    })
  })

  test.each([false, true])(
    'likelihood and BIC of every round are those of an oracle, weights: %s',
    async (weighted) => {
      const cloud = spacedModes(9, 4, equal(4, 45), 4)
      const { rows, cols, data } = cloud.points
      const weights = Float32Array.from({ length: rows }, (_, i) => 1 + (i % 3))
      const kept: ClusterModel[] = []
      const model = await cluster(cloud.points, {
        method,
        // Every point shares itself among all components, so that nothing is left out.
        ...(method === 'agm' ? { memory: 64 } : {}),
        ...(weighted ? { weights } : {}),
        device,
        checkpoint: { every: 1, save: (at) => void kept.push(at) },
      })
      const { iterations } = model.facts
      const counts = new Set(kept.map(({ facts }) => facts.k))
      expect(counts.size).toBeGreaterThan(3)
      const total = weighted ? weights.reduce((sum, weight) => sum + weight, 0) : rows
      // A round tells of the mixture it began with: that of the round before it.
      for (let round = 1; round < iterations.length; round++) {
        const before = kept[round - 1]
        const oracle: OracleMixture = {
          cols,
          means: Float64Array.from(before.centers.data),
          weights: Float64Array.from(before.weights ?? []),
          variances: Float64Array.from(before.sigmas ?? [], (sigma) => sigma ** 2),
        }
        let sum = 0
        for (let i = 0; i < rows; i++) sum += (weighted ? weights[i] : 1) * logSumExp(logParts(data, i * cols, oracle))
        // Kish's effective sample size: all points differ.
        const squares = weighted ? weights.reduce((squared, weight) => squared + weight * weight, 0) : rows
        const points = total ** 2 / squares
        const bic = (-2 * sum * points) / total + (before.facts.k * (cols + 2) - 1) * Math.log(points)
        const { extra } = iterations[round]
        expect(Math.abs((extra?.logLikelihood ?? 0) - sum / total), `round ${round + 1}`).toBeLessThan(1e-4)
        expect(Math.abs((extra?.bic ?? 0) - bic), `round ${round + 1}`).toBeLessThan(2e-4 * total)
      }
      const { logLikelihoods } = await model.responsibilities(cloud.points, 1, { device })
      const oracle: OracleMixture = {
        cols,
        means: Float64Array.from(model.centers.data),
        weights: Float64Array.from(model.weights ?? []),
        variances: Float64Array.from(model.sigmas ?? [], (sigma) => sigma ** 2),
      }
      logLikelihoods.forEach((value, i) => {
        expect(Math.abs(value - logSumExp(logParts(data, i * cols, oracle)))).toBeLessThan(1e-3)
      })
    },
  )

  test('weights count as so many points, and points without weight as none', async () => {
    const cloud = spacedModes(11, 2, equal(5, 30), 10)
    const { rows, cols } = cloud.points
    const data = cloud.points.data as Float32Array
    const weights = Float32Array.from({ length: rows }, (_, i) => i % 4)
    const copies = Array.from({ length: rows }, (_, i) =>
      Array.from({ length: weights[i] }, () => Array.from(data.subarray(i * cols, (i + 1) * cols))),
    ).flat(2)
    // Both begin with few components. With the default start the copies end in 45: see the next test.
    const asked = { method, start: 20, device } as const
    const weighted = await cluster(cloud.points, { ...asked, weights })
    const copied = await cluster(matrix(Float32Array.from(copies), copies.length / cols, cols), asked)
    expect(weighted.facts.k).toBe(5)
    expect(copied.facts.k).toBe(5)
    const sorted = ({ weights: shares }: ClusterModel): number[] => Array.from(shares ?? []).sort((a, b) => a - b)
    sorted(weighted).forEach((share, c) => {
      expect(share).toBeCloseTo(sorted(copied)[c], 3)
    })
    // Points of a mode of its own that do not count are no cluster.
    const without = Float32Array.from({ length: rows }, (_, i) => (i < 30 ? 0 : 1))
    expect((await cluster(cloud.points, { method, weights: without, device })).facts.k).toBe(4)
  })

  // Copies and weights that are the same for all points are no evidence for more components.
  test.each([
    ['every point three times', 3, 1],
    ['every weight 10', 1, 10],
  ])('finds the same number with %s', async (_, times, weight) => {
    const { points } = spacedModes(11, 2, equal(5, 30), 10)
    const rows = Array.from({ length: points.rows }, (__, i) => Array.from(points.data.subarray(2 * i, 2 * i + 2)))
    const copies = rows.flatMap((row) => Array.from({ length: times }, () => row)).flat()
    const weights = new Float32Array(copies.length / 2).fill(weight)
    const copied = matrix(Float32Array.from(copies), copies.length / 2, 2)
    expect((await cluster(copied, { method, weights, device })).facts.k).toBe(5)
  })

  describe('interrupted', () => {
    const { points } = spacedModes(13, 3, [...equal(3, 150, 1), ...equal(4, 40, 2)], 4)
    /** Many components that are merged, in agm more than are ranked without a search; and fewer than modes, which are split. */
    const starts = [300, 3]
    const runs: { readonly whole: ClusterModel; readonly kept: readonly ClusterModel[] }[] = []
    const asked = (start: number): ClusterOptions => ({ method, device, start, ...(method === 'agm' && { memory: 6 }) })
    beforeAll(async () => {
      for (const start of starts) {
        const kept: ClusterModel[] = []
        const checkpoint = { every: 1, save: (model: ClusterModel) => void kept.push(model) }
        runs.push({ whole: await cluster(points, { ...asked(start), checkpoint }), kept })
      }
    })

    test('and resumed in the middle of the search, it ends with the bits of an uninterrupted run', async () => {
      const phases = new Set<number | undefined>()
      for (const [run, start] of starts.entries()) {
        const { whole, kept } = runs[run]
        const expected = bitsOf(whole)
        for (const { resumeState } of kept) phases.add(resumeState?.arrays.search?.[0])
        for (let at = 0; at < kept.length - 1; at += at < 8 ? 2 : 5) {
          const rest = await cluster(points, { ...asked(start), resume: kept[at] })
          expect(bitsOf(rest), `after round ${at + 1}`).toEqual(expected)
        }
        for (const iterations of [5, Math.floor(kept.length / 2)]) {
          const folder = path(`${method}-${start}-${iterations}`)
          await (await cluster(points, { ...asked(start), iterations })).save(folder)
          const rest = await cluster(points, { ...asked(start), resume: await loadModel(folder) })
          expect(bitsOf(rest), `from a folder, after round ${iterations}`).toEqual(expected)
        }
      }
      // Merging, labelling, splitting, and expectation-maximization alone.
      for (const phase of [0, 1, 2, 3]) expect(phases).toContain(phase)
    })

    const change = (index: number, value: number) => (values: Float64Array) => {
      const changed = values.slice()
      changed[index] = value
      return changed
    }
    const damages: Record<string, readonly [string, (values: Float64Array) => unknown]> = {
      'numbers missing': ['search', (values) => values.slice(1)],
      'numbers of another type': ['search', (values) => Float32Array.from(values)],
      'an unknown phase': ['search', change(0, 4)],
      'half a phase': ['search', change(0, 1.5)],
      'a negative round': ['search', change(1, -1)],
      'a share that is no number': ['search', change(4, Number.NaN)],
      'a share above all': ['search', change(4, 2)],
      'too many merges': ['search', change(8, 9)],
      'a mean that is no number': ['search-means', (values) => values.map(() => Number.NaN)],
      'means missing': ['search-means', () => undefined],
      'means cut short': ['search-means', (values) => values.slice(1)],
      'weights above 1': ['search-weights', (values) => values.map(() => 2)],
      'weights missing': ['search-weights', () => undefined],
      'a variance of 0': ['search-variances', change(0, 0)],
      'an endless variance': ['search-variances', change(0, Number.POSITIVE_INFINITY)],
      'variances cut short': ['search-variances', (values) => values.slice(1)],
      'room for nothing': ['most', () => Uint32Array.of(0)],
      'too much room': ['most', () => Uint32Array.of(4_000_000_000)],
    }
    test.each(Object.entries(damages))('a model to resume with %s is refused', async (_, [name, damage]) => {
      const { centers, labels, facts, state, tree, weights, sigmas, resumeState } = runs[0].kept[9]
      const arrays = { ...resumeState?.arrays }
      const damaged = damage(arrays[name] as Float64Array)
      if (damaged === undefined) delete arrays[name]
      else arrays[name] = damaged as Float64Array
      const mixture = weights && sigmas && { weights, sigmas }
      const model = new ClusterModel(centers, labels, facts, state, tree, mixture, { ...resumeState, arrays })
      const error = await cluster(points, { ...asked(300), resume: model }).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(CentroidalError)
      expect((error as Error).message).toMatch(/create the model again/)
    })
  })
})

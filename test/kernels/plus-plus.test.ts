import { describe, expect, test } from 'vitest'
import { MOST_TRIALS } from '../../shaders/plus-plus.ts'
import type { VectorData } from '../../src/core/matrix.ts'
import { createRandom } from '../../src/core/random.ts'
import { plusPlus, plusPlusMostRows, plusPlusPartRows, plusPlusTrials } from '../../src/kernels/plus-plus.ts'
import { fc } from '../properties.ts'
import { UNIT } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice, withRead } from './devices.ts'
import { squaredDistance } from './oracles.ts'
import { sparsified, uploadSparse } from './sparse-rows.ts'
import { anySeed, checkProperty, type Flavour, points, size, weights } from './vectors.ts'

interface Case {
  readonly data: VectorData
  readonly cols: number
  readonly weights?: Float32Array
  /** Rows that are centres before. */
  readonly given: readonly number[]
  readonly trials: number
  readonly uniforms: Float32Array
  readonly sparse?: boolean
  /** Rows of each part but the last. */
  readonly cut?: number
}

function nearestOf({ data, cols, given }: Case): Float32Array {
  const rows = { data, cols }
  return Float32Array.from({ length: data.length / cols }, (_, i) =>
    Math.min(...given.map((center) => squaredDistance(rows, i, rows, center))),
  )
}

function run(opened: OpenedDevice, given: Case): Promise<Uint32Array> {
  const { data, cols, trials, uniforms } = given
  const n = data.length / cols
  const cut = given.cut ?? n
  return opened.use((buffers) => {
    const nearest = nearestOf(given)
    const parts = Array.from({ length: Math.ceil(n / cut) }, (_, part) => {
      const [start, end] = [part * cut, Math.min(n, (part + 1) * cut)]
      const some = data.slice(start * cols, end * cols)
      const rows = given.sparse
        ? uploadSparse(buffers, sparsified(some as Float32Array, end - start, cols))
        : buffers.rows(some, cols)
      return {
        points: rows,
        nearest: buffers.output((end - start) * 4, nearest.slice(start, end)).buffer,
        weights: given.weights && buffers.upload(given.weights.slice(start, end)),
      }
    })
    return plusPlus(buffers.device, { parts, trials, uniforms })
  })
}

/** A list of chances, and which of its places a random number points at when sums are a little wrong. */
function places(chances: Float64Array, uniform: number, slack: number): number[] {
  const total = chances.reduce((sum, chance) => sum + chance, 0)
  const found: number[] = []
  let sum = 0
  let last = -1
  chances.forEach((chance, i) => {
    if (chance <= 0) return
    last = i
    if (uniform * total >= sum - slack * total && uniform * total < sum + chance + slack * total) found.push(i)
    sum += chance
  })
  return found.length > 0 || last < 0 ? found : [last]
}

/**
 * The same choice in 64 bits, step by step: every candidate a random number may have meant is a possible one, and the
 * chosen one must leave a potential as low as that of the best, whichever was meant.
 */
function check(given: Case, chosen: Uint32Array, slack: number): void {
  const { data, cols, trials, uniforms } = given
  const rows = { data, cols }
  const n = data.length / cols
  const nearest = Float64Array.from(nearestOf(given))
  const weigh = (i: number): number => given.weights?.[i] ?? 1
  const potentialWith = (center: number): number => {
    let sum = 0
    for (let i = 0; i < n; i++) sum += weigh(i) * Math.min(nearest[i], squaredDistance(rows, i, rows, center))
    return sum
  }
  for (let step = 0; step < uniforms.length / trials; step++) {
    const chances = nearest.map((distance, i) => weigh(i) * distance)
    const potential = chances.reduce((sum, chance) => sum + chance, 0)
    if (potential === 0) {
      expect(chosen.length, 'centres after all points are covered').toBe(step)
      return
    }
    const drawn = Array.from(uniforms.subarray(step * trials, (step + 1) * trials), (uniform) =>
      places(chances, uniform, slack),
    )
    const center = chosen[step]
    expect(
      drawn.some((some) => some.includes(center)),
      `step ${step}: ${center} of ${drawn.join(' | ')}`,
    ).toBe(true)
    const lowest = Math.min(...drawn.map((some) => Math.max(...some.map(potentialWith))))
    expect(potentialWith(center)).toBeLessThanOrEqual(lowest + slack * potential)
    for (let i = 0; i < n; i++) nearest[i] = Math.min(nearest[i], squaredDistance(rows, i, rows, center))
  }
  expect(chosen.length).toBe(uniforms.length / trials)
}

/** Numbers of few bits times a whole potential are exact in 32 bits. */
function uniformsOf(count: number, seed: number, few: boolean): Float32Array {
  const random = createRandom(seed)
  return Float32Array.from({ length: count }, () => (few ? random.below(16) / 16 : random.uniform()))
}

interface Shape {
  readonly flavour: Flavour
  readonly n: number
  readonly cols: number
  readonly trials: number
  readonly count: number
  readonly weighted?: boolean
  readonly sparse?: boolean
  readonly cut?: number
  readonly seed: number
}

function makeCase({ flavour, n, cols, trials, count, weighted, sparse, cut, seed }: Shape): Case {
  const exact = flavour === 'whole' || flavour === 'wholeBytes'
  const drawn = weights(n, seed + 1)
  return {
    data: points(flavour, n, cols, seed),
    cols,
    // Whole weights too, where sums shall be exact.
    ...(weighted ? { weights: exact ? drawn.map(Math.ceil) : drawn } : {}),
    given: [createRandom(seed).below(n)],
    trials,
    uniforms: uniformsOf(count * trials, seed + 2, exact),
    ...(sparse ? { sparse } : {}),
    ...(cut ? { cut } : {}),
  }
}

/** Groups far from each other, and so many centres that every group gets several. */
function groupedCase(n: number, cols: number, groups: number, bytes: boolean, cut: number): Case {
  const random = createRandom(groups)
  const middles = Array.from({ length: groups * cols }, () => random.below(240))
  const data = Float32Array.from({ length: n * cols }, (_, at) => {
    const group = Math.floor(at / cols) % groups
    return middles[group * cols + (at % cols)] + random.below(12)
  })
  const uniforms = uniformsOf(4 * groups * 5, 3, false)
  return { data: bytes ? Uint8Array.from(data) : data, cols, given: [0], trials: 5, uniforms, cut }
}

/** Distances of d columns, sums of n of them. */
function slackOf({ flavour, n, cols, sparse }: Shape): number {
  if (flavour === 'whole' || flavour === 'wholeBytes') return 0
  // Of |c|^2, which is not what distances of sparse rows are measured by: see test/tolerance.ts.
  return (sparse ? 64 : 4) * (cols + n + 16) * UNIT
}

async function checkShape(opened: OpenedDevice, shape: Shape): Promise<void> {
  const given = makeCase(shape)
  check(given, await run(opened, given), slackOf(shape))
}

onEveryDevice((opened) => {
  describe('plus-plus', () => {
    test.each([1, 2, 63, 64, 65, 200, 1000])('chooses as the oracle does among %i points', async (n) => {
      for (const flavour of ['whole', 'wholeBytes', 'unit', 'bytes'] as const) {
        await checkShape(opened, { flavour, n, cols: 5, trials: 3, count: 5, seed: n })
        await checkShape(opened, { flavour, n, cols: 3, trials: 4, count: 4, weighted: true, seed: n + 1 })
      }
    })

    test.each([1, 4, 7, 31, 32, 33, 36, 64, 129])('of %i columns', async (cols) => {
      for (const flavour of ['whole', 'bytes', 'unit'] as const) {
        await checkShape(opened, { flavour, n: 90, cols, trials: 5, count: 6, seed: cols })
      }
      await checkShape(opened, { flavour: 'whole', n: 90, cols, trials: 5, count: 6, sparse: true, seed: cols })
    })

    test('separated groups, of which most points are passed over', async () => {
      for (const bytes of [false, true]) {
        for (const cut of [640, 128]) {
          const given = groupedCase(640, 6, 20, bytes, cut)
          check(given, await run(opened, given), 4 * 700 * UNIT)
        }
      }
    })

    test('so many points that all threads take part', async () => {
      await checkShape(opened, { flavour: 'whole', n: 2500, cols: 129, trials: 4, count: 4, weighted: true, seed: 6 })
      await checkShape(opened, { flavour: 'bytes', n: 2500, cols: 129, trials: 4, count: 3, seed: 7 })
    })

    test('points in parts are chosen as if they were in one', async () => {
      for (const sparse of [false, true]) {
        const shape = {
          flavour: 'whole',
          n: 300,
          cols: 6,
          trials: 4,
          count: 8,
          weighted: true,
          sparse,
          seed: 3,
        } as const
        const whole = await run(opened, makeCase(shape))
        for (const cut of [64, 100, 299]) {
          expect(await run(opened, makeCase({ ...shape, cut }))).toEqual(whole)
        }
      }
    })

    test.each([1, MOST_TRIALS])('with %i candidates, in several batches', async (trials) => {
      await checkShape(opened, { flavour: 'whole', n: 400, cols: 2, trials, count: 130, seed: 8 })
      await checkShape(opened, { flavour: 'unit', n: 250, cols: 4, trials, count: 70, seed: 9 })
    })

    test('ends when every point with weight lies on a centre', async () => {
      const data = Float32Array.from({ length: 200 }, (_, i) => i % 7)
      const given = { data, cols: 1, given: [0], trials: 3, uniforms: uniformsOf(90, 1, false) }
      const chosen = await run(opened, given)
      expect(Array.from(chosen, (row) => data[row]).sort()).toEqual([1, 2, 3, 4, 5, 6])
      const some = await run(opened, { ...given, weights: data.map((value) => (value < 3 ? 0 : 1)) })
      expect(Array.from(some, (row) => data[row]).sort()).toEqual([3, 4, 5, 6])
    })

    test('a random number of almost 1 takes the last point that has a chance', async () => {
      const data = Float32Array.from({ length: 130 }, (_, i) => (i < 100 ? i * 0.1 : 0))
      const given = { data, cols: 1, given: [0], trials: 1, uniforms: new Float32Array([1]) }
      expect(Array.from(await run(opened, given))).toEqual([99])
    })

    test('candidates come in proportion to weight times squared distance', async () => {
      // Two far points, of which the second has three times the weight, and a crowd on the centre.
      const data = new Float32Array(100)
      data[40] = 1
      data[90] = -1
      const weighted = new Float32Array(100).fill(1)
      weighted[90] = 3
      let second = 0
      for (let i = 0; i < 32; i++) {
        const uniforms = Float32Array.of((i + 0.5) / 32)
        const [chosen] = await run(opened, { data, cols: 1, weights: weighted, given: [0], trials: 1, uniforms })
        expect([40, 90]).toContain(chosen)
        if (chosen === 90) second++
      }
      expect(second).toBe(24)
    })

    test('agrees with the oracle on any points', async () => {
      const shape = fc.record({
        flavour: fc.constantFrom<Flavour>('whole', 'wholeBytes', 'unit', 'offset', 'repeated', 'bytes', 'huge', 'tiny'),
        n: size(500),
        cols: size(40),
        trials: fc.integer({ min: 1, max: MOST_TRIALS }),
        count: fc.integer({ min: 1, max: 12 }),
        weighted: fc.boolean(),
        cut: fc.constantFrom(0, 100),
        seed: anySeed,
      })
      await checkProperty(opened.runs, shape, (values) => checkShape(opened, values))
    })

    test('reads nothing back for single centres', async () => {
      const given = makeCase({ flavour: 'unit', n: 500, cols: 8, trials: 4, count: 200, seed: 6 })
      let reads = 0
      await opened.use((buffers) => {
        const counted = withRead(buffers.device, (target) => {
          reads++
          return buffers.device.read(target)
        })
        const part = { points: buffers.rows(given.data, 8), nearest: buffers.upload(nearestOf(given)) }
        return plusPlus(counted, { parts: [part], trials: 4, uniforms: given.uniforms })
      })
      // One word every 64 centres, then the list.
      expect(reads).toBe(5)
    })

    test('stops when it is told to', async () => {
      const shape = { flavour: 'unit', n: 500, cols: 8, trials: 4, count: 200, seed: 5 } as const
      const stop = new AbortController()
      const given = makeCase(shape)
      const shares: number[] = []
      const work = opened.use((buffers) =>
        plusPlus(
          buffers.device,
          {
            parts: [{ points: buffers.rows(given.data, 8), nearest: buffers.upload(nearestOf(given)) }],
            trials: 4,
            uniforms: given.uniforms,
          },
          {
            signal: stop.signal,
            onProgress: (share) => {
              shares.push(share)
              stop.abort(new Error('enough'))
            },
          },
        ),
      )
      await expect(work).rejects.toThrow('enough')
      expect(shares.length).toBe(1)
    })
  })
})

test('as many candidates as scikit-learn has, and parts that fit a binding', () => {
  expect([1, 2, 8, 100, 1000, 1e9].map(plusPlusTrials)).toEqual([2, 2, 4, 6, 8, MOST_TRIALS])
  for (const trials of [2, 9, MOST_TRIALS]) {
    expect(4 * trials * plusPlusPartRows(16384, trials)).toBeLessThanOrEqual(16384)
    expect(4 * trials * Math.ceil(plusPlusMostRows(16384, trials) / 64)).toBeLessThanOrEqual(16384)
  }
})

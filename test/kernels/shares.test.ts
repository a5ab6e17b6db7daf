import { describe, expect, test } from 'vitest'
import { LEAST_SHARE, sharesOfAll, sharesOfLists } from '../../src/kernels/shares.ts'
import { fc } from '../properties.ts'
import { distanceBound, expectClose, expectSame } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice } from './devices.ts'
import { allOf, bestAnswers, laidOut, logSumExp, type MixtureCase, makeMixture, rankOf } from './mixtures.ts'
import { countOf, NONE, squaredDistance } from './oracles.ts'
import { anyFlavour, anySeed, checkProperty, size, weights as someWeights } from './vectors.ts'

/** Shares come from exp of a difference of two logs, each good to a few units of its size. */
function shareBound(log: number): number {
  return 2e-5 + 1e-6 * Math.abs(log)
}

async function checkLists(opened: OpenedDevice, given: MixtureCase, m: number, weights?: Float32Array): Promise<void> {
  const { x, c } = given
  const n = countOf(x)
  const answers = Array.from({ length: n }, (_, i) => bestAnswers(given, i, allOf(given), m))
  const { best, logs } = laidOut(answers, m)
  await opened.use(async (buffers) => {
    const shares = buffers.output(
      n * m * 4,
      Float32Array.from(logs, (log) => Math.max(log, -3.4e38)),
    )
    const evidence = buffers.output(n * 4)
    const labels = buffers.output(n * 4)
    const distances = buffers.output(n * 4)
    await sharesOfLists(buffers.device, {
      points: buffers.rows(x.data, x.cols),
      centers: buffers.rows(c.data, c.cols),
      weights: weights && buffers.upload(weights),
      m,
      best: buffers.upload(best),
      logs: shares.buffer,
      evidence: evidence.buffer,
      labels: labels.buffer,
      distances: distances.buffer,
    })
    const sums = answers.map((list) => logSumExp(list.map(({ log }) => Math.fround(log))))
    const expected = Float64Array.from(logs, (log, at) => {
      const share = Math.exp(log - sums[Math.floor(at / m)])
      return share < LEAST_SHARE ? 0 : share * (weights?.[Math.floor(at / m)] ?? 1)
    })
    const found = await shares.floats()
    expectClose(found, expected, (at) => {
      const bound = shareBound(sums[Math.floor(at / m)])
      return bound * (weights?.[Math.floor(at / m)] ?? 1) + 1e-12
    })
    expectClose(await evidence.floats(), sums, (i) => 1e-5 * (1 + Math.abs(sums[i])))
    expectSame(
      await labels.words(),
      answers.map(([first]) => first.component),
    )
    const gaps = answers.map(([first], i) => squaredDistance(x, i, c, first.component))
    expectClose(await distances.floats(), gaps, (i) => distanceBound(x.cols, gaps[i]))
    for (let i = 0; i < n; i++) {
      let total = 0
      for (let place = 0; place < m; place++) total += found[i * m + place]
      expect(Math.abs(total - (weights?.[i] ?? 1))).toBeLessThan(1e-4 * (1 + Math.abs(sums[i]) / 100))
    }
  })
}

async function checkAll(
  opened: OpenedDevice,
  given: MixtureCase,
  first: number,
  count: number,
  weights?: Float32Array,
): Promise<void> {
  const { x, c, scales } = given
  const n = countOf(x)
  const sums = Array.from({ length: n }, (_, i) =>
    logSumExp(allOf(given).map((component) => rankOf(given, i, component))),
  )
  await opened.use(async (buffers) => {
    const pairs = buffers.output(n * count * 4)
    const shares = buffers.output(n * count * 4)
    await sharesOfAll(buffers.device, {
      points: buffers.rows(x.data, x.cols),
      centers: buffers.rows(c.data, c.cols),
      scales: buffers.upload(scales),
      weights: weights && buffers.upload(weights),
      first,
      count,
      evidence: buffers.upload(Float32Array.from(sums)),
      pairs: pairs.buffer,
      shares: shares.buffer,
    })
    const found = await shares.floats()
    const which = await pairs.words()
    const expected = Array.from(found, (_, at) => {
      const i = Math.floor(at / count)
      return Math.exp(rankOf(given, i, first + (at % count)) - sums[i]) * (weights?.[i] ?? 1)
    })
    expectClose(
      found,
      expected,
      (at) => shareBound(sums[Math.floor(at / count)]) * (1 + (weights?.[Math.floor(at / count)] ?? 0)),
    )
    which.forEach((component, at) => {
      if (component === NONE) expect(found[at]).toBe(0)
      else expect(component).toBe(first + (at % count))
    })
  })
}

onEveryDevice((opened) => {
  describe('shares', () => {
    test.each([
      [1, 1, 1, 1],
      [17, 5, 4, 3],
      [129, 17, 3, 17],
      [65, 31, 127, 5],
      [5, 31, 128, 4],
      [3, 7, 129, 4],
      [2, 3, 784, 3],
    ])('%i points, %i components, %i columns, lists of %i', async (n, k, d, m) => {
      const given = makeMixture('unit', n, k, d, 1)
      await checkLists(opened, given, m)
      await checkLists(opened, given, m, someWeights(n, 3))
      await checkAll(opened, given, 0, k)
      const first = Math.floor(k / 3)
      await checkAll(opened, given, first, k - first, someWeights(n, 4))
    })

    test('a point without candidates has no label and no share', async () => {
      await opened.use(async (buffers) => {
        const shares = buffers.output(8, Float32Array.of(-3.4e38, -3.4e38))
        const [evidence, labels, distances] = [buffers.output(4), buffers.output(4), buffers.output(4)]
        await sharesOfLists(buffers.device, {
          points: buffers.rows(Float32Array.of(1, 2), 2),
          centers: buffers.rows(Float32Array.of(1, 2), 2),
          m: 2,
          best: buffers.upload(Uint32Array.of(NONE, NONE)),
          logs: shares.buffer,
          evidence: evidence.buffer,
          labels: labels.buffer,
          distances: distances.buffer,
        })
        expectSame(await shares.floats(), [0, 0])
        expectSame(await labels.words(), [NONE])
      })
    })

    test('agrees with the oracle on any mixture', async () => {
      const shape = fc.record({ n: size(40), k: size(30), d: size(20), m: size(9), seed: anySeed })
      const flavours = anyFlavour.filter((flavour) => !['huge', 'tiny', 'offset'].includes(flavour))
      await checkProperty(opened.runs, fc.tuple(shape, flavours), async ([{ n, k, d, m, seed }, flavour]) => {
        const given = makeMixture(flavour, n, k, d, seed)
        await checkLists(opened, given, m)
        await checkAll(opened, given, 0, k)
      })
    })
  })
})

import { describe, expect, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { respondAll, respondLists } from '../../src/kernels/respond.ts'
import { fc } from '../properties.ts'
import { expectClose, expectSame } from '../tolerance.ts'
import { type OpenedDevice, onDevices, SMALL_LIMITS, SOFTWARE_DEVICES, withForms } from './devices.ts'
import { allOf, bestAnswers, laidOut, logSumExp, type MixtureCase, makeMixture, rankOf } from './mixtures.ts'
import { countOf, NONE, squaredDistance } from './oracles.ts'
import { anySeed, checkProperty, EXACT, exactFlavour, size } from './vectors.ts'

interface Lists {
  readonly before: Uint32Array
  readonly renamed: Uint32Array
  readonly found: Uint32Array
  readonly m: number
  readonly width: number
}

/** What points had, in numbers of which a third are gone, and what was found; empty places and repetitions in both. */
function makeLists(n: number, k: number, m: number, width: number, seed: number): Lists {
  const random = createRandom(seed)
  const earlier = k + Math.ceil(k / 2)
  const renamed = new Uint32Array(earlier).fill(NONE)
  for (let component = 0; component < k; component++) renamed[component + Math.floor(component / 2)] = component
  const before = new Uint32Array(n * m).fill(NONE)
  for (let i = 0; i < n; i++) {
    // A list never holds a component twice.
    const kept = new Set(Array.from({ length: m }, () => random.below(earlier)))
    before.set([...kept], i * m)
  }
  const found = Uint32Array.from({ length: n * width }, () => (random.below(5) === 0 ? NONE : random.below(k)))
  return { before, renamed, found, m, width }
}

async function runLists(opened: OpenedDevice, given: MixtureCase, lists: Lists) {
  return opened.use(async (buffers) => {
    const { x, c, scales } = given
    const { m, width } = lists
    const best = buffers.output(lists.before.byteLength, lists.before)
    const logs = buffers.output(lists.before.byteLength)
    const distances = Float32Array.from(lists.found, (component, at) =>
      component === NONE ? 0 : squaredDistance(x, Math.floor(at / width), c, component),
    )
    await respondLists(buffers.device, {
      points: buffers.rows(x.data, x.cols),
      centers: buffers.rows(c.data, c.cols),
      scales: buffers.upload(scales),
      m,
      best: best.buffer,
      logs: logs.buffer,
      renamed: buffers.upload(lists.renamed),
      found: buffers.upload(lists.found),
      foundDistances: buffers.upload(distances),
      width,
    })
    return { best: await best.words(), logs: await logs.floats() }
  })
}

async function runAll(opened: OpenedDevice, { x, c, scales }: MixtureCase, m: number) {
  return opened.use(async (buffers) => {
    const n = countOf(x)
    const best = buffers.output(n * m * 4)
    const logs = buffers.output(n * m * 4)
    const evidence = buffers.output(n * 4)
    await respondAll(buffers.device, {
      points: buffers.rows(x.data, x.cols),
      centers: buffers.rows(c.data, c.cols),
      scales: buffers.upload(scales),
      m,
      best: best.buffer,
      logs: logs.buffer,
      evidence: evidence.buffer,
    })
    return { best: await best.words(), logs: await logs.floats(), evidence: await evidence.floats() }
  })
}

function withLowest(logs: Float32Array): Float64Array {
  return Float64Array.from(logs, (log) => (log <= Math.fround(-3.4e38) ? Number.NEGATIVE_INFINITY : log))
}

async function checkLists(opened: OpenedDevice, given: MixtureCase, lists: Lists): Promise<void> {
  const { before, renamed, found, m, width } = lists
  const answers = Array.from({ length: countOf(given.x) }, (_, i) => {
    const kept = Array.from(before.subarray(i * m, (i + 1) * m), (component) =>
      component === NONE ? NONE : renamed[component],
    )
    // One that fell out of a full list may come again, and falls out again.
    return bestAnswers(given, i, [...kept, ...found.subarray(i * width, (i + 1) * width)], m)
  })
  const expected = laidOut(answers, m)
  const result = await runLists(opened, given, lists)
  expectSame(result.best, expected.best)
  expectSame(withLowest(result.logs), expected.logs)
}

async function checkAll(opened: OpenedDevice, given: MixtureCase, m: number): Promise<void> {
  const answers = Array.from({ length: countOf(given.x) }, (_, i) => bestAnswers(given, i, allOf(given), m))
  const expected = laidOut(answers, m)
  const result = await runAll(opened, given, m)
  expectSame(result.best, expected.best)
  expectSame(withLowest(result.logs), expected.logs)
  const evidence = answers.map((_, i) => logSumExp(allOf(given).map((component) => rankOf(given, i, component))))
  // exp and log are good to a few units in the last place; a sum of k adds k.
  expectClose(result.evidence, evidence, (i) => 1e-5 * (1 + Math.abs(evidence[i])))
}

/** With small limits few components fit at once, and lists are merged. */
const TILES = [
  withForms({ respond: 'tiles' }),
  withForms({ respond: 'products' }, { ...SMALL_LIMITS, workgroups: 65535 }),
]

onDevices([...SOFTWARE_DEVICES, ...TILES], (opened) => {
  describe('respond', () => {
    test.each([
      [1, 1, 1, 1, 1],
      [17, 5, 4, 3, 4],
      [129, 17, 3, 2, 9],
      [65, 67, 127, 5, 3],
      [5, 31, 128, 50, 50],
      [3, 300, 2, 256, 40],
      [17, 40, 3, 17, 30],
      [3, 7, 129, 4, 0],
      [2, 3, 784, 2, 2],
    ])('%i points, %i components, %i columns, %i kept, %i found', async (n, k, d, m, width) => {
      for (const flavour of EXACT) {
        const given = makeMixture(flavour, n, k, d, 1)
        await checkLists(opened, given, makeLists(n, k, m, Math.max(1, width), 2))
        await checkAll(opened, given, m)
      }
    })

    test('breaks ties by number', async () => {
      const c = { data: Float32Array.of(3, 0, 0, 3, -3, 0, 0, -3), cols: 2 }
      const given = { x: { data: new Float32Array(2), cols: 2 }, c, scales: new Float32Array(8).fill(0.5) }
      expectSame((await runAll(opened, given, 3)).best, [0, 1, 2])
      const lists = {
        before: Uint32Array.of(3, 2),
        renamed: Uint32Array.of(0, 1, 2, 3),
        found: Uint32Array.of(1, 3, 0),
        m: 2,
        width: 3,
      }
      expectSame((await runLists(opened, given, lists)).best, [0, 1])
    })

    test('keeps digits where densities are far apart', async () => {
      const given = makeMixture('offset', 33, 9, 784, 4)
      given.scales.forEach((_, i) => {
        if (i % 2 === 1) given.scales[i] = 40
      })
      const { logs, evidence } = await runAll(opened, given, 1)
      expect(evidence.every((value) => Number.isFinite(value))).toBe(true)
      expectClose(logs, evidence, (i) => Math.log(9) + 1e-6 * Math.abs(evidence[i]))
    })

    test('agrees with the oracle on any lists', async () => {
      const shape = fc.record({ n: size(40), k: size(40), d: size(20), m: size(9), width: size(9), seed: anySeed })
      const cases = fc.tuple(shape, exactFlavour)
      await checkProperty(opened.runs, cases, async ([{ n, k, d, m, width, seed }, flavour]) => {
        const given = makeMixture(flavour, n, k, d, seed)
        await checkLists(opened, given, makeLists(n, k, m, width, seed + 1))
        await checkAll(opened, given, m)
      })
    })

    test('refuses lists that do not fit a thread', async () => {
      await expect(runAll(opened, makeMixture('whole', 1, 1, 1, 1), 257)).rejects.toThrow(/m is 257/)
    })
  })
})

import { describe, expect, test } from 'vitest'
import type { RowRange } from '../../src/kernels/rows.ts'
import { type TallyResult, tally, tallyWorkspaceBytes } from '../../src/kernels/tally.ts'
import { fc } from '../properties.ts'
import { expectClose, sumBound } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice } from './devices.ts'
import { anySeed, centers, checkProperty, size, weights, wholeNumbers } from './vectors.ts'

interface Case {
  readonly values: Float32Array
  readonly weights?: Float32Array
  readonly left: Uint32Array
  readonly right?: Uint32Array
}

async function run(opened: OpenedDevice, given: Case, range?: RowRange): Promise<TallyResult> {
  return opened.use(async (buffers) => {
    const count = given.values.length
    const bytes = tallyWorkspaceBytes(range?.count ?? count)
    const sums = buffers.output(bytes)
    const differences = buffers.output(bytes)
    const result = await tally(buffers.device, {
      count,
      range,
      values: buffers.upload(given.values),
      weights: given.weights && buffers.upload(given.weights),
      left: buffers.upload(given.left),
      right: given.right && buffers.upload(given.right),
      sums: sums.buffer,
      differences: differences.buffer,
    })
    await sums.bytes()
    await differences.bytes()
    return result
  })
}

async function check(opened: OpenedDevice, given: Case): Promise<void> {
  let sum = 0
  let magnitude = 0
  let different = 0
  for (let i = 0; i < given.values.length; i++) {
    const term = given.values[i] * (given.weights?.[i] ?? 1)
    sum += term
    magnitude += Math.abs(term)
    if (given.right ? given.left[i] !== given.right[i] : given.left[i] === 0) different++
  }
  const found = await run(opened, given)
  expect(found.different).toBe(different)
  // Blocks of 256 are summed in 32 bits, the blocks in 64.
  expectClose([found.sum], [sum], () => sumBound(256, magnitude))
}

/** Lists of few different numbers, so that places agree, differ and are zero. */
function makeCase(count: number, weighted: boolean, second: boolean, seed: number): Case {
  return {
    values: centers('unit', count, 1, seed),
    left: wholeNumbers(count, 3, seed + 1),
    ...(weighted ? { weights: weights(count, seed + 2) } : {}),
    ...(second ? { right: wholeNumbers(count, 3, seed + 3) } : {}),
  }
}

onEveryDevice((opened) => {
  describe('tally', () => {
    test.each([1, 2, 255, 256, 257, 511, 513, 5000, 20_000])('of %i values', async (count) => {
      for (const weighted of [false, true]) {
        for (const second of [false, true]) await check(opened, makeCase(count, weighted, second, count))
      }
    })

    test('is exact on whole numbers', async () => {
      const values = Float32Array.from({ length: 1000 }, (_, i) => (i % 11) - 5)
      const left = Uint32Array.from({ length: 1000 }, (_, i) => (i === 999 ? 1 : 0))
      const right = left.map((value, i) => (i === 0 || i === 999 ? 0xffffffff : value))
      const sum = values.reduce((total, value) => total + value, 0)
      expect(await run(opened, { values, left })).toEqual({ sum, different: 999 })
      expect(await run(opened, { values, left, right })).toEqual({ sum, different: 2 })
    })

    test.each([1e15, 1e-15])('of values around %d', async (scale) => {
      const given = makeCase(700, true, true, 6)
      await check(opened, { ...given, values: given.values.map((value) => value * scale) })
    })

    test.each([
      [0, 1000],
      [0, 1],
      [1, 256],
      [3, 257],
      [255, 600],
      [999, 1],
      [5, 0],
      [1000, 0],
    ])('of %i + %i values is the same as of those alone', async (from, count) => {
      for (const weighted of [false, true]) {
        for (const second of [false, true]) {
          const all = makeCase(1000, weighted, second, 31)
          const lists = Object.entries(all).map(([name, list]) => [name, list.slice(from, from + count)])
          const alone = count > 0 ? await run(opened, Object.fromEntries(lists)) : { sum: 0, different: 0 }
          expect(await run(opened, all, { from, count })).toEqual(alone)
        }
      }
    })

    test('refuses a range that is not in the lists', async () => {
      const given = makeCase(10, false, false, 32)
      await expect(run(opened, given, { from: 5, count: 6 })).rejects.toThrow(RangeError)
    })

    test('agrees with the oracle on any lists', async () => {
      const shape = fc.tuple(size(1500), fc.boolean(), fc.boolean(), anySeed)
      await checkProperty(opened.runs, shape, (values) => check(opened, makeCase(...values)))
    })
  })
})

import { describe, expect, test } from 'vitest'
import { createRandom, shuffle } from '../../src/core/random.ts'
import type { DeviceBuffer } from '../../src/device/contract.ts'
import { assignLeaves, createAssignLeavesWorkspace, prepareLeafCenters } from '../../src/kernels/assign-leaves.ts'
import { fc } from '../properties.ts'
import { distanceBound, expectChoices, expectClose, expectSame, expectSameBits, scoreBound } from '../tolerance.ts'
import { DEVICES_WITH_CUT_TILES, type OpenedDevice, type Output, onDevices } from './devices.ts'
import { bestOf, leafCandidates, lengthOf, longest, type Rows, squaredDistance } from './oracles.ts'
import {
  anySeed,
  centers,
  checkProperty,
  EXACT,
  exactFlavour,
  type Flavour,
  points,
  ROUGH,
  roughFlavour,
  size,
  wholeNumbers,
} from './vectors.ts'
import { coversOf, holds, rowsOf, type Window } from './windows.ts'

interface Case {
  readonly x: Rows
  readonly c: Rows
  readonly members: Uint32Array
  readonly offsets: Uint32Array
  readonly labels: Uint32Array
  readonly distances: Float32Array
  /** Labels that leaves lend, if these are not the points' own. */
  readonly lent?: Uint32Array
}

interface Found {
  readonly labels: Uint32Array
  readonly distances: Float32Array
  readonly evaluated: Uint32Array
}

/** Points in leaves of the given sizes; each starts from its own centre, as in the first of several trees. */
function makeCase(flavour: Flavour, sizes: readonly number[], k: number, d: number, seed: number): Case {
  const n = sizes.reduce((sum, count) => sum + count, 0)
  const members = Uint32Array.from({ length: n }, (_, i) => i)
  shuffle(createRandom(seed), members)
  let end = 0
  const offsets = Uint32Array.from([
    0,
    ...sizes.map((count) => {
      end += count
      return end
    }),
  ])
  const x = { data: points(flavour, n, d, seed + 1), cols: d }
  const c = { data: centers(flavour, k, d, seed + 2), cols: d }
  const labels = wholeNumbers(n, k, seed + 3)
  const distances = Float32Array.from(labels, (label, i) => squaredDistance(x, i, c, label))
  return { x, c, members, offsets, labels, distances }
}

/** With a window, on a device that holds only its points. */
async function run(opened: OpenedDevice, given: Case, window?: Window): Promise<Found> {
  return opened.use(async (buffers) => {
    const n = given.members.length
    const held = window ?? { from: 0, to: n }
    const lent = given.lent ?? given.labels
    const to = buffers.rows(given.c.data, given.c.cols)
    const guarded: Output[] = []
    const room = {
      allocate: (bytes: number): DeviceBuffer => {
        const output = buffers.output(bytes)
        guarded.push(output)
        return output.buffer
      },
    }
    const workspace = createAssignLeavesWorkspace(room, n, given.offsets.length - 1, to)
    await prepareLeafCenters(buffers.device, to, workspace)
    const labels = buffers.output((held.to - held.from) * 4, rowsOf(given.labels, held))
    const distances = buffers.output((held.to - held.from) * 4, rowsOf(given.distances, held))
    const sizes = Array.from(given.offsets.subarray(1), (end, leaf) => end - given.offsets[leaf])
    await assignLeaves(buffers.device, {
      points: buffers.rows(rowsOf(given.x.data, held, given.x.cols), given.x.cols),
      centers: to,
      members: buffers.upload(given.members),
      offsets: buffers.upload(given.offsets),
      leaves: sizes.length,
      largest: Math.max(...sizes),
      labels: labels.buffer,
      distances: distances.buffer,
      around: window && { labels: buffers.upload(lent), from: held.from, rows: n },
      workspace,
    })
    // Reading checks the guards.
    for (const output of guarded) await output.bytes()
    const evaluated = new Uint32Array(await buffers.device.read(workspace.evaluated)).subarray(0, sizes.length)
    const carried = leafCandidates(given.members, given.offsets, lent)
    const pairs = sizes.map((_, leaf) => {
      const members = given.members.subarray(given.offsets[leaf], given.offsets[leaf + 1])
      return members.reduce((sum, point) => sum + (holds(held, point) ? carried[point].size : 0), 0)
    })
    expect(Array.from(evaluated)).toEqual(pairs)
    return { labels: await labels.words(), distances: await distances.floats(), evaluated: evaluated.slice() }
  })
}

function expected(given: Case): { label: number; distance: number }[] {
  const candidates = leafCandidates(given.members, given.offsets, given.lent ?? given.labels)
  return candidates.map((labels, i) =>
    bestOf(given.x, i, given.c, labels, { label: given.labels[i], distance: given.distances[i] }),
  )
}

async function checkExact(opened: OpenedDevice, given: Case, window?: Window): Promise<void> {
  const found = await run(opened, given, window)
  const best = expected(given)
  expectSame(
    found.labels,
    best.map(({ label }) => label),
  )
  expectSame(
    found.distances,
    best.map(({ distance }) => distance),
  )
}

async function checkRough(opened: OpenedDevice, given: Case): Promise<void> {
  const { x, c } = given
  const found = await run(opened, given)
  const candidates = leafCandidates(given.members, given.offsets, given.labels)
  const reach = longest(c)
  const chosen = Array.from(found.labels, (label, i) => {
    if (label === given.labels[i]) return given.distances[i]
    return candidates[i].has(label) ? squaredDistance(x, i, c, label) : undefined
  })
  expectChoices(
    expected(given).map(({ distance: best }, i) => ({
      label: found.labels[i],
      chosen: chosen[i],
      best,
      slack: scoreBound(x.cols, lengthOf(x, i), reach) + 2 * distanceBound(x.cols, best),
    })),
  )
  const distances = chosen.map((distance) => distance ?? 0)
  expectClose(found.distances, distances, (i) => distanceBound(x.cols, distances[i]))
}

/** The same bits for every point, whichever window it is in, as without any. */
async function checkWindows(opened: OpenedDevice, given: Case): Promise<void> {
  const whole = await run(opened, given)
  for (const windows of coversOf(given.members.length)) {
    const evaluated = new Uint32Array(whole.evaluated.length)
    for (const window of windows) {
      const found = await run(opened, given, window)
      expectSame(found.labels, rowsOf(whole.labels, window))
      expectSameBits(found.distances, rowsOf(whole.distances, window))
      found.evaluated.forEach((pairs, leaf) => {
        evaluated[leaf] += pairs
      })
    }
    expectSame(evaluated, whole.evaluated)
  }
}

const LEAVES: Record<string, readonly number[]> = {
  'one point': [1],
  'leaves of one': Array.from({ length: 17 }, () => 1),
  'uneven leaves': [5, 1, 17, 2, 40, 3, 4, 129],
  'one leaf with all': [127],
  'a leaf of more than 256': [300, 3],
  'empty leaves between': [4, 0, 9, 0, 0, 2],
  'leaves of a tile': [16, 15, 1, 0, 16, 7],
  'leaves of two tiles': [32, 17, 31, 0, 16, 1],
}

onDevices(DEVICES_WITH_CUT_TILES, (opened) => {
  describe('assign-leaves', () => {
    test.each(Object.keys(LEAVES))('is exact on whole numbers, %s', async (name) => {
      for (const flavour of EXACT) {
        await checkExact(opened, makeCase(flavour, LEAVES[name], 70, 5, 1))
        await checkExact(opened, makeCase(flavour, LEAVES[name], 3, 18, 2))
      }
    })

    test.each([1, 17, 31, 33, 127, 128, 129])('is exact in %i columns', async (d) => {
      for (const flavour of EXACT) {
        await checkExact(opened, makeCase(flavour, [5, 16, 3], 11, d, 14))
        await checkExact(opened, makeCase(flavour, [9, 19], 11, d, 15))
      }
    })

    test.each(ROUGH)('finds what rounding lets it find, %s values', async (flavour) => {
      await checkRough(opened, makeCase(flavour, [30, 7, 50], 25, 13, 3))
    })

    test('gives equal centres the lowest label, whichever member brings it', async () => {
      const one = centers('unit', 1, 6, 4)
      const c = { data: Float32Array.from({ length: 20 * 6 }, (_, i) => one[i % 6]), cols: 6 }
      const given = makeCase('unit', [20], 20, 6, 5)
      const labels = Uint32Array.from({ length: 20 }, (_, i) => 19 - i)
      const distances = new Float32Array(20).fill(1e6)
      const found = await run(opened, { ...given, c, labels, distances })
      expectSame(found.labels, new Uint32Array(20))
    })

    test('keeps a centre that is nearer than all of the leaf', async () => {
      const given = makeCase('whole', [9, 9], 12, 3, 6)
      const distances = given.distances.map((distance, i) => (i % 2 === 0 ? 0 : distance))
      await checkExact(opened, { ...given, distances })
    })

    test.each([...EXACT, ...ROUGH])('finds the same whatever else the device holds, %s values', async (flavour) => {
      await checkWindows(opened, makeCase(flavour, [5, 1, 17, 2, 0, 33], 25, 13, 8))
      await checkWindows(opened, makeCase(flavour, [1], 2, 4, 9))
    })

    test('finds the same beside points of any length', async () => {
      const given = makeCase('unit', [40, 3], 12, 7, 10)
      // Some are too long or too short to become integers, some leave the others hardly any.
      const factors = [1, 1e-3, 1e4, 1e18, 1e-30]
      const data = Float32Array.from(given.x.data, (value, i) => value * factors[Math.floor(i / 7) % factors.length])
      await checkWindows(opened, { ...given, x: { data, cols: 7 }, distances: new Float32Array(43).fill(3e38) })
    })

    test('leaves alone what is not held, also where a whole leaf is not', async () => {
      const given = makeCase('whole', [6, 7, 8], 9, 5, 11)
      // Row by row, so that windows are made of leaves.
      const members = given.members.slice().sort()
      for (const window of [
        { from: 6, to: 13 },
        { from: 7, to: 12 },
        { from: 13, to: 13 },
      ]) {
        const { evaluated, labels } = await run(opened, { ...given, members }, window)
        expect([evaluated[0], evaluated[2]]).toEqual([0, 0])
        const best = expected({ ...given, members }).map(({ label }) => label)
        expectSame(labels, best.slice(window.from, window.to))
      }
    })

    test('looks at lent labels, though its own are newer', async () => {
      const all = { from: 0, to: 27 }
      const given = makeCase('whole', [9, 1, 17], 12, 3, 12)
      await checkExact(opened, { ...given, lent: wholeNumbers(27, 12, 13) }, all)
      // All members lend the same, which none of them has.
      await checkExact(opened, { ...given, labels: new Uint32Array(27), lent: new Uint32Array(27).fill(5) }, all)
    })

    test('agrees with the oracle on any leaves', async () => {
      const shape = fc.record({
        sizes: fc
          .array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 12 })
          .filter((s) => s.some(Boolean)),
        k: size(40),
        d: size(20),
        seed: anySeed,
      })
      await checkProperty(opened.runs, fc.tuple(shape, exactFlavour), async ([{ sizes, k, d, seed }, flavour]) => {
        await checkExact(opened, makeCase(flavour, sizes, k, d, seed))
      })
      await checkProperty(opened.runs, fc.tuple(shape, roughFlavour), async ([{ sizes, k, d, seed }, flavour]) => {
        await checkRough(opened, makeCase(flavour, sizes, k, d, seed))
      })
    })
  })
})

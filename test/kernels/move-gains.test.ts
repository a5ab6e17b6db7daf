import { describe, expect, test } from 'vitest'
import { moveGainsJobs, moveGainsPasses } from '../../src/kernels/move-gains.ts'
import { fc } from '../properties.ts'
import { expectSame } from '../tolerance.ts'
import { DEVICES_WITH_CUT_TILES, type OpenedDevice, onDevices } from './devices.ts'
import { expectProposals, heldInGroups, placesOf, prepareCase } from './move-cases.ts'
import { candidatesOf, type MoveCase, MoveOracle, type MoveShape, makeMoves, NONE } from './moves.ts'
import { anySeed, checkProperty, size } from './vectors.ts'
import { coversOf, holds, rowsOf, type Window } from './windows.ts'

/** Proposals and pairs looked at, of the groups from `firstGroup` on; with a window of the points that it holds. */
async function run(
  opened: OpenedDevice,
  given: MoveCase,
  firstGroup = 0,
  count = given.order.length - firstGroup,
  window?: Window,
): Promise<{ proposals: Uint32Array; evaluated: Uint32Array }> {
  return opened.use(async (buffers) => {
    const { batch, proposals, evaluated, labels } = await prepareCase(buffers, given, window)
    const part = { ...batch, firstGroup, count }
    await buffers.device.run({
      name: 'move-gains',
      webgpu: (gpu) => moveGainsPasses(gpu, part),
      cpu: (memory) => moveGainsJobs(memory, part),
    })
    expectSame(await labels.words(), window ? rowsOf(given.labels, window) : given.labels)
    return { proposals: await proposals.words(), evaluated: await evaluated.words() }
  })
}

/** Cases that all devices get, with what is true of them: that takes longer than the kernels do. */
const oracles = new Map<string, { readonly given: MoveCase; readonly oracle: MoveOracle }>()

async function checkShape(opened: OpenedDevice, shape: MoveShape): Promise<void> {
  const key = JSON.stringify(shape)
  let known = oracles.get(key)
  if (known === undefined) {
    const given = makeMoves(shape)
    known = { given, oracle: new MoveOracle(given) }
    oracles.set(key, known)
  }
  await check(opened, known.given, 0, undefined, known.oracle)
}

async function check(
  opened: OpenedDevice,
  given: MoveCase,
  firstGroup = 0,
  count?: number,
  oracle = new MoveOracle(given),
): Promise<void> {
  const { proposals, evaluated } = await run(opened, given, firstGroup, count)
  for (const { group } of placesOf(given, firstGroup, count)) {
    const width = typeof given.among === 'object' ? given.among.width : candidatesOf(given, group).size
    expect(evaluated[group]).toBe(width * (given.offsets[group + 1] - given.offsets[group]))
  }
  expectProposals(given, oracle, proposals, placesOf(given, firstGroup, count))
}

/** The same for every point, whichever window it is in, as without any; nothing for points that are not held. */
async function checkWindows(opened: OpenedDevice, given: MoveCase): Promise<void> {
  const groups = given.order.length
  const whole = await run(opened, given)
  for (const windows of coversOf(given.labels.length)) {
    for (const window of windows) {
      const { proposals, evaluated } = await run(opened, given, 0, groups, window)
      const places = [...placesOf(given)]
      expectSame(
        places.map(({ place }) => proposals[place]),
        places.map(({ place, point }) => (holds(window, point) ? whole.proposals[place] : NONE)),
      )
      const sizes = heldInGroups(given, { from: 0, to: given.labels.length })
      heldInGroups(given, window).forEach((held, group) => {
        expect(evaluated[group] * sizes[group]).toBe(whole.evaluated[group] * held)
      })
    }
  }
}

const COLUMNS = [1, 3, 127, 128, 129] as const
const KINDS: readonly Partial<MoveShape>[] = [
  { flavour: 'unit' },
  { flavour: 'bytes' },
  { flavour: 'unit', weighted: true },
  { flavour: 'bytes', weighted: true },
  { flavour: 'unit', unit: true },
  { flavour: 'unit', unit: true, weighted: true },
]

/** As many points as fit one binding of the smallest device. */
function fitting(n: number, d: number): number {
  return Math.min(n, Math.floor(16384 / (4 * Math.ceil(d / 4) * 4)))
}

const shapes: fc.Arbitrary<MoveShape> = fc
  .record({
    flavour: fc.constantFrom<MoveShape['flavour']>('whole', 'wholeBytes', 'unit', 'offset', 'repeated', 'bytes'),
    n: size(60),
    k: size(17),
    d: fc.oneof(fc.constantFrom(...COLUMNS), fc.integer({ min: 1, max: 20 })),
    seed: anySeed,
    weighted: fc.boolean(),
    unit: fc.boolean(),
    first: fc.boolean(),
    among: fc.oneof(fc.constantFrom<'labels' | 'all'>('labels', 'all'), fc.integer({ min: 1, max: 8 })),
    most: fc.integer({ min: 1, max: 20 }),
  })
  .map((shape) => ({ ...shape, n: fitting(shape.n, shape.d) }))

onDevices(DEVICES_WITH_CUT_TILES, (opened) => {
  describe('move-gains', () => {
    test.each(COLUMNS)('finds the best move in %i columns', async (d) => {
      for (const [i, kind] of KINDS.entries()) {
        await checkShape(opened, { flavour: 'unit', n: fitting(31, d), k: 7, d, seed: d + i, ...kind })
      }
    })

    test.each(['labels', 'all', 1, 3] as const)('among %s, best and first', async (among) => {
      for (const first of [false, true]) {
        for (const kind of KINDS)
          await checkShape(opened, { flavour: 'unit', n: 41, k: 9, d: 6, seed: 5, among, first, ...kind })
      }
    })

    // More points in a group than a workgroup has threads, and more candidates than it loads at a time.
    test.each(['labels', 'all', 17, 33] as const)('in large groups with many candidates, among %s', async (among) => {
      for (const [i, kind] of KINDS.entries()) {
        const first = (i + Number(among === 'all')) % 2 === 1
        const shape = { flavour: 'unit', n: 170, k: 70, d: 9, seed: 9, among, first, most: 130, ...kind } as const
        await checkShape(opened, shape)
        await checkShape(opened, { ...shape, k: 30, seed: 10, most: 17, first: !first })
      }
    })

    test('in a run of groups from the middle', async () => {
      const given = makeMoves({ flavour: 'unit', n: 60, k: 6, d: 5, seed: 8, among: 'labels' })
      expect(given.order.length).toBeGreaterThan(7)
      await check(opened, given, 3, 4)
    })

    test.each(['labels', 'all', 3] as const)('the same whatever else the device holds, among %s', async (among) => {
      for (const [i, kind] of KINDS.entries()) {
        const first = (i + Number(among === 'labels')) % 2 === 1
        await checkWindows(opened, makeMoves({ flavour: 'unit', n: 41, k: 9, d: 6, seed: 6, among, first, ...kind }))
      }
    })

    test('among labels that are lent, though its own are newer', async () => {
      // All lend cluster 1, and only this device knows that the first two points have left it.
      const given: MoveCase = {
        x: { data: Float32Array.of(10, 9, 10, 11, 0, 1), cols: 1 },
        k: 2,
        labels: Uint32Array.of(0, 0, 1, 1, 0, 0),
        unit: false,
        members: Uint32Array.of(0, 1, 2, 3),
        offsets: Uint32Array.of(0, 4),
        order: Uint32Array.of(0),
        among: 'labels',
        first: false,
      }
      const proposals = await opened.use(async (buffers) => {
        const prepared = await prepareCase(buffers, given, { from: 0, to: 6 })
        const labels = buffers.upload(new Uint32Array(6).fill(1))
        const groups = { ...prepared.batch.groups, around: { labels, from: 0, rows: 6 } }
        const batch = { ...prepared.batch, groups }
        await buffers.device.run({
          name: 'move-gains',
          webgpu: (gpu) => moveGainsPasses(gpu, batch),
          cpu: (memory) => moveGainsJobs(memory, batch),
        })
        expectSame(await prepared.evaluated.words(), [4])
        return prepared.proposals.words()
      })
      expectSame(proposals, [1, 1, NONE, NONE])
    })

    test('of one cluster there is none, of two the other', async () => {
      const one = makeMoves({ flavour: 'unit', n: 12, k: 1, d: 3, seed: 1 })
      expect((await run(opened, one)).proposals.every((label) => label === NONE || label > 1e9)).toBe(true)
      await check(opened, one)
      await check(opened, makeMoves({ flavour: 'unit', n: 30, k: 2, d: 3, seed: 2, first: true }))
      await check(opened, makeMoves({ flavour: 'unit', n: 30, k: 2, d: 3, seed: 2 }))
    })

    test('a cluster of one point keeps it, one of two may lose one; an empty one is free', async () => {
      const x = { data: Float32Array.of(0, 1, 10, 11, 10.5, 30), cols: 1 }
      const groups = {
        members: Uint32Array.of(0, 1, 2, 3, 4, 5),
        offsets: Uint32Array.of(0, 6),
        order: Uint32Array.of(0),
      }
      const given: MoveCase = {
        x,
        k: 4,
        labels: Uint32Array.of(0, 1, 2, 2, 0, 1),
        unit: false,
        ...groups,
        among: 'all',
        first: false,
      }
      await check(opened, given)
      // 0 and 10.5 share a cluster, 1 and 30 another; 3 is empty, and joining it costs nothing, like joining 10 and 11 at their middle.
      expectSame((await run(opened, given)).proposals, [3, 3, 3, 3, 2, 3])
      const full = { ...given, labels: Uint32Array.of(0, 3, 2, 2, 0, 1) }
      expectSame((await run(opened, full)).proposals, [3, NONE, NONE, NONE, 2, NONE])
    })

    test('points without weight stay, and a cluster keeps the last weight it has', async () => {
      const given: MoveCase = {
        x: { data: Float32Array.of(0, 1, 9, 10, 9.5, 9.6), cols: 1 },
        k: 3,
        labels: Uint32Array.of(0, 0, 1, 1, 2, 2),
        weights: Float32Array.of(1, 0, 1, 1, 0, 2),
        unit: false,
        members: Uint32Array.of(0, 1, 2, 3, 4, 5),
        offsets: Uint32Array.of(0, 6),
        order: Uint32Array.of(0),
        among: 'all',
        first: false,
      }
      for (const first of [false, true]) {
        const { proposals } = await run(opened, { ...given, first })
        expectSame(
          [0, 1, 4, 5].map((place) => proposals[place]),
          [NONE, NONE, NONE, NONE],
        )
      }
      await check(opened, given)
    })

    test('what is equally good goes to the lowest label', async () => {
      const x = { data: Float32Array.of(0, 0, 4, 4, -4, -4, 0, 20), cols: 1 }
      const given: MoveCase = {
        x,
        k: 4,
        // 0 and 20 in cluster 3; clusters 1 and 2 lie on both sides of 0, equally far.
        labels: Uint32Array.of(0, 0, 2, 2, 1, 1, 3, 3),
        unit: false,
        members: Uint32Array.of(6),
        offsets: Uint32Array.of(0, 1),
        order: Uint32Array.of(0),
        among: { lists: Uint32Array.of(2, 3, 1, 2), width: 4 },
        first: false,
      }
      expectSame((await run(opened, given)).proposals, [1])
    })

    test('unit vectors leave a sum that is zero, also where their cluster is no candidate', async () => {
      const given: MoveCase = {
        x: { data: Float32Array.of(1, -1, 1, 1, -1, -1), cols: 1 },
        k: 3,
        labels: Uint32Array.of(0, 0, 1, 1, 2, 2),
        unit: true,
        members: Uint32Array.of(0, 1, 2),
        offsets: Uint32Array.of(0, 3),
        order: Uint32Array.of(0),
        among: { lists: Uint32Array.of(2, 1), width: 2 },
        first: false,
      }
      for (const first of [false, true]) expectSame((await run(opened, { ...given, first })).proposals, [1, 2, NONE])
    })

    test('agrees with the objective added up again, for any move', async () => {
      await checkProperty(3 * opened.runs, shapes, (shape) => check(opened, makeMoves(shape)))
      await checkProperty(Math.ceil(opened.runs / 4), shapes, (shape) => checkWindows(opened, makeMoves(shape)))
    })
  })
})

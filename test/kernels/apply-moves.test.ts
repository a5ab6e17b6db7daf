import { describe, expect, test } from 'vitest'
import { applyGivenMoves } from '../../src/kernels/apply-moves.ts'
import { fc } from '../properties.ts'
import { expectClose, expectSame, expectSameBits, UNIT } from '../tolerance.ts'
import { DEVICES_WITH_CUT_TILES, type OpenedDevice, onDevices } from './devices.ts'
import { expectProposals, type Outcome, placesOf, prepareCase, runMoves } from './move-cases.ts'
import { type MoveCase, MoveOracle, type MoveShape, makeMoves, NONE } from './moves.ts'
import { anySeed, checkProperty, size, wholeNumbers } from './vectors.ts'
import { coversOf, holds, rowsOf } from './windows.ts'

/** Of everything proposed, what still pays is done and nothing else; what rounding may decide is the device's choice. */
function replay(given: MoveCase, { labels, proposals }: Outcome): MoveOracle {
  const oracle = new MoveOracle(given)
  const wrong: string[] = []
  for (const { point, place } of placesOf(given)) {
    const wanted = proposals[place]
    if (wanted === NONE || wanted === oracle.labels[point]) continue
    const { gain, slack, stay } = oracle.gainOf(point, wanted)
    const leave = oracle.mayLeave(point)
    const done = labels[point] === wanted
    // A share of a millionth is too little to move for.
    const least = 1.1e-6 * (given.unit ? oracle.weight(point) : stay)
    const must = leave === 'yes' && gain > slack + least
    const mustNot = leave === 'no' || (leave === 'yes' && gain < -slack)
    if (done ? mustNot : must)
      wrong.push(`point ${point}: ${done ? 'moved' : 'stayed'}, gain ${gain}, slack ${slack}, may leave: ${leave}`)
    if (done) oracle.move(point, wanted)
  }
  expect(wrong).toEqual([])
  return oracle
}

/** Labels, sizes, masses and centres belong together. */
function checkState(given: MoveCase, found: Outcome, oracle: MoveOracle): void {
  const { k, x } = given
  expectSame(found.labels, oracle.labels)
  for (let j = 0; j < k; j++) {
    const inside = oracle.pointsOf(j)
    expect(found.masses[2 * j + 1]).toBe(inside.size)
    const { mass, center } = oracle.measure(inside)
    const { centerError, massError } = oracle.errorsOf(j)
    expectClose(found.masses.subarray(2 * j, 2 * j + 1), [mass], () => massError + 4 * UNIT * mass)
    const empty = inside.size === 0 || mass === 0
    if (!empty) expectClose(found.centers.subarray(j * x.cols, (j + 1) * x.cols), center, () => centerError)
  }
}

async function check(opened: OpenedDevice, given: MoveCase): Promise<Outcome> {
  const found = await runMoves(opened, given)
  const oracle = replay(given, found)
  checkState(given, found, oracle)
  expectProposals(given, oracle, found.next, placesOf(given))
  const before = new MoveOracle(given)
  for (let j = 0; j < given.k; j++) if (before.pointsOf(j).size > 0) expect(found.labels).toContain(j)
  return found
}

/** The objective of labels, from nothing but the points. */
function objective(given: MoveCase, labels: Uint32Array): number {
  const oracle = new MoveOracle({ ...given, labels })
  let sum = 0
  for (let j = 0; j < given.k; j++) sum += oracle.measure(oracle.pointsOf(j)).objective
  return sum
}

/** Given moves in calls of at most `atOnce` moves each: applying them in order means that this changes nothing. */
async function applyGiven(opened: OpenedDevice, given: MoveCase, targets: Uint32Array, atOnce: number) {
  return opened.use(async (buffers) => {
    const { batch, centers } = await prepareCase(buffers, given)
    const { x, weights, labels } = given
    const after: number[] = []
    for (let from = 0; from < targets.length; from += atOnce) {
      const window = { from, to: Math.min(from + atOnce, targets.length) }
      const carried = buffers.output((window.to - from) * 4, rowsOf(labels, window))
      await applyGivenMoves(buffers.device, {
        points: buffers.rows(rowsOf(x.data, window, x.cols), x.cols),
        weights: weights && buffers.upload(rowsOf(weights, window)),
        labels: carried.buffer,
        targets: rowsOf(targets, window),
        clusters: batch.clusters,
      })
      after.push(...(await carried.words()))
    }
    const masses = new Float32Array(await buffers.device.read(batch.clusters.masses), 0, given.k * 2)
    return { labels: Uint32Array.from(after), centers: await centers.floats(), masses }
  })
}

const COLUMNS = [1, 3, 127, 128, 129] as const
const KINDS: readonly Partial<MoveShape>[] = [
  { flavour: 'unit' },
  { flavour: 'bytes' },
  { flavour: 'unit', weighted: true },
  { flavour: 'unit', unit: true },
  { flavour: 'unit', unit: true, weighted: true },
]

/** As many points as fit one binding of the smallest device. */
function fitting(n: number, d: number): number {
  return Math.min(n, Math.floor(16384 / (16 * Math.ceil(d / 4))))
}

const shapes: fc.Arbitrary<MoveShape> = fc
  .record({
    flavour: fc.constantFrom<MoveShape['flavour']>('whole', 'wholeBytes', 'unit', 'repeated', 'bytes'),
    n: size(60),
    k: size(12),
    d: fc.oneof(fc.constantFrom(...COLUMNS), fc.integer({ min: 1, max: 20 })),
    seed: anySeed,
    weighted: fc.boolean(),
    unit: fc.boolean(),
    first: fc.boolean(),
    among: fc.constantFrom<'labels' | 'all' | number>('labels', 'all', 3),
    most: fc.integer({ min: 1, max: 20 }),
  })
  .map((shape) => ({ ...shape, n: fitting(shape.n, shape.d) }))

onDevices(DEVICES_WITH_CUT_TILES, (opened) => {
  describe('apply-moves', () => {
    test.each(COLUMNS)('does what pays, one after the other, in %i columns', async (d) => {
      for (const [i, kind] of KINDS.entries()) {
        const given = makeMoves({ flavour: 'unit', n: fitting(31, d), k: 5, d, seed: d + i, ...kind })
        const { labels } = await check(opened, given)
        expect(objective(given, labels)).toBeGreaterThan(objective(given, given.labels))
      }
    })

    test.each(COLUMNS)('begins with masses and sizes of what was added up, in %i columns', async (d) => {
      for (const kind of KINDS) {
        // More clusters than points, so that some are empty, and more than a workgroup has threads.
        const given = makeMoves({ flavour: 'unit', n: 20, k: fitting(70, d), d, seed: d, ...kind })
        const oracle = new MoveOracle(given)
        const masses = await opened.use(async (buffers) => {
          const { batch } = await prepareCase(buffers, given)
          return new Float32Array(await buffers.device.read(batch.clusters.masses), 0, given.k * 2)
        })
        for (let j = 0; j < given.k; j++) {
          const { mass } = oracle.measure(oracle.pointsOf(j))
          expect(masses[2 * j + 1]).toBe(oracle.pointsOf(j).size)
          // The length of a sum of d squares, each already rounded.
          expectClose([masses[2 * j]], [mass], () => (d + 8) * UNIT * mass)
        }
      }
    })

    test('one point at a time, over and over, until no move pays', async () => {
      // A call for each move takes long on a software GPU.
      for (const kind of opened.device.info.kind === 'webgpu' ? KINDS.slice(1, 3) : KINDS) {
        let given = makeMoves({ flavour: 'unit', n: 40, k: 5, d: 4, seed: 11, most: 1, ...kind })
        let last = objective(given, given.labels)
        for (let round = 0; ; round++) {
          expect(round).toBeLessThan(40)
          const { labels } = await runMoves(opened, given, 1)
          const next = objective(given, labels)
          expect(next).toBeGreaterThanOrEqual(last * (1 - 1e-6))
          last = next
          const moved = labels.some((label, point) => label !== given.labels[point])
          given = { ...given, labels }
          if (!moved) break
        }
        const oracle = new MoveOracle(given)
        for (let point = 0; point < 40; point++) {
          if (oracle.mayLeave(point) !== 'yes') continue
          for (let to = 0; to < given.k; to++) {
            if (to === given.labels[point]) continue
            const { gain, slack, stay } = oracle.gainOf(point, to)
            expect(gain).toBeLessThanOrEqual(slack + 1e-5 * stay + 1e-5 * oracle.weight(point))
          }
        }
      }
    })

    test('of two points that want to leave their cluster the second stays; so does one that is there already', async () => {
      const given: MoveCase = {
        // Clusters 1 and 2 lie on the two points of cluster 0.
        x: { data: Float32Array.of(0, 10, 0, 0, 10, 10), cols: 1 },
        k: 3,
        labels: Uint32Array.of(0, 0, 1, 1, 2, 2),
        unit: false,
        // The first point twice: the second time it has moved.
        members: Uint32Array.of(0, 1, 0),
        offsets: Uint32Array.of(0, 2, 3),
        order: Uint32Array.of(0, 1),
        among: 'all',
        first: false,
      }
      const { labels, proposals, centers, masses } = await runMoves(opened, given)
      expectSame(
        [0, 1, 2].map((place) => proposals[place]),
        [1, 2, 1],
      )
      expectSame(labels, [1, 0, 1, 1, 2, 2])
      expectSame(centers, [10, 0, 10])
      expectSame(masses, [1, 1, 3, 3, 2, 2])
    })

    test('a move is measured against what the moves before it left', async () => {
      const given: MoveCase = {
        // Alone each of the two would join cluster 1; with both gone there, the first has changed what the second sees.
        x: { data: Float32Array.of(4, 4.5, 0, 1, 9, 9.5), cols: 1 },
        k: 3,
        labels: Uint32Array.of(0, 0, 0, 0, 1, 2),
        unit: false,
        members: Uint32Array.of(0, 1, 2, 3, 4, 5),
        offsets: Uint32Array.of(0, 6),
        order: Uint32Array.of(0),
        among: 'all',
        first: false,
      }
      await check(opened, given)
      const shape = { flavour: 'unit', n: 50, k: 8, d: 2, seed: 3, most: 50 } as const
      await check(opened, makeMoves(shape))
      const again = await runMoves(opened, makeMoves(shape))
      const { labels, centers } = await runMoves(opened, makeMoves(shape))
      expectSame(labels, again.labels)
      expectSame(centers, again.centers)
    })

    test.each([
      [2, 60],
      [3, 300],
      [9, 511],
      [120, 513],
      [400, 700],
    ])('the same bits as one call for each move, %i clusters and %i moves', async (k, n) => {
      // Each kind with two or three of the sizes.
      for (const kind of KINDS.filter((_, i) => (i + k) % 2 === 0)) {
        const given = makeMoves({ flavour: 'unit', n, k, d: 4, seed: k, ...kind })
        const targets = wholeNumbers(n, k, 21)
        // Some places have nothing to apply.
        targets.forEach((_, i) => {
          if (i % 7 === 3) targets[i] = NONE
        })
        const whole = await applyGiven(opened, given, targets, n)
        expect(whole.labels).not.toEqual(given.labels)
        for (const atOnce of n > 300 ? [37] : [1, 37]) {
          const parts = await applyGiven(opened, given, targets, atOnce)
          expectSame(parts.labels, whole.labels)
          expectSameBits(parts.centers, whole.centers)
          expectSameBits(parts.masses, whole.masses)
        }
      }
    })

    test('many places with few moves, and more moves than are gathered at a time', async () => {
      for (const [every, n] of [
        [97, 817],
        [1, 817],
        [3, 1023],
      ]) {
        const given = makeMoves({ flavour: 'unit', n, k: 50, d: 3, seed: every })
        const targets = wholeNumbers(n, 50, 22).map((target, i) => (i % every === 0 ? target : NONE))
        const whole = await applyGiven(opened, given, targets, n)
        const parts = await applyGiven(opened, given, targets, 100)
        expectSame(parts.labels, whole.labels)
        expectSameBits(parts.centers, whole.centers)
        expectSameBits(parts.masses, whole.masses)
      }
    })

    test('moves the same with everything around as with nothing', async () => {
      for (const kind of KINDS) {
        for (const first of [false, true]) {
          const given = makeMoves({ flavour: 'unit', n: 45, k: 6, d: 7, seed: 12, among: 'labels', first, ...kind })
          const found = await runMoves(opened, given, 3, { from: 0, to: 45 })
          const alone = await runMoves(opened, given, 3)
          expect(found.labels).not.toEqual(given.labels)
          expectSame(found.labels, alone.labels)
          expectSameBits(found.centers, alone.centers)
          expectSameBits(found.masses, alone.masses)
        }
      }
    })

    test('moves the points that are held and no others', async () => {
      let moved = 0
      for (const kind of KINDS) {
        const given = makeMoves({ flavour: 'unit', n: 41, k: 6, d: 5, seed: 14, ...kind })
        for (const window of coversOf(41).flat()) {
          const found = await runMoves(opened, given, given.order.length, window)
          checkState(given, found, replay(given, found))
          found.labels.forEach((label, point) => {
            if (label === given.labels[point]) return
            expect(holds(window, point)).toBe(true)
            moved++
          })
        }
      }
      expect(moved).toBeGreaterThan(100)
    })

    test('agrees with the oracle on any batch', async () => {
      await checkProperty(3 * opened.runs, shapes, async (shape) => {
        await check(opened, makeMoves(shape))
      })
    })
  })
})

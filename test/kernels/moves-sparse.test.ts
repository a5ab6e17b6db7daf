/** move-gains and apply-moves given sparse rows: moves that pay, as the rows in full say. */

import { describe, expect, test } from 'vitest'
import type { SparseMatrix } from '../../src/core/sparse.ts'
import { accumulate, createAccumulateWorkspace } from '../../src/kernels/accumulate.ts'
import { moveBatches } from '../../src/kernels/apply-moves.ts'
import { createMoveWorkspace } from '../../src/kernels/move-batch.ts'
import { createMovingClusters, prepareMoves } from '../../src/kernels/moving-clusters.ts'
import { fc } from '../properties.ts'
import { expectClose, expectSame, sumBound } from '../tolerance.ts'
import { type OpenedDevice, onEveryDevice } from './devices.ts'
import { type Case, candidatesOf, GROUP, makeCase, Oracle } from './moving-rows.ts'
import { NONE, sumsByLabel } from './oracles.ts'
import { sparsified, uploadSparse } from './sparse-rows.ts'
import { anySeed, size as anySize, checkProperty } from './vectors.ts'
import { coversOf, holds, rowsOf, type Window } from './windows.ts'

interface Batch {
  readonly proposals: Uint32Array
  /** After the batch. */
  readonly labels: Uint32Array
}

interface Result {
  readonly batches: readonly Batch[]
  readonly evaluated: Uint32Array
  /** Sums, masses and sizes of the clusters at the end, [k][cols] and [k]. */
  readonly sums: Float32Array
  readonly masses: Float32Array
  readonly sizes: Float32Array
}

/** In two batches, so that the second meets what the first left. With a window only its points are held, and moved. */
function run(opened: OpenedDevice, given: Case, window?: Window): Promise<Result> {
  const { x, k, unit, first, among, order } = given
  return opened.use(async (buffers) => {
    const { device, scope } = buffers
    const all = uploadSparse(buffers, x.sparse)
    const { rows: n, stride } = all
    const sums = scope.allocate(k * stride * 4, 'sums')
    const totals = scope.allocate(k * 4, 'totals')
    const counts = scope.allocate(k * 4, 'counts')
    const workspace = createAccumulateWorkspace(device, scope, n, stride, k, true)
    await accumulate(device, {
      points: all,
      labels: buffers.upload(given.labels),
      weights: given.weights && buffers.upload(given.weights),
      k,
      sums,
      totals,
      counts,
      workspace,
    })
    const centers = buffers.rows(new Float32Array(k * x.dense.cols), x.dense.cols)
    const clusters = createMovingClusters(device, scope, centers, { type: 'csr', unit, longest: 1 })
    await prepareMoves(device, { sums, totals, counts, clusters })
    const groups = order.length
    const size = Math.ceil(groups / 2)
    const moving = createMoveWorkspace(device, scope, clusters, groups, size * GROUP)
    const held = window ?? { from: 0, to: n }
    const labels = buffers.output((held.to - held.from) * 4, rowsOf(given.labels, held))
    const common = {
      points: window ? uploadSparse(buffers, windowOf(given, window)) : all,
      weights: given.weights && buffers.upload(rowsOf(given.weights, held)),
      labels: labels.buffer,
      clusters,
      groups: {
        members: buffers.upload(given.members),
        offsets: buffers.upload(given.offsets),
        groups,
        largest: GROUP,
        among: typeof among === 'object' ? { lists: buffers.upload(among.lists), width: among.width } : among,
        around: window && { labels: buffers.upload(given.labels), from: held.from, rows: n },
      },
      order: buffers.upload(order),
      first,
      workspace: moving,
    }
    const batches: Batch[] = []
    for (let firstGroup = 0; firstGroup < groups; firstGroup += size) {
      await moveBatches(device, [{ ...common, firstGroup, count: Math.min(size, groups - firstGroup) }])
      const proposals = new Uint32Array(await device.read(moving.proposals))
      const after = given.labels.slice()
      after.set(await labels.words(), held.from)
      batches.push({ proposals, labels: after })
    }
    const evaluated = new Uint32Array(await device.read(moving.evaluated), 0, groups)
    const { stride: lanes, sums: columns } = clusters.sparse as NonNullable<typeof clusters.sparse>
    const inColumns = new Float32Array(await device.read(columns))
    const inRows = Float32Array.from(
      { length: k * x.dense.cols },
      (_, at) => inColumns[(at % x.dense.cols) * lanes + Math.floor(at / x.dense.cols)],
    )
    const pairs = new Float32Array(await device.read(clusters.masses))
    const onCpu = device.info.kind === 'cpu'
    const row = (at: number): Float32Array => inColumns.slice((stride + at) * lanes, (stride + at) * lanes + k)
    return {
      batches,
      evaluated,
      sums: inRows,
      masses: onCpu ? pairs.filter((_, i) => i % 2 === 0 && i < 2 * k) : row(0),
      sizes: onCpu ? pairs.filter((_, i) => i % 2 === 1 && i < 2 * k) : row(1),
    }
  })
}

function windowOf({ x }: Case, window: Window): SparseMatrix {
  const { data, cols } = x.dense
  return sparsified(rowsOf(data as Float32Array, window, cols), window.to - window.from, cols)
}

function expectProposal(oracle: Oracle, i: number, own: number, candidates: number[], proposed: number): void {
  const leave = oracle.mayLeave(i, own)
  if (leave === false) {
    expect(proposed).toBe(NONE)
    return
  }
  const others = candidates.filter((j) => j !== own)
  const stay = oracle.cost(i, own, -1)
  const slack = others.reduce((most, j) => Math.max(most, oracle.slack(i, j, 1)), oracle.slack(i, own, -1))
  const best = Math.min(...others.map((j) => oracle.cost(i, j, 1)))
  if (proposed === NONE) {
    if (leave === true) expect(stay).toBeLessThanOrEqual(best + 2 * slack)
    return
  }
  expect(others).toContain(proposed)
  const cost = oracle.cost(i, proposed, 1)
  expect(cost).toBeLessThanOrEqual(stay + 2 * slack)
  if (!oracle.given.first) expect(cost).toBeLessThanOrEqual(best + 2 * slack)
}

async function check(opened: OpenedDevice, given: Case, window?: Window): Promise<number> {
  const { x, members, offsets, order, k, unit } = given
  const held = window ?? { from: 0, to: members.length }
  const found = await run(opened, given, window)
  const oracle = new Oracle(given)
  const size = Math.ceil(order.length / 2)
  const before = oracle.objective(given.labels)
  let labels: Uint32Array = given.labels
  found.batches.forEach((batch, b) => {
    const inBatch = order.subarray(b * size, (b + 1) * size)
    const eachPlace = (visit: (point: number, proposed: number, group: number) => void): void => {
      inBatch.forEach((group, g) => {
        for (let at = offsets[group]; at < offsets[group + 1]; at++) {
          visit(members[at], batch.proposals[g * GROUP + at - offsets[group]], group)
        }
      })
    }
    // All propose as things stand before the batch.
    eachPlace((point, proposed, group) => {
      if (!holds(held, point)) expect(proposed).toBe(NONE)
      else expectProposal(oracle, point, labels[point], candidatesOf(given, group, labels), proposed)
    })
    inBatch.forEach((group) => {
      const inside = members.subarray(offsets[group], offsets[group + 1]).filter((point) => holds(held, point))
      expect(found.evaluated[group]).toBe(candidatesOf(given, group, labels).length * inside.length)
    })
    // Then each is done in turn, if it still pays.
    eachPlace((point, proposed) => {
      const own = labels[point]
      const done = batch.labels[point] !== own
      if (proposed === NONE) {
        expect(done).toBe(false)
        return
      }
      const stay = oracle.cost(point, own, -1)
      const gain = stay - oracle.cost(point, proposed, 1)
      const slack = oracle.slack(point, own, -1) + oracle.slack(point, proposed, 1)
      const leave = oracle.mayLeave(point, own)
      if (done) {
        expect(batch.labels[point]).toBe(proposed)
        expect(leave).not.toBe(false)
        expect(gain).toBeGreaterThan(-slack)
        oracle.move(point, own, proposed)
      } else if (leave === true)
        expect(gain).toBeLessThanOrEqual(1.01e-6 * (unit ? oracle.weight(point) : stay) + slack)
    })
    labels = batch.labels
  })
  const began = sumsByLabel(x.dense, given.labels, k).counts
  for (let j = 0; j < k; j++) if (began[j] > 0) expect(oracle.sizes[j]).toBeGreaterThan(0)
  expectSame(found.sizes, oracle.sizes)
  // A sum has passed through at most what all points add up to.
  const everything = sumsByLabel(x.dense, new Uint32Array(members.length), 1, given.weights)
  const scale = Math.max(...everything.magnitudes)
  expectClose(found.sums, oracle.sums, () => sumBound(members.length + oracle.moves + 4, scale))
  const root = unit ? Math.sqrt(x.dense.cols) * scale : oracle.totals.reduce((a, b) => a + b, 0)
  expectClose(
    found.masses,
    Array.from({ length: k }, (_, j) => oracle.mass(j)),
    // A length is the root of a square, whose error weighs more the shorter it is.
    (j) => {
      const bound = 2 * sumBound(members.length + oracle.moves + x.dense.cols, root)
      return unit ? Math.min(Math.sqrt(bound * (root + oracle.mass(j))), (bound * root * 4) / oracle.mass(j)) : bound
    },
  )
  expect(oracle.objective(labels)).toBeLessThanOrEqual(before + 1e-6 * Math.abs(before))
  return oracle.moves
}

/** n, k, d: around fours and blocks of 32 clusters, and what small bindings hold. */
const SHAPES = [
  [1, 1, 1],
  [5, 2, 3],
  [17, 5, 4],
  [60, 3, 784],
  [129, 7, 127],
  [100, 20, 129],
  [90, 37, 20],
  [70, 67, 9],
]

onEveryDevice((opened) => {
  describe('moves of sparse rows', () => {
    test.each(SHAPES)('pay, %i rows, %i clusters, %i columns', async (n, k, d) => {
      let moves = 0
      for (const unit of [false, true]) {
        for (const weighted of [false, true]) moves += await check(opened, makeCase(n, k, d, { unit, weighted }))
      }
      if (n > 16) expect(moves).toBeGreaterThan(n / 4)
    })

    test.each(['lists', 'labels'] as const)('look only at %s', async (among) => {
      for (const unit of [false, true]) {
        for (const [n, k, d] of SHAPES.slice(1)) await check(opened, makeCase(n, k, d, { among, unit }))
      }
    })

    test('take the first that pays', async () => {
      for (const among of ['all', 'lists', 'labels'] as const) {
        const moves = await check(opened, makeCase(90, 37, 20, { among, first: true, unit: among === 'all' }))
        expect(moves).toBeGreaterThan(4)
      }
    })

    test.each(['whole', 'repeated', 'huge', 'tiny'] as const)('%s values', async (flavour) => {
      for (const unit of [false, true]) await check(opened, makeCase(80, 9, 30, { flavour, unit }))
    })

    test('pay on any shape', async () => {
      const shape = fc.record({
        n: anySize(60),
        k: anySize(40),
        d: anySize(60),
        seed: anySeed,
        unit: fc.boolean(),
        weighted: fc.boolean(),
        first: fc.boolean(),
        among: fc.constantFrom('all' as const, 'labels' as const, 'lists' as const),
      })
      await checkProperty(opened.runs, shape, async ({ n, k, d, seed, ...asked }) => {
        await check(opened, makeCase(n, k, d, asked, seed % 1000))
      })
    })

    test.each(['all', 'labels', 'lists'] as const)('are the same whatever else is held, among %s', async (among) => {
      for (const first of [false, true]) {
        const given = makeCase(50, 37, 20, { among, first, weighted: first, unit: among === 'labels' })
        const whole = await run(opened, given)
        expect(await run(opened, given, { from: 0, to: 50 })).toEqual(whole)
        const together = new Uint32Array(whole.evaluated.length)
        const inFirst = [...given.order.subarray(0, Math.ceil(given.order.length / 2))]
        const windows = coversOf(50)[3]
        for (const window of windows) {
          await check(opened, given, window)
          const found = await run(opened, given, window)
          inFirst.forEach((group, g) => {
            together[group] += found.evaluated[group]
            for (let at = given.offsets[group]; at < given.offsets[group + 1]; at++) {
              const place = g * GROUP + at - given.offsets[group]
              if (holds(window, given.members[at]))
                expect(found.batches[0].proposals[place]).toBe(whole.batches[0].proposals[place])
            }
          })
        }
        for (const group of inFirst) expect(together[group]).toBe(whole.evaluated[group])
        for (const window of coversOf(50)[1]) await check(opened, given, window)
      }
    })

    test('repeat bit for bit', async () => {
      const given = makeCase(129, 11, 40, { weighted: true })
      expect(await run(opened, given)).toEqual(await run(opened, given))
    })
  })
})

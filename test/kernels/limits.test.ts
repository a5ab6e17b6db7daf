/**
 * How kernels cut their work: on a device with small limits no pass may see more than a binding, start
 * one where it may not, or ask for too many workgroups. The adapter itself would not mind, so every
 * pass is looked at. All that a kernel does not cut fits one binding here; what it does cut does not.
 */
import { describe, expect, test } from 'vitest'
import { type ComputePass, type Device, partOf } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import { accumulate, createAccumulateWorkspace } from '../../src/kernels/accumulate.ts'
import { assign, assignWorkspaceBytes } from '../../src/kernels/assign.ts'
import { distances } from '../../src/kernels/distances.ts'
import { gram } from '../../src/kernels/matmul.ts'
import { means } from '../../src/kernels/means.ts'
import { expectClose, expectSame, meanBound } from '../tolerance.ts'
import { type CaseBuffers, DEVICES, onDevices, unpadded, useBuffers, withRun } from './devices.ts'
import { columnProducts, distanceMatrix, lengthOf, meansOf, ranking, sumsByLabel } from './oracles.ts'
import { centers, points, wholeNumbers } from './vectors.ts'

/** The device, with every pass of its work noted down. */
function watch(device: Device): { device: Device; passes: ComputePass[] } {
  const passes: ComputePass[] = []
  const watched = withRun(device, (work, control) =>
    device.run(
      {
        name: work.name,
        cpu: (memory) => work.cpu(memory),
        *webgpu(gpu) {
          for (const pass of work.webgpu(gpu)) {
            passes.push(pass)
            yield pass
          }
        },
      },
      control,
    ),
  )
  return { device: watched, passes }
}

/** Says whether a buffer was seen in parts. */
function expectWithinLimits(passes: readonly ComputePass[], device: Device): boolean {
  const { bindingBytes, bindingAlignment, workgroups } = device.info.limits
  const wrong: string[] = []
  let cut = false
  for (const { shader, bindings, groups } of passes) {
    for (const [index, target] of bindings.entries()) {
      const { offset, bytes } = partOf(target)
      if (bytes > bindingBytes) wrong.push(`${shader.name} binding ${index} sees ${bytes} bytes`)
      if (offset % bindingAlignment !== 0) wrong.push(`${shader.name} binding ${index} starts at ${offset}`)
      cut ||= offset > 0
    }
    if (groups.some((count) => (count ?? 1) > workgroups)) wrong.push(`${shader.name} has ${groups} workgroups`)
  }
  expect(wrong).toEqual([])
  return cut
}

onDevices(
  DEVICES.filter(({ name }) => name.includes('small limits')),
  (opened) => {
    const check = async (work: (buffers: CaseBuffers) => Promise<void>): Promise<void> => {
      const { device, passes } = watch(opened.device)
      await useBuffers(device, work)
      expect(expectWithinLimits(passes, device), 'something was cut').toBe(true)
    }

    describe('work within small limits', () => {
      test.each([1, 3])('assign, the %i nearest', async (m) => {
        const x = { data: points('whole', 60, 3, 1), cols: 3 }
        const c = { data: centers('whole', 2500, 3, 2), cols: 3 }
        await check(async (buffers) => {
          const to = buffers.rows(c.data, 3)
          const labels = buffers.output(60 * m * 4)
          const found = buffers.output(60 * m * 4)
          await assign(buffers.device, {
            points: buffers.rows(x.data, 3),
            centers: to,
            labels: labels.buffer,
            distances: found.buffer,
            m,
            workspace: buffers.scope.allocate(assignWorkspaceBytes(to), 'workspace'),
          })
          const best = Array.from({ length: 60 }, (_, i) => ranking(x, i, c).slice(0, m)).flat()
          expectSame(
            await labels.words(),
            best.map(({ label }) => label),
          )
          expectSame(
            await found.floats(),
            best.map(({ distance }) => distance),
          )
        })
      })

      test.each([
        [200, 64],
        [300, 17],
        [4090, 3],
      ])('distances of %i points and %i centres', async (n, k) => {
        const x = { data: points('wholeBytes', n, 3, 3), cols: 3 }
        const c = { data: centers('whole', k, 3, 4), cols: 3 }
        await check(async (buffers) => {
          const out = buffers.output(n * k * 4)
          await distances(buffers.device, {
            points: buffers.rows(x.data, 3),
            centers: buffers.rows(c.data, 3),
            out: out.buffer,
          })
          expectSame(await out.floats(), distanceMatrix(x, c))
        })
      })

      test('accumulate', async () => {
        const [n, k, d] = [450, 700, 7]
        const x = { data: points('whole', n, d, 5), cols: d }
        const labels = wholeNumbers(n, k, 6).map((label, i) => (i < 300 ? 650 : label))
        await check(async (buffers) => {
          const rows = buffers.rows(x.data, d)
          const sums = buffers.output(k * rows.stride * 4)
          const totals = buffers.output(k * 4)
          const counts = buffers.output(k * 4)
          await accumulate(buffers.device, {
            points: rows,
            labels: buffers.upload(labels),
            k,
            sums: sums.buffer,
            totals: totals.buffer,
            counts: counts.buffer,
            workspace: createAccumulateWorkspace(buffers.device, buffers.scope, n, rows.stride, k),
          })
          const expected = sumsByLabel(x, labels, k)
          expectSame(unpadded(await sums.floats(), k, d), expected.sums)
          expectSame(await totals.floats(), expected.totals)
          expectSame(await counts.words(), expected.counts)
        })
      })

      test('means', async () => {
        const [k, d] = [700, 7]
        const old = centers('unit', k, d, 7)
        const sums = centers('unit', k, d, 8)
        const weight = Float32Array.from(wholeNumbers(k, 5, 9))
        await check(async (buffers) => {
          const rows = buffers.rows(old, d)
          const gains = buffers.output(k * 4)
          await means(buffers.device, {
            sums: buffers.rows(sums, d).buffer,
            totals: buffers.upload(weight),
            centers: rows,
            gains: gains.buffer,
          })
          const expected = { data: Float32Array.from(meansOf(sums, weight, old, d, false).centers), cols: d }
          const found = unpadded(new Float32Array(await buffers.device.read(rows.buffer)), k, d)
          expectClose(found, expected.data, (at) => meanBound(d, false, lengthOf(expected, Math.floor(at / d))))
        })
      })
    })
  },
)

test('gram takes fewer slabs where their products would not fit a binding', async () => {
  const [n, p] = [1025, 132]
  // Room for the rows and for one product, not for two.
  const bindingBytes = 136_960
  const opened = await openDevice({ kind: 'webgpu', limits: { bindingBytes } })
  const { device, passes } = watch(opened)
  const a = { data: points('wholeBytes', n, p, 10), cols: p }
  await useBuffers(device, async (buffers) => {
    const out = buffers.output(p * p * 4)
    const rows = buffers.rows(a.data, p)
    await gram(device, { a: rows, b: rows, out: out.buffer })
    expectSame(await out.floats(), columnProducts(a, a).values)
  })
  expectWithinLimits(passes, device)
  await opened.close()
})

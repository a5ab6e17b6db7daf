/** Kernels compiled ahead of a run: nothing is launched, and the run then has nothing to wait for. */
import { expect, test } from 'vitest'
import { rehearse } from '../../src/device/rehearsal.ts'
import { openDevice } from '../../src/index.ts'
import { tally, tallyWorkspaceBytes } from '../../src/kernels/tally.ts'

test('a kernel called on a rehearsal is compiled and not run', async () => {
  const device = await openDevice({ kind: 'webgpu' })
  const rehearsal = rehearse(device)
  if (rehearsal === undefined) throw new Error('a GPU compiles')
  const values = rehearsal.device.allocate(400, 'values')
  const sums = rehearsal.device.allocate(tallyWorkspaceBytes(100), 'sums')
  const args = { count: 100, values, left: values, sums, differences: sums }
  expect(await tally(rehearsal.device, args)).toEqual({ sum: 0, different: 0 })
  await rehearsal.ready()
  expect(device.launches).toEqual({ submits: 0, dispatches: 0, readbacks: 0 })
  expect(device.allocatedBytes).toBe(0)
  await device.close()
})

test('where nothing is compiled there is none', async () => {
  const device = await openDevice({ kind: 'cpu', threads: 1 })
  expect(rehearse(device)).toBeUndefined()
  await device.close()
})

test('a shader that cannot be compiled fails when it is run, and not before', async () => {
  const device = await openDevice({ kind: 'webgpu' })
  const rehearsal = rehearse(device)
  const wrong = { name: 'wrong', code: () => 'this is no shader' }
  const work = {
    name: 'wrong',
    webgpu: () => [{ shader: wrong, bindings: [], params: [], groups: [1] as const }],
    cpu: () => [],
  }
  await rehearsal?.device.run(work)
  await rehearsal?.ready()
  await expect(device.run(work)).rejects.toThrow()
  await device.close()
})

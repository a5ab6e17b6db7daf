/** Forms that tuning exchanges give the same bits. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { BufferScope, type Device } from '../../src/device/contract.ts'
import { KERNEL_FORMS, type KernelForms, type KernelName } from '../../src/device/forms.ts'
import { assign, assignWorkspaceBytes } from '../../src/kernels/assign.ts'
import { SAME_BITS } from '../../src/kernels/measured-forms.ts'
import { allocateRows, writeRows } from '../../src/kernels/rows.ts'
import { openStrictWebGpu } from './devices.ts'

let device: Device
beforeAll(async () => {
  device = await openStrictWebGpu({ tiled: true })
})
afterAll(() => device.close())

test('every form is in one list at most, and lists hold forms that exist', () => {
  for (const [kernel, lists] of Object.entries(SAME_BITS)) {
    const forms: readonly string[] = lists.flat()
    expect(new Set(forms).size).toBe(forms.length)
    for (const form of forms) expect(KERNEL_FORMS[kernel as KernelName]).toContain(form)
  }
})

test('the lists with several forms are those that are compared here', () => {
  const several = Object.entries(SAME_BITS).flatMap(([kernel, lists]) =>
    lists.filter((list) => list.length > 1).map(() => kernel),
  )
  expect(several).toEqual(['assign', 'assignBytes'])
})

describe.each(['assign', 'assignBytes'] as const)('%s', (kernel) => {
  // Awkward sizes, narrow and wide rows; the last one is large enough for the form of bytes.
  test.each([
    [131, 3, 5],
    [70, 37, 33],
    [150, 301, 68],
    // Few points: the centres are divided among workgroups.
    [17, 511, 33],
  ])('%i points, %i centres, %i columns', async (rows, k, cols) => {
    const [list] = SAME_BITS[kernel]
    const random = createRandom(rows)
    const values = Float32Array.from({ length: rows * cols }, () => random.below(256))
    const points = kernel === 'assign' ? values.map((value) => value * (1 + random.uniform())) : Uint8Array.from(values)
    const centers = Float32Array.from({ length: k * cols }, () => random.uniform() * 256)
    const found = []
    for (const form of list) {
      device.useForms?.({ [kernel]: form } as KernelForms)
      const scope = new BufferScope(device)
      const args = {
        points: allocateRows(scope, rows, cols, kernel === 'assign' ? 'f32' : 'u8', 'points'),
        centers: allocateRows(scope, k, cols, 'f32', 'centres'),
        labels: scope.allocate(rows * 4, 'labels'),
        distances: scope.allocate(rows * 4, 'distances'),
      }
      writeRows(device, args.points, points)
      writeRows(device, args.centers, centers)
      await assign(device, { ...args, workspace: scope.allocate(assignWorkspaceBytes(args.centers), 'workspace') })
      const read = async (what: 'labels' | 'distances') => new Uint32Array(await device.read(args[what])).slice(0, rows)
      found.push({ labels: await read('labels'), distances: await read('distances') })
      scope.free()
    }
    for (const other of found.slice(1)) expect(other).toEqual(found[0])
  })
})

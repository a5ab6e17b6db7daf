import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { BufferScope, Device, DeviceBuffer } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import { createScratch } from '../../src/platform/scratch.ts'
import { KeptStructures } from '../../src/vectors/kept-structures.ts'
import { Spill } from '../../src/vectors/spill.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'

const path = temporaryFolder()

describe('kept structures', () => {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ kind: 'cpu', threads: 1 })
  })
  afterAll(() => device.close())
  const making = (bytes: number) => async (scope: BufferScope) => scope.allocate(bytes, 'structure')

  test('are made once and freed together', async () => {
    const before = device.allocatedBytes
    const kept = new KeptStructures(device)
    const [one, same] = await Promise.all([kept.get('a', 'x', making(64)), kept.get('a', 'x', making(64))])
    expect(same).toBe(one)
    expect(await kept.get('a', 'x', making(64))).toBe(one)
    expect(await kept.get('a', 'y', making(64))).not.toBe(one)
    expect(await kept.get('b', 'x', making(64))).not.toBe(one)
    kept.free()
    expect(one.freed).toBe(true)
    expect(device.allocatedBytes).toBe(before)
  })

  test('of the groups asked for last stay where memory ends, and the one in use always', async () => {
    const kept = new KeptStructures(device, 256)
    const made: Record<string, DeviceBuffer> = {}
    for (const group of ['a', 'b']) made[group] = await kept.get(group, 'x', making(128))
    expect(await kept.get('a', 'x', making(128))).toBe(made.a)
    const third = await kept.get('c', 'x', making(128))
    expect([made.a.freed, made.b.freed, third.freed]).toEqual([false, true, false])
    expect(await kept.get('b', 'x', making(128))).not.toBe(made.b)
    const large = [await kept.get('d', 'x', making(256)), await kept.get('d', 'y', making(256))]
    expect(large.map(({ freed }) => freed)).toEqual([false, false])
    expect([made.a.freed, third.freed]).toEqual([true, true])
    kept.free()
  })

  test('that could not be made are not kept, nor is their memory', async () => {
    const kept = new KeptStructures(device)
    const before = device.allocatedBytes
    const failing = async (scope: BufferScope): Promise<DeviceBuffer> => {
      scope.allocate(64, 'half')
      throw new Error('no more')
    }
    await expect(kept.get('a', 'x', failing)).rejects.toThrow('no more')
    expect(device.allocatedBytes).toBe(before)
    expect((await kept.get('a', 'x', making(64))).freed).toBe(false)
    kept.free()
  })

  test('that were put away come back as they were, and are written once', async () => {
    const before = device.allocatedBytes
    const scratch = await createScratch(path(''))
    const write = vi.spyOn(scratch, 'write')
    const kept = new KeptStructures(device, undefined, new Spill(scratch))
    const make = (value: number) => async (scope: BufferScope) => ({
      one: scope.upload(Uint32Array.of(value, 2, 3), 'one'),
      other: scope.upload(Float32Array.of(0.5, value), 'other'),
      count: value,
    })
    await kept.get('a', 'x', make(7))
    await kept.get('b', 'y', make(8))
    await kept.putAway()
    expect(device.allocatedBytes).toBe(before)
    for (let turn = 0; turn < 2; turn++) {
      const [x, same] = await Promise.all([kept.get('a', 'x', make(0)), kept.get('a', 'x', make(0))])
      expect(same).toBe(x)
      expect(x.count).toBe(7)
      expect([...new Uint32Array(await device.read(x.one))]).toEqual([7, 2, 3])
      expect([...new Float32Array(await device.read(x.other))]).toEqual([0.5, 7])
      const y = await kept.get('b', 'y', make(0))
      expect(new Uint32Array(await device.read(y.one))[0]).toBe(8)
      await kept.putAway()
    }
    expect(write).toHaveBeenCalledTimes(4)
    expect(device.allocatedBytes).toBe(before)
    kept.free()
    await scratch.close()
  })
})

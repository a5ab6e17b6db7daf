/** Commands and reads gathered on the WebGPU device: the order stays, and whatever is freed meanwhile. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Device, DeviceBuffer, Launches, Shader, Work } from '../../src/device/contract.ts'
import { bindingKinds } from '../../src/device/webgpu/layouts.ts'
import { openDevice } from '../../src/index.ts'

let device: Device
beforeEach(async () => {
  device = await openDevice({ kind: 'webgpu' })
})
afterEach(() => device.close())

const add: Shader = {
  name: 'add',
  code: () => `
struct Params { amount: u32 }
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> sum: array<u32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(1)
fn main() { sum[0] = source[0] + params.amount; }
`,
}

function adding(from: DeviceBuffer, to: DeviceBuffer, ...amounts: readonly number[]): Work {
  return {
    name: 'add',
    webgpu: () => amounts.map((amount) => ({ shader: add, bindings: [from, to], params: [amount], groups: [1] })),
    cpu: () => [],
  }
}

function numbers(...values: number[]): DeviceBuffer {
  const buffer = device.allocate(values.length * 4, 'numbers')
  device.write(buffer, Uint32Array.from(values))
  return buffer
}

function firstOf(bytes: ArrayBuffer): number {
  return new Uint32Array(bytes)[0]
}

async function launched(work: () => Promise<unknown>): Promise<Launches> {
  const before = device.launches as Launches
  await work()
  const after = device.launches as Launches
  return {
    submits: after.submits - before.submits,
    dispatches: after.dispatches - before.dispatches,
    readbacks: after.readbacks - before.readbacks,
  }
}

describe('commands', () => {
  test('between two reads are one submit, in their order', async () => {
    const [a, b, c] = [numbers(5, 0, 0, 0), numbers(0, 0, 0, 0), numbers(0, 0, 0, 0)]
    await device.prepare?.(adding(a, b, 1))
    const found: number[] = []
    const counts = await launched(async () => {
      await device.run(adding(a, b, 1))
      device.copy(b, c)
      await device.run(adding(c, b, 10))
      device.clear(a)
      await device.run(adding(b, c, 100))
      found.push(...(await Promise.all([a, b, c].map((buffer) => device.read(buffer)))).map(firstOf))
    })
    expect(found).toEqual([0, 16, 116])
    expect(counts).toEqual({ submits: 1, dispatches: 3, readbacks: 1 })
  })

  test('see what was written before them, and not what is written after', async () => {
    const [a, b, c] = [numbers(1, 0, 0, 0), numbers(0, 0, 0, 0), numbers(0, 0, 0, 0)]
    await device.run(adding(a, b, 1))
    device.write(a, Uint32Array.of(50))
    await device.run(adding(a, c, 1))
    expect(firstOf(await device.read(b))).toBe(2)
    expect(firstOf(await device.read(c))).toBe(51)
  })

  test('keep buffers that are freed before the submit', async () => {
    const [a, b] = [numbers(1, 0, 0, 0), numbers(0, 0, 0, 0)]
    await device.run(adding(a, b, 1))
    a.free()
    expect(a.freed).toBe(true)
    const read = device.stage(b)
    b.free()
    expect(device.allocatedBytes).toBe(0)
    expect(firstOf(await read())).toBe(2)
    await expect(device.run(adding(a, b, 1))).rejects.toThrow(/freed/)
  })

  test('more than one submit can hold parameters for run all the same', async () => {
    const a = numbers(3, 0, 0, 0)
    const b = numbers(0, 0, 0, 0)
    const amounts = Array.from({ length: 2500 }, (_, i) => i)
    const counts = await launched(() => device.run(adding(a, b, ...amounts)))
    expect(firstOf(await device.read(b))).toBe(3 + 2499)
    expect(counts.dispatches).toBe(2500)
  })

  test('reach the GPU without a read', async () => {
    const a = numbers(1, 0, 0, 0)
    await device.run(adding(a, numbers(0, 0, 0, 0), 1))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(device.launches?.submits).toBe(1)
  })
})

describe('reads', () => {
  test('that are staged hold what was there then, and come with the next one', async () => {
    const [a, b] = [numbers(1, 0, 0, 0), numbers(0, 0, 0, 0)]
    const found: number[] = []
    const counts = await launched(async () => {
      await device.run(adding(a, b, 1))
      const early = device.stage(b)
      await device.run(adding(a, b, 7))
      found.push(firstOf(await device.read(b)), firstOf(await early()), firstOf(await early()))
    })
    expect(found).toEqual([8, 2, 2])
    expect(counts.readbacks).toBe(1)
  })

  test('of any size share staging memory', async () => {
    const sizes = [4, 12, 2 ** 20 - 8, 20, 3 * 2 ** 20, 8]
    const buffers = sizes.map((bytes, i) => {
      const buffer = device.allocate(bytes, 'bytes')
      device.write(buffer, new Uint8Array(bytes).fill(i + 1))
      return buffer
    })
    for (let again = 0; again < 3; again++) {
      const parts = buffers.map((buffer, i) => ({ buffer, offset: 0, bytes: sizes[i] }))
      const found = await Promise.all(parts.map((part) => device.read(part)))
      found.forEach((bytes, i) => {
        expect(bytes.byteLength).toBe(sizes[i])
        expect(new Uint8Array(bytes).every((byte) => byte === i + 1)).toBe(true)
      })
    }
  })

  test('of nothing are empty', async () => {
    expect((await device.read({ buffer: numbers(1), offset: 0, bytes: 0 })).byteLength).toBe(0)
  })

  test('that were staged on a device that is closed since end in a sentence', async () => {
    const read = device.stage(numbers(1))
    await device.close()
    await expect(read()).rejects.toThrow('The device is closed')
  })
})

test('bindings are read from the text of a shader', () => {
  expect(bindingKinds('add', add.code({ subgroups: false, f16: false }))).toBe('rwu')
  expect(bindingKinds('none', 'fn main() {}')).toBe('')
  expect(() => bindingKinds('gap', '@group(0) @binding(1) var<uniform> p: u32;')).toThrow('gap has bindings ?u')
})

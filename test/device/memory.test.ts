/** What kernels and host code may expect of memory, and the devices that find those that expect more. */
import { describe, expect, test } from 'vitest'
import { type BufferPart, BufferScope, type CpuMemory, type Device, slice } from '../../src/device/contract.ts'
import { openCpuDevice } from '../../src/device/cpu/device.ts'
import { WasmHeap } from '../../src/device/cpu/heap.ts'
import { InPlaceRunner } from '../../src/device/cpu/in-place.ts'
import { ThreadPool } from '../../src/device/cpu/pool.ts'
import { openDevice } from '../../src/device/open.ts'
import { checked } from '../../wasm/build/checked.js'
import { openFilledWebGpu } from '../kernels/devices.ts'
import { distanceBlock } from './distance-block.ts'

const PLAIN: readonly [string, () => Promise<Device>][] = [
  ['cpu with threads', () => openDevice({ kind: 'cpu', threads: 2 })],
  ['cpu in place', () => openDevice({ kind: 'cpu', shared: false })],
  ['webgpu', () => openDevice({ kind: 'webgpu' })],
]

const FILLED: readonly [string, number, () => Promise<Device>][] = [
  ['cpu with threads', 0xff, () => openCpuDevice({ threads: 2, checks: { fill: 0xff } })],
  ['cpu in place', 0x7f, () => openCpuDevice({ shared: false, checks: { fill: 0x7f } })],
  ['cpu with checked kernels', 0xff, () => openCpuDevice({ threads: 2, checks: { fill: 0xff, module: checked } })],
  ['webgpu', 0x7f, () => openFilledWebGpu(0x7f)],
]

/** Allocates, dirties, frees and allocates again; the bytes found in new memory, each once. */
async function bytesOfNewMemory(device: Device): Promise<number[]> {
  const found = new Set<number>()
  for (let round = 0; round < 3; round++) {
    const buffers = [100, 70_000, 7, 300_000].map((bytes) => device.allocate(bytes, 'memory'))
    for (const buffer of buffers) {
      for (const byte of new Uint8Array(await device.read(buffer))) found.add(byte)
      device.write(buffer, new Uint8Array(buffer.bytes).fill(5))
    }
    // In another order, so that blocks are cut differently the next time.
    for (const i of [2, 0, 3, 1]) buffers[i].free()
  }
  return [...found]
}

describe('new memory', () => {
  test.each(PLAIN)('of %s is zero, also where it was used before', async (_, open) => {
    const device = await open()
    expect(await bytesOfNewMemory(device)).toEqual([0])
    await device.close()
  })

  test.each(FILLED)('of %s holds the byte asked for', async (_, fill, open) => {
    const device = await open()
    expect(await bytesOfNewMemory(device)).toEqual([fill])
    await device.close()
  })
})

/** look(start, end, scratch, args): out[start] = scratch[0], then scratch[0] = 0, where out = args[0]. */
const LOOK = Uint8Array.from([
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...[1, 8, 1, 0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 0],
  // The import env.memory: shared, from 1 to 65,536 pages.
  ...[2, 18, 1, 3, 0x65, 0x6e, 0x76, 6, 0x6d, 0x65, 0x6d, 0x6f, 0x72, 0x79, 2, 3, 1, 0x80, 0x80, 4],
  ...[3, 2, 1, 0],
  ...[7, 8, 1, 4, 0x6c, 0x6f, 0x6f, 0x6b, 0, 0],
  ...[10, 30, 1, 28, 0],
  ...[0x20, 3, 0x28, 2, 0, 0x20, 0, 0x41, 2, 0x74, 0x6a, 0x20, 2, 0x28, 2, 0, 0x36, 2, 0],
  ...[0x20, 2, 0x41, 0, 0x36, 2, 0, 0x0b],
])

describe('scratch', () => {
  test.each(['threads', 'in place'])('is filled before every call of a kernel (%s)', async (where) => {
    const memory = new WebAssembly.Memory({ initial: 16, maximum: 65536, shared: true })
    const heap = new WasmHeap(memory, 65536, 2 ** 30)
    const blocks = 1024
    const module = await WebAssembly.compile(LOOK)
    const { exports } = await WebAssembly.instantiate(module, { env: { memory } })
    const runner =
      where === 'threads'
        ? await ThreadPool.start(module, heap, 2, { blocks, fill: 0xab })
        : new InPlaceRunner(exports, heap, blocks, { fill: 0xab })
    const items = 50
    const out = heap.allocate(items * 4, 'out')
    for (let again = 0; again < 2; again++) {
      await runner.run([
        { entry: 'look', items, grain: 1, args: new Uint8Array(Uint32Array.of(out).buffer), scratchBytes: 4 },
      ])
      const seen = new Set(new Uint32Array(memory.buffer, out, items))
      expect([...seen]).toEqual([0xabababab])
    }
    await runner.close()
  })
})

/** touch(start, end, scratch, args): stores 0 at scratch + args[0]. */
const TOUCH = Uint8Array.from([
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...[1, 8, 1, 0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 0],
  ...[2, 18, 1, 3, 0x65, 0x6e, 0x76, 6, 0x6d, 0x65, 0x6d, 0x6f, 0x72, 0x79, 2, 3, 1, 0x80, 0x80, 4],
  ...[3, 2, 1, 0],
  ...[7, 9, 1, 5, 0x74, 0x6f, 0x75, 0x63, 0x68, 0, 0],
  ...[10, 17, 1, 15, 0],
  ...[0x20, 2, 0x20, 3, 0x28, 2, 0, 0x6a, 0x41, 0, 0x3a, 0, 0, 0x0b],
])

describe('bytes around an area of scratch memory', () => {
  const scratchAreas = [
    { name: 'row', offset: 64, bytes: 10 },
    { name: 'list', offset: 144, bytes: 16 },
  ]

  test.each([
    [64, true],
    [73, true],
    [74, false],
    [63, false],
    [0, false],
    [143, false],
    [159, true],
    [160, false],
    [223, false],
  ])('are watched: a kernel that writes to byte %i (allowed: %s)', async (byte, allowed) => {
    const memory = new WebAssembly.Memory({ initial: 16, maximum: 65536, shared: true })
    const heap = new WasmHeap(memory, 65536, 2 ** 30)
    const { exports } = await WebAssembly.instantiate(await WebAssembly.compile(TOUCH), { env: { memory } })
    const runner = new InPlaceRunner(exports, heap, 1024, { fill: 0xab })
    const args = new Uint8Array(Uint32Array.of(byte).buffer)
    const run = runner.run([{ entry: 'touch', items: 1, grain: 1, args, scratchBytes: 224, scratchAreas }])
    if (allowed) await run
    else await expect(run).rejects.toThrow(`wrote to byte ${byte} of its scratch memory`)
  })
})

describe('a part that is not in its buffer', () => {
  /** What `use` says about a kernel that is given parts of a buffer of 64 bytes. */
  async function complaints(device: Device, use: (part: BufferPart) => Promise<unknown>): Promise<string[]> {
    const scope = new BufferScope(device)
    const buffer = scope.allocate(64, 'sums')
    const freed = device.allocate(64, 'labels')
    freed.free()
    const found: string[] = []
    for (const part of [slice(buffer, 0, 80), slice(buffer, 32, 64), slice(buffer, -4, 8), slice(freed, 0, 4)]) {
      found.push(await use(part).then(String, (error) => error.message))
    }
    scope.free()
    return found
  }
  const EXPECTED = [
    'test-kernel: bytes 0 to 80 of sums, which has 64 bytes',
    'test-kernel: bytes 32 to 96 of sums, which has 64 bytes',
    'test-kernel: bytes -4 to 4 of sums, which has 64 bytes',
    'test-kernel: labels was freed before its last use',
  ]

  test('is refused by the CPU device before the job starts, and by name', async () => {
    const device = await openDevice({ kind: 'cpu', threads: 1 })
    const address = (part: BufferPart) => (memory: CpuMemory) => {
      memory.address(part, part.bytes)
      return []
    }
    const run = (part: BufferPart) => device.run({ name: 'test-kernel', webgpu: () => [], cpu: address(part) })
    expect(await complaints(device, run)).toEqual(EXPECTED)
    await device.close()
  })

  test('is refused by WebGPU before it is submitted, and by name', async () => {
    const device = await openDevice({ kind: 'webgpu' })
    const code =
      '@group(0) @binding(0) var<storage, read_write> x: array<f32>; @group(0) @binding(1) var<uniform> p: vec4u; @compute @workgroup_size(1) fn main() { x[0] = f32(p.x); }'
    const run = (part: BufferPart) =>
      device.run({
        name: 'test-kernel',
        webgpu: () => [
          { shader: { name: 'test', code: () => code }, bindings: [part], params: [1, 0, 0, 0], groups: [1] },
        ],
        cpu: () => [],
      })
    expect(await complaints(device, run)).toEqual(EXPECTED)
    // Nothing of it reached the GPU: the device is as good as before.
    const kept = device.allocate(16, 'kept')
    await run(slice(kept, 0, 16))
    expect(new Float32Array(await device.read(kept))[0]).toBe(1)
    await device.close()
  })

  test('also where a job states fewer bytes than its part has, or more', async () => {
    const device = await openDevice({ kind: 'cpu', threads: 1 })
    const buffer = device.allocate(64, 'sums')
    const state = (bytes: number) =>
      device.run({
        name: 'test-kernel',
        webgpu: () => [],
        cpu: (memory) => {
          memory.address(slice(buffer, 16, 32), bytes)
          return []
        },
      })
    await state(0)
    await state(32)
    await expect(state(36)).rejects.toThrow('test-kernel: needs 36 bytes of sums and is given 32')
    await expect(state(Number.NaN)).rejects.toThrow('test-kernel: needs NaN bytes of sums and is given 32')
    await device.close()
  })

  test('of another device is refused', async () => {
    for (const kind of ['cpu', 'webgpu'] as const) {
      const one = await openDevice({ kind })
      const other = await openDevice({ kind })
      const buffer = other.allocate(16, 'points')
      expect(() => one.write(buffer, new Uint8Array(4))).toThrow('write: points belongs to another device')
      await Promise.all([one.close(), other.close()])
    }
  })
})

describe('checked kernels', () => {
  /** |row - row|^2 of one row of 4 columns, with fewer bytes stated than the kernel touches. */
  async function touch(points: number, out: number): Promise<string> {
    const device = await openCpuDevice({ threads: 2, checks: { module: checked } })
    const rows = device.allocate(16, 'rows')
    const distances = device.allocate(16, 'distances')
    const done = device.run({
      name: 'test-kernel',
      webgpu: () => [],
      *cpu(memory) {
        const x = memory.address(rows, points)
        const args = distanceBlock({ x, stride: 4, centers: x, k: 1, out: memory.address(distances, out) })
        yield { entry: 'distanceMatrix', items: 1, grain: 1, args }
      },
    })
    const outcome = await done.then(
      () => 'done',
      (error) => error.message,
    )
    await device.close()
    return outcome
  }

  test('stop at bytes that their job did not state', async () => {
    expect(await touch(16, 4)).toBe('done')
    const outside =
      /^The kernel distanceMatrix .* out of bounds: a kernel touched memory that belongs to none of its arguments/
    expect(await touch(12, 4)).toMatch(outside)
    expect(await touch(16, 0)).toMatch(outside)
  })
})

/** Jobs of the CPU device go to its threads in queues: they keep their order and stop as one piece of work. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BufferScope, type CpuJob, type CpuMemory, type Device, slice } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import { expectSame } from '../tolerance.ts'
import { distanceBlock } from './distance-block.ts'

const DEVICES = [
  { name: '3 threads', open: () => openDevice({ kind: 'cpu', threads: 3 }) },
  { name: '1 thread', open: () => openDevice({ kind: 'cpu', threads: 1 }) },
  { name: 'the calling thread', open: () => openDevice({ kind: 'cpu', shared: false }) },
]

/** Rows of four equal numbers; distances to four equal centres are such rows again. */
const COLS = 4
const ROW_BYTES = COLS * 4
/** |row - centre|^2 = 4 (b - 1/2)^2 keeps numbers between 0 and 1 and mixes them well; it is exact but for two roundings. */
const CENTER = 0.5
const follow = (b: number): number => 4 * Math.fround(Math.fround(b - CENTER) ** 2)
const startOf = (row: number): number => Math.fround(((row * 7919) % 1000) / 1000)

function run(device: Device, cpu: (memory: CpuMemory) => Iterable<CpuJob>, signal?: AbortSignal): Promise<void> {
  return device.run({ name: 'queue', webgpu: () => [], cpu }, { signal })
}

for (const { name, open } of DEVICES) {
  describe(`queues on ${name}`, () => {
    let device: Device
    let scope: BufferScope
    beforeAll(async () => {
      device = await open()
      scope = new BufferScope(device)
    })
    afterAll(() => device.close())

    /** Each job reads, for row i, what the job before it wrote for row i + 1, mostly on another thread. */
    async function chain(jobs: number, rows: number, grain: number): Promise<number[]> {
      const values = Float32Array.from({ length: rows * COLS }, (_, i) => startOf(Math.floor(i / COLS)))
      const buffers = [scope.upload(values, 'even'), scope.upload(values, 'odd')]
      const centers = scope.upload(new Float32Array(COLS * COLS).fill(CENTER), 'centres')
      const job = (memory: CpuMemory, i: number): CpuJob => ({
        entry: 'distanceMatrix',
        items: rows - 1 - i,
        grain,
        args: distanceBlock({
          x: memory.address(slice(buffers[i % 2], ROW_BYTES, (rows - 1) * ROW_BYTES), (rows - 1) * ROW_BYTES),
          stride: COLS,
          centers: memory.address(centers, centers.bytes),
          k: COLS,
          out: memory.address(buffers[(i + 1) % 2], rows * ROW_BYTES),
        }),
      })
      try {
        await run(device, function* (memory) {
          for (let i = 0; i < jobs; i++) yield job(memory, i)
        })
        const found = new Float32Array(await device.read(buffers[jobs % 2]))
        return Array.from({ length: rows - jobs }, (_, row) => found[row * COLS])
      } finally {
        for (const buffer of [...buffers, centers]) buffer.free()
      }
    }

    function expected(jobs: number, rows: number): number[] {
      return Array.from({ length: rows - jobs }, (_, row) => {
        let value = startOf(row + jobs)
        for (let i = 0; i < jobs; i++) value = follow(value)
        return value
      })
    }

    test.each([
      [1, 40],
      [63, 200],
      [64, 200],
      [65, 200],
      [129, 200],
      [300, 331],
    ])('%i jobs run one after the other', async (jobs, rows) => {
      for (const grain of [1, 7]) expectSame(await chain(jobs, rows, grain), expected(jobs, rows))
    })

    test('jobs without items are passed over', async () => {
      await run(device, () => [
        { entry: 'distanceMatrix', items: 0, grain: 1, args: new Uint8Array(0) },
        { entry: 'distanceMatrix', items: 0, grain: 1, args: new Uint8Array(0) },
      ])
      await run(device, () => [])
    })

    test('a signal stops within a queue, and the device goes on', async () => {
      const rows = 1500
      const big = scope.upload(new Float32Array(rows * 64).fill(1), 'rows')
      const out = scope.allocate(rows * rows * 4, 'distances')
      const end = scope.upload(Float32Array.of(-1), 'the last result')
      const jobs = (memory: CpuMemory): CpuJob[] => [
        ...Array.from({ length: 60 }, () => ({
          entry: 'distanceMatrix',
          items: rows,
          grain: 10,
          args: distanceBlock({
            x: memory.address(big, big.bytes),
            stride: 64,
            centers: memory.address(big, big.bytes),
            k: rows,
            out: memory.address(out, out.bytes),
          }),
        })),
        {
          entry: 'distanceMatrix',
          items: 1,
          grain: 1,
          args: distanceBlock({
            x: memory.address(big, big.bytes),
            stride: 4,
            centers: memory.address(big, big.bytes),
            k: 1,
            out: memory.address(end, end.bytes),
          }),
        },
      ]
      const reason = new Error('enough')
      const controller = new AbortController()
      setTimeout(() => controller.abort(reason), 20)
      await expect(run(device, jobs, controller.signal)).rejects.toBe(reason)
      expectSame(new Float32Array(await device.read(end), 0, 1), [-1])
      for (const buffer of [big, out, end]) buffer.free()
      expectSame(await chain(70, 100, 2), expected(70, 100))
    })
  })
}

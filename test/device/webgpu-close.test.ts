/**
 * A closed WebGPU device leaves nothing behind: no thread (Linux counts them in /proc), and no object that would
 * keep its memory.
 */
import { existsSync, readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import type { Device } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import { distances } from '../../src/kernels/distances.ts'
import { useBuffers } from '../kernels/devices.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const STATUS = '/proc/self/status'

async function collectAll(): Promise<void> {
  // What is freed by one collection may free more in the next.
  for (let again = 0; again < 3; again++) {
    collect()
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

function countThreads(): number {
  return Number(/Threads:\s+(\d+)/.exec(readFileSync(STATUS, 'utf8'))?.[1])
}

/** Compiles and runs a kernel. */
async function openAndClose(): Promise<WeakRef<Device>> {
  const device = await openDevice({ kind: 'webgpu' })
  await useBuffers(device, async (buffers) => {
    const rows = buffers.rows(Float32Array.of(1, 2, 3, 4), 2)
    const out = buffers.output(16)
    await distances(device, { points: rows, centers: rows, out: out.buffer })
    expect([...(await out.floats())]).toEqual([0, 8, 8, 0])
  })
  await device.close()
  return new WeakRef(device)
}

test('closed devices can be collected, and take their threads with them', async () => {
  const threads = (): number => (existsSync(STATUS) ? countThreads() : 0)
  await openAndClose()
  await collectAll()
  const before = threads()
  const devices: WeakRef<Device>[] = []
  for (let i = 0; i < 10; i++) devices.push(await openAndClose())
  await collectAll()
  expect(devices.filter((device) => device.deref() !== undefined).length).toBeLessThanOrEqual(1)
  expect(threads()).toBeLessThanOrEqual(before + 1)
})

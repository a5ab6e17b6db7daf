/** A closed WebGPU device leaves nothing behind: no thread, no memory. Linux tells both in /proc. */
import { existsSync, readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { openDevice } from '../../src/device/open.ts'
import { distances } from '../../src/kernels/distances.ts'
import { useBuffers } from '../kernels/devices.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const STATUS = '/proc/self/status'

async function measure(): Promise<{ threads: number; megabytes: number }> {
  // What is freed by one collection may free more in the next.
  for (let again = 0; again < 3; again++) {
    collect()
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const status = readFileSync(STATUS, 'utf8')
  return {
    threads: Number(/Threads:\s+(\d+)/.exec(status)?.[1]),
    megabytes: Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024,
  }
}

/** Compiles and runs a kernel. */
async function openAndClose(): Promise<void> {
  const device = await openDevice({ kind: 'webgpu' })
  await useBuffers(device, async (buffers) => {
    const rows = buffers.rows(Float32Array.of(1, 2, 3, 4), 2)
    const out = buffers.output(16)
    await distances(device, { points: rows, centers: rows, out: out.buffer })
    expect([...(await out.floats())]).toEqual([0, 8, 8, 0])
  })
  await device.close()
}

test.runIf(existsSync(STATUS))('devices opened and closed again and again take no more threads or memory', async () => {
  // Caches fill at first.
  for (let i = 0; i < 4; i++) await openAndClose()
  const before = await measure()
  for (let i = 0; i < 10; i++) await openAndClose()
  const after = await measure()
  expect(after.threads).toBeLessThanOrEqual(before.threads + 1)
  expect(after.megabytes).toBeLessThan(before.megabytes + 40)
})

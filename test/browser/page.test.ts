/** What only a real page can show: threads, WebGPU, files that were dropped on it, and the built bundle. */
import { expect, test } from 'vitest'
import { blobs, cluster, listDevices, openDevice, readVectors } from '../../src/index.ts'

const { vectors } = blobs({ rows: 400, cols: 12, clusters: 5, spread: 0.2, seed: 3, separated: true })

test('the page has threads that share memory, and a GPU adapter', async () => {
  expect(globalThis.crossOriginIsolated).toBe(true)
  const cpu = await openDevice({ kind: 'cpu', threads: 2 })
  expect(cpu.info.name).toMatch(/^WebAssembly, 2 threads, relaxed SIMD$/)
  await cpu.close()
  const gpu = await openDevice({ kind: 'webgpu' })
  expect(gpu.info.name).toMatch(/the browser/)
  await gpu.close()
  const { devices } = await listDevices()
  expect(devices.map(({ kind, info }) => [kind, info !== undefined])).toEqual([
    ['webgpu', true],
    ['cpu', true],
  ])
})

test('a dropped file is read and clustered', async () => {
  const header = `${`{'descr': '<f4', 'fortran_order': False, 'shape': (400, 12), }`.padEnd(117)}\n`
  const head = new Uint8Array([0x93, ...new TextEncoder().encode('NUMPY'), 1, 0, header.length, 0])
  const file = new File([head, header, vectors.data as Float32Array<ArrayBuffer>], 'dropped.npy')
  const read = await readVectors(file)
  expect(read.data).toEqual(vectors.data)
  const model = await cluster(read, { k: 5, seed: 1, device: 'cpu' })
  expect(model.distortion).toBeGreaterThan(0)
})

test('saving from a page is refused in a sentence', async () => {
  const model = await cluster(vectors, { k: 3, device: 'cpu' })
  await expect(model.save('somewhere')).rejects.toThrow(/cannot be written from a page/)
})

test('the built bundle works as a plain module and agrees with the sources', async () => {
  const path = '/dist/browser.js'
  const built = (await import(/* @vite-ignore */ path)) as typeof import('../../src/index.ts')
  const options = { k: 5, seed: 2, device: { kind: 'cpu', threads: 2 } } as const
  const [a, b] = [await built.cluster(vectors, options), await cluster(vectors, options)]
  expect(a.labels).toEqual(b.labels)
  expect(a.centers.data).toEqual(b.centers.data)
})

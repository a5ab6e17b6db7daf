/** The shipped words: what the file holds, search, names of clusters, and the map by pointer and keys. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { GpuPoints } from '../../demos/points/gpu-points.ts'
import { PointGrid } from '../../demos/points/point-grid.ts'
import { codeOptions } from '../../demos/words/codes.ts'
import { nearestRows, typicalRows } from '../../demos/words/neighbours.ts'
import { shippedWordsTask } from '../../demos/words/word-file.ts'
import { cluster, createRandom, matrix, nearest, openDevice, trainQuantizer } from '../../src/index.ts'
import { platform } from '../../src/platform/node.ts'
import { textOf } from './shown.ts'
import { openSite, type Site } from './site.ts'

const FILE = join(import.meta.dirname, '../../demos/public/words.bin')
let site: Site
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())

async function readShipped() {
  const device = await openDevice({ kind: 'cpu' })
  const context = { device, signal: new AbortController().signal, progress: () => {} }
  const { value } = await shippedWordsTask({ root: 'https://example.com/' }, context, () =>
    Promise.resolve(new Response(readFileSync(FILE))),
  ).next()
  if (!value) throw new Error('The file gave no words.')
  return { ...value, device }
}

test('the file: 20,000 to 50,000 words in less than 2 MB, and ck has the lower error on them', async () => {
  expect(statSync(FILE).size).toBeLessThan(2e6)
  const { vectors, names, places, device } = await readShipped()
  expect(names.length).toBeGreaterThanOrEqual(20_000)
  expect(names.length).toBeLessThanOrEqual(50_000)
  expect([vectors.rows, places.length, new Set(names).size]).toEqual([names.length, 2 * names.length, names.length])
  const errors: Record<string, number> = {}
  for (const type of ['pq', 'ck'] as const) {
    const options = codeOptions({ type, m: 8, seed: 1 }, vectors)
    errors[type] = (await trainQuantizer(vectors, { ...options, device })).distortion
  }
  expect(errors.ck / errors.pq).toBeLessThan(0.95)
  await device.close()
})

test('nearest and typical rows are those of the library', async () => {
  const random = createRandom(3)
  const vectors = matrix(
    Float32Array.from({ length: 900 }, () => random.normal()),
    150,
    6,
  )
  const { labels } = await nearest(matrix(vectors.data.slice(12, 18), 1, 6), vectors, { m: 11, device: 'cpu' })
  expect(Array.from(nearestRows(vectors, 2, 10).rows)).toEqual(Array.from(labels.subarray(1)))
  const model = await cluster(vectors, { k: 4, seed: 1, method: 'lloyd', device: 'cpu' })
  const { labels: typical } = await nearest(model.centers, vectors, { m: 1, device: 'cpu' })
  expect(typicalRows(vectors, model.centers, model.labels, 3).map(([first]) => first)).toEqual(Array.from(typical))
})

test('a point is found by its place, among a million within 50 ms', () => {
  const random = createRandom(5)
  const few = Float32Array.from({ length: 600 }, () => random.uniform())
  const grid = new PointGrid(few)
  for (let t = 0; t < 50; t++) {
    const [x, y] = [random.uniform(), random.uniform()]
    const square = (i: number): number => (few[2 * i] - x) ** 2 + (few[2 * i + 1] - y) ** 2
    const all = Array.from({ length: 300 }, (_, i) => i).sort((a, b) => square(a) - square(b))
    expect(grid.nearest(x, y, 0.1, 0.1)).toBe(square(all[0]) < 0.01 ? all[0] : undefined)
  }
  const many = new PointGrid(Float32Array.from({ length: 2_000_000 }, () => random.uniform()))
  const began = performance.now()
  for (let t = 0; t < 20; t++) many.nearest(random.uniform(), random.uniform(), 0.02, 0.02)
  expect((performance.now() - began) / 20).toBeLessThan(50)
})

test('dots by WebGPU: where a canvas has them, lit ones larger and in front', async () => {
  const { entry } = await platform.findGpu({ software: true })
  if (!entry) throw new Error('There is no WebGPU here, not even in software.')
  const device = await entry.adapter.requestDevice()
  const [width, height] = [64, 32]
  const usage = GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC
  const texture = device.createTexture({ size: [width, height], format: 'rgba8unorm', usage })
  const points = new GpuPoints(device, 'rgba8unorm')
  points.setPoints(Float32Array.of(0, 0, 1, 1, 2, 0, 9, 9))
  points.setColours(Uint32Array.of(0xff0000ff, 0xff00ff00, 0xffff0000, 0xffffffff))
  const view = { scaleX: 20, scaleY: 10, offsetX: 10, offsetY: 10 }
  points.draw(texture, { view, dot: 2, lit: { marks: Uint8Array.of(0, 1, 0, 0), colour: 0xff00ffff } })
  const buffer = device.createBuffer({
    size: 4 * width * height,
    usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  })
  const encoder = device.createCommandEncoder()
  encoder.copyTextureToBuffer({ texture }, { buffer, bytesPerRow: 4 * width }, [width, height])
  device.queue.submit([encoder.finish()])
  await buffer.mapAsync(GPUMapMode.READ)
  const pixels = new Uint32Array(buffer.getMappedRange().slice(0))
  const expected = new Uint32Array(width * height)
  for (const [x, y, side, colour] of [
    [9, 9, 2, 0xff0000ff],
    [49, 9, 2, 0xffff0000],
    [28, 18, 4, 0xff00ffff],
  ]) {
    for (let i = 0; i < side * side; i++) expected[(y + Math.floor(i / side)) * width + x + (i % side)] = colour
  }
  expect(pixels).toEqual(expected)
  device.destroy()
})

test('the page: search, names of clusters, zoom, pan and hover', async () => {
  const { page, complaints } = await site.visit('words/index.html?device=cpu&k=60&rounds=3')
  const map = page.locator('#map')
  await textOf(page, '#status', /^Done/, 60_000)
  await map.scrollIntoViewIfNeeded()
  expect(await map.getAttribute('data-drawn-by')).toBe('canvas')
  const words = gunzipSync(readFileSync(FILE)).subarray(-400_000).toString('latin1')
  for (const name of await page.locator('#clusters button').allTextContents()) {
    const typical = name.split(', ')
    expect(typical.length).toBeLessThanOrEqual(3)
    for (const word of typical) expect(words).toContain(word)
  }
  await page.fill('#search', 'guitar')
  await page.keyboard.press('Enter')
  const neighbours = await page.locator('#word-neighbours button').allTextContents()
  expect(neighbours.length).toBe(10)
  expect(neighbours).toContain('bass')
  const zoom = async (): Promise<number> => Number(await map.getAttribute('data-zoom'))
  await expect.poll(zoom).toBeGreaterThan(1.5)
  // The word itself is in the middle.
  const box = (await map.boundingBox()) as { x: number; y: number; width: number; height: number }
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
  await textOf(page, '.tip', /^guitar$/)
  const milliseconds = await map.evaluate((room) => {
    const { left, top, width, height } = room.getBoundingClientRect()
    const began = performance.now()
    for (let i = 0; i < 10; i++) {
      const place = { clientX: left + (width * (i + 1)) / 12, clientY: top + height / 2 }
      room.dispatchEvent(new PointerEvent('pointermove', place))
    }
    return (performance.now() - began) / 10
  })
  expect(milliseconds).toBeLessThan(50)
  const near = await zoom()
  await map.focus()
  await page.keyboard.press('+')
  await expect.poll(zoom).toBeCloseTo(near * 1.4, 1)
  await page.keyboard.press('0')
  await expect.poll(zoom).toBe(1)
  await page.mouse.wheel(0, -400)
  await expect.poll(zoom).toBeGreaterThan(1)
  expect(complaints).toEqual([])
  await page.context().close()
})

/** The playground, driven as a person drives it, against the library in Node. */
import type { Page } from 'playwright'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makePoints } from '../../demos/playground/points.ts'
import { startTask } from '../../demos/playground/tasks.ts'
import { showNumber } from '../../demos/shell/dom.ts'
import {
  type ClusterModel,
  type ClusterOptions,
  cluster,
  clusterSteps,
  matrix,
  nearest,
  openDevice,
} from '../../src/index.ts'
import { layoutShift, namelessControls, tabTo, textOf } from './shown.ts'
import { openSite, type Site } from './site.ts'

let site: Site
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())

const PAGE = 'playground/index.html'
const CAPTION = '#stage-a figcaption'

function inNode(n: number, seed: number, options: ClusterOptions): Promise<ClusterModel> {
  return cluster(makePoints('blobs', n, seed), { seed, ...options, device: 'cpu' })
}

/** Colours of the points where they are drawn: of each, if no later point lies over its middle. */
async function drawnColours(page: Page, points: Float32Array, dot: number): Promise<Map<number, string>> {
  const canvas = page.locator('#stage-a canvas').nth(1)
  const side = await canvas.evaluate((element) => (element as HTMLCanvasElement).width)
  const places = Array.from({ length: points.length / 2 }, (_, i) => [
    Math.round(points[2 * i] * side - dot / 2) + dot / 2,
    Math.round(points[2 * i + 1] * side - dot / 2) + dot / 2,
  ])
  const colours = await canvas.evaluate((element, wanted) => {
    const context = (element as HTMLCanvasElement).getContext('2d')
    return wanted.map(([x, y]) => context?.getImageData(x, y, 1, 1).data.join() ?? '')
  }, places)
  const seen = new Map<number, string>()
  places.forEach(([x, y], i) => {
    const atEdge = Math.min(x, y) < 3 || Math.max(x, y) > side - 5
    const covered = places.some(([a, b], j) => j > i && Math.abs(a - x) <= dot && Math.abs(b - y) <= dot)
    if (!atEdge && !covered) seen.set(i, colours[i])
  })
  return seen
}

describe('results are those of the library in Node', () => {
  test('a run: rounds, distortion, and the colour of every point', async () => {
    const { page, complaints } = await site.visit(`${PAGE}?run=0&device=cpu&n=400&k=6&seed=3&pace=full&lit=0`)
    await page.getByRole('button', { name: 'Run' }).click()
    const model = await inNode(400, 3, { method: 'lloyd', k: 6, start: 'random' })
    const rounds = model.facts.iterations.length
    expect(rounds).toBeGreaterThan(3)
    const sentence = await textOf(page, '#status', /after/)
    expect(sentence).toContain(`lloyd: distortion ${showNumber(model.distortion)} after ${rounds} rounds`)
    expect(await textOf(page, CAPTION)).toContain(`round ${rounds}: distortion ${showNumber(model.distortion)}`)

    const points = makePoints('blobs', 400, 3).data as Float32Array
    const colours = await drawnColours(page, points, 4)
    expect(colours.size).toBeGreaterThan(250)
    const colourOf = new Map<number, string>()
    for (const [i, colour] of colours) {
      const label = model.labels[i]
      if (!colourOf.has(label)) colourOf.set(label, colour)
      expect(colour, `point ${i}`).toBe(colourOf.get(label))
    }
    expect(new Set(colourOf.values()).size).toBe(6)
    expect(complaints).toEqual([])
  })

  test('step by step, each round', async () => {
    const { page, complaints } = await site.visit(`${PAGE}?run=0&device=cpu&n=300&k=5&seed=2&method=sharp&pace=full`)
    const model = await inNode(300, 2, { method: 'sharp', k: 5, start: 'random' })
    await expect(textOf(page, CAPTION)).resolves.toContain('not run yet')
    for (const { iteration, distortion } of model.facts.iterations.slice(0, 3)) {
      await page.getByRole('button', { name: 'Step' }).click()
      await textOf(page, CAPTION, new RegExp(`round ${iteration}: distortion ${showNumber(distortion)}`))
    }
    await page.getByRole('button', { name: 'Reset' }).click()
    await textOf(page, CAPTION, /not run yet/)
    expect(complaints).toEqual([])
  })

  test('two methods side by side from the same seed, one of which finds the number of clusters', async () => {
    const { page, complaints } = await site.visit(
      `${PAGE}?run=0&device=cpu&n=500&k=8&seed=4&method=closures-sharp&beside=egm&pace=full`,
    )
    await page.getByRole('button', { name: 'Run' }).click()
    const left = await inNode(500, 4, { method: 'closures-sharp', k: 8, start: 'random' })
    const right = await inNode(500, 4, { method: 'egm', start: 50 })
    const status = await textOf(page, '#status', /after.*after/)
    expect(status).toContain(`closures-sharp: distortion ${showNumber(left.distortion)} after`)
    expect(await textOf(page, '#stage-b figcaption')).toContain(`${right.centers.rows} components`)
    const label = (await page.locator('#chart').getAttribute('aria-label')) ?? ''
    expect(label).toContain(`Last values: closures-sharp ${showNumber(left.distortion)}.`)
    // Mixtures make the data likely, not the distortion low.
    const likelihood = right.facts.iterations.at(-1)?.extra?.logLikelihood ?? Number.NaN
    expect(status).toContain(`egm: log-likelihood ${showNumber(likelihood)} after`)
    expect(await page.locator('#likelihood-chart').getAttribute('aria-label')).toContain(
      `egm ${showNumber(likelihood)}`,
    )
    expect(complaints).toEqual([])
  })
})

describe('the buttons and fields', () => {
  test('pause, go on, and another setting in the middle of a run', async () => {
    const { page, complaints } = await site.visit(`${PAGE}?run=0&device=cpu&n=2000&k=40&pace=slow`)
    await page.getByRole('button', { name: 'Run' }).click()
    await textOf(page, CAPTION, /round 1/)
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.waitForTimeout(1200)
    const paused = await textOf(page, CAPTION)
    await page.waitForTimeout(1200)
    expect(await textOf(page, CAPTION)).toBe(paused)
    await page.selectOption('#pace', 'full')
    await page.getByRole('button', { name: 'Run' }).click()
    await textOf(page, CAPTION, /round ([3-9]|\d\d)/)
    await page.selectOption('#shape', 'rings')
    await textOf(page, CAPTION, /not run yet/)
    expect(page.url()).toContain('shape=rings')
    await page.getByRole('button', { name: 'Run' }).click()
    await textOf(page, '#status', /after/)
    expect(complaints).toEqual([])
  })

  test('leaves of a partition tree', async () => {
    const { page } = await site.visit(`${PAGE}?run=0&device=cpu&n=800&shape=moons`)
    expect(await page.getByLabel('tree leaves').isDisabled()).toBe(true)
    await page.selectOption('#method', 'closures')
    const inkOf = () =>
      page
        .locator('#stage-a canvas')
        .nth(2)
        .evaluate((element) => {
          const canvas = element as HTMLCanvasElement
          const image = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height)
          return Array.from(image?.data ?? []).filter((byte, i) => i % 4 === 3 && byte > 0).length
        })
    await textOf(page, CAPTION, /not run yet/)
    const before = await inkOf()
    await page.getByLabel('tree leaves').check()
    await textOf(page, '#status', /\d+ leaves of a partition tree, at most 10 points each/)
    expect(await inkOf()).toBeGreaterThan(before + 1000)
  })

  test('drawing by mouse, then by keys; clearing', async () => {
    const { page, complaints } = await site.visit(`${PAGE}?run=0&device=cpu&shape=draw&k=2&pace=full`)
    const run = page.getByRole('button', { name: 'Run' })
    await textOf(page, '#stage-a .empty', /Draw points here/)
    expect(await run.isDisabled()).toBe(true)
    const room = page.locator('#stage-a .layers-of-stage')
    const { x, y, width } = (await room.boundingBox()) ?? { x: 0, y: 0, width: 0 }
    await page.mouse.move(x + 0.2 * width, y + 0.2 * width)
    await page.mouse.down()
    await page.mouse.move(x + 0.3 * width, y + 0.2 * width, { steps: 5 })
    await page.mouse.up()
    const drawn = async (): Promise<number> =>
      Number(((await room.getAttribute('aria-label')) ?? '').match(/^(\d+) points/)?.[1])
    await expect.poll(drawn).toBeGreaterThan(16)
    const byMouse = await drawn()
    await room.focus()
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown', ' ', ' ']) await page.keyboard.press(key)
    await expect.poll(drawn).toBe(byMouse + 16)
    await run.click()
    await textOf(page, '#status', /lloyd: distortion \S+ after/)
    await page.getByRole('button', { name: 'Clear' }).click()
    await textOf(page, '#stage-a .empty', /Draw points here/)
    expect(complaints).toEqual([])
  })

  test('numbers that cannot be are brought into range, more clusters than points are refused, and it goes on', async () => {
    const { page, complaints } = await site.visit(`${PAGE}?run=0&device=cpu&n=100&pace=full&k=frog&method=frog`)
    expect(await page.locator('#method').inputValue()).toBe('lloyd')
    await page.fill('#n', '9000000')
    await page.locator('#n').blur()
    await textOf(page, '#warning', /Number: whole numbers from 10 to 200,000; 200,000 is taken/)
    await page.fill('#n', '20')
    await page.fill('#k', '30')
    await page.locator('#k').blur()
    await textOf(page, '#warning', /^Only 20 points: choose k up to 20\.$/)
    await page.getByRole('button', { name: 'Run' }).click()
    expect(await textOf(page, CAPTION)).toContain('not run yet')
    await page.fill('#k', '3')
    await page.locator('#k').blur()
    expect(await page.locator('#warning').isHidden()).toBe(true)
    await page.getByRole('button', { name: 'Run' }).click()
    await textOf(page, '#status', /after/)
    expect(complaints).toEqual([])
  })

  test('keys alone', async () => {
    const { page } = await site.visit(`${PAGE}?run=0&device=cpu&n=200&k=3&pace=full`)
    await textOf(page, CAPTION, /not run yet/)
    await tabTo(page, '#method')
    await page.keyboard.press('s')
    await tabTo(page, '#run')
    await page.keyboard.press('Enter')
    await textOf(page, '#status', /^sharp: distortion/)
    await textOf(page, '#announcement', /^sharp: distortion/)
    expect(await namelessControls(page)).toEqual([])
  })
})

describe('what is shown', () => {
  test('it runs on arrival, and a frame with 1,000 cells takes less than 8 ms', async () => {
    const { page, complaints } = await site.visit(`${PAGE}?device=cpu&n=5000&k=1000`)
    const times: number[] = []
    while (!/after/.test((await page.locator('#status').textContent()) ?? '')) {
      const drawn = /drawn in ([\d.]+) ms/.exec((await page.locator(CAPTION).textContent()) ?? '')
      if (drawn) times.push(Number(drawn[1]))
      await page.waitForTimeout(50)
    }
    // Other work on the machine delays single frames.
    expect(Math.min(...times)).toBeLessThan(8)
    expect(complaints).toEqual([])
  })

  test('the start, then the two phases of each round', async () => {
    const { page } = await site.visit(`${PAGE}?run=0&device=cpu&n=300&k=5&seed=2&pace=full`)
    await textOf(page, CAPTION, /the start, not run yet/)
    const model = await inNode(300, 2, { method: 'lloyd', k: 5, start: 'random' })
    for (const { iteration, distortion } of model.facts.iterations.slice(0, 2)) {
      await page.getByRole('button', { name: 'Step' }).click()
      await textOf(page, CAPTION, new RegExp(`round ${iteration}, assign: `))
      await page.getByRole('button', { name: 'Step' }).click()
      await textOf(page, CAPTION, new RegExp(`round ${iteration}: distortion ${showNumber(distortion)}`))
    }
  })

  test('the start is where the method begins', async () => {
    const points = makePoints('blobs', 300, 2)
    const options: ClusterOptions = { k: 5, seed: 2, start: 'random', method: 'lloyd' }
    const device = await openDevice({ kind: 'cpu' })
    const context = { device, signal: new AbortController().signal, progress: () => {} }
    const { value } = await startTask({ vectors: points, method: 'lloyd', options }, context).next()
    const { labels } = await nearest(points, matrix(value ?? new Float32Array(), 5, 2), { device })
    const first = await clusterSteps(points, { ...options, device }).next()
    expect(first.done || Array.from(await first.value.labels())).toEqual(Array.from(labels))
    await device.close()
  })

  test.each([
    ['egm', ['k', 'start', 'cells', 'leaves']],
    ['lloyd', ['leaves', 'circles']],
    ['closures-sharp', ['circles']],
    ['hkm', ['start', 'leaves', 'circles']],
  ])('%s: controls that it ignores are disabled', async (method, ignored) => {
    const { page } = await site.visit(`${PAGE}?run=0&device=cpu&n=60&k=4&method=${method}`)
    await textOf(page, CAPTION, /not run yet/)
    const disabled = await page
      .locator('#controls :is(input, select):disabled')
      .evaluateAll((controls) => controls.map(({ id }) => id))
    expect(disabled).toEqual(ignored)
    await page.context().close()
  })
})

describe('devices', () => {
  test('a GPU that goes away while it works: the CPU takes over, and the result is the same', async () => {
    const { page, complaints } = await site.visit(`${PAGE}?run=0&device=webgpu&n=300&k=6&seed=3&pace=slow`)
    await textOf(page, '#device-name', /the browser/)
    await page.getByRole('button', { name: 'Run' }).click()
    await textOf(page, CAPTION, /round 2/)
    await page.locator('#device summary').click()
    await page.getByRole('button', { name: 'Take the GPU away' }).click()
    await textOf(page, '#warning', /The GPU went away while it worked. The run begins again on the CPU./)
    await textOf(page, '#device-name', /WebAssembly/)
    await page.selectOption('#pace', 'full')
    const model = await inNode(300, 3, { method: 'lloyd', k: 6, start: 'random' })
    const sentence = await textOf(page, '#status', /after/)
    expect(sentence).toContain(
      `distortion ${showNumber(model.distortion)} after ${model.facts.iterations.length} rounds`,
    )
    expect(await page.getByRole('button', { name: 'Take the GPU away' }).isDisabled()).toBe(true)
    expect(complaints).toEqual([])
  })

  test('a GPU process that crashes: the same', async () => {
    const { page, crashGpu } = await site.visitToCrash(`${PAGE}?run=0&device=webgpu&n=300&k=6&seed=3&pace=slow`)
    await textOf(page, '#device-name', /the browser/)
    await page.getByRole('button', { name: 'Run' }).click()
    await textOf(page, CAPTION, /round 2/)
    await crashGpu()
    await textOf(page, '#warning', /The GPU went away while it worked/)
    await page.selectOption('#pace', 'full')
    const model = await inNode(300, 3, { method: 'lloyd', k: 6, start: 'random' })
    const sentence = await textOf(page, '#status', /after/)
    expect(sentence).toContain(`distortion ${showNumber(model.distortion)} after`)
  })

  test('another device in the middle of a run', async () => {
    const { page, complaints } = await site.visit(`${PAGE}?run=0&device=webgpu&n=200&k=4&pace=slow`)
    await page.getByRole('button', { name: 'Run' }).click()
    await textOf(page, CAPTION, /round 1/)
    await page.selectOption('#device-choice', 'cpu')
    await textOf(page, '#device-name', /WebAssembly/)
    await textOf(page, CAPTION, /not run yet/)
    expect(page.url()).toContain('device=cpu')
    await page.selectOption('#pace', 'full')
    await page.getByRole('button', { name: 'Run' }).click()
    await textOf(page, '#status', /after/)
    expect(complaints).toEqual([])
  })

  test('no WebGPU: the page says so and works on the CPU', async () => {
    const { page } = await site.visitWithoutGpu(`${PAGE}?run=0&device=webgpu&n=200&k=4&pace=full`)
    await textOf(page, '#warning', /There is no WebGPU adapter in this browser, so the CPU does the work./)
    await page.getByRole('button', { name: 'Run' }).click()
    await textOf(page, '#status', /after/)
  })

  test('a host that sends no headers: threads by a service worker, one thread without', async () => {
    const path = `${site.plainUrl}${PAGE}?run=0&device=cpu&n=200&k=4&pace=full`
    const { page, complaints } = await site.visit(path)
    await textOf(page, '#device-name', /WebAssembly, [2-9]\d* threads/)
    expect(await page.evaluate(() => globalThis.crossOriginIsolated)).toBe(true)
    expect(complaints).toEqual([])
    const blocked = await site.visit(path, { serviceWorkers: 'block' })
    await textOf(blocked.page, '#device-name', /WebAssembly, 1 thread,/)
    await blocked.page.getByRole('button', { name: 'Run' }).click()
    await textOf(blocked.page, '#status', /after/)
  })
})

test.each([
  ['a desktop', { width: 1280, height: 900 }],
  ['a phone', { width: 390, height: 844 }],
])('nothing jumps or sticks out on %s', async (_name, viewport) => {
  const { page, complaints } = await site.visit(`${PAGE}?run=0&device=cpu&n=500&beside=agm&pace=full`, { viewport })
  await page.getByRole('button', { name: 'Run' }).click()
  await textOf(page, '#status', /after.*after/)
  expect(await layoutShift(page)).toBeLessThan(0.02)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(viewport.width)
  expect(complaints).toEqual([])
})

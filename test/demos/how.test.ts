/** The explanations in Chromium: what is highlighted is what the library used. */
import type { Page } from 'playwright'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shapePoints } from '../../demos/front/shapes.ts'
import { Closures } from '../../demos/how/candidates.ts'
import { slantedPoints } from '../../demos/how/grid-task.ts'
import { Moves } from '../../demos/how/moves.ts'
import { CLOSURE_SETTING, GRID_ROUNDS, GRID_SETTING, MOVE_SETTING } from '../../demos/how/settings.ts'
import { STEPS } from '../../demos/how/steps.ts'
import {
  cluster,
  type Device,
  distortion,
  type Matrix,
  matrix,
  openDevice,
  partitionTrees,
  trainQuantizer,
} from '../../src/index.ts'
import { layoutShift, namelessControls, tabTo, textOf } from './shown.ts'
import { openSite, type Site } from './site.ts'

let site: Site
let device: Device
beforeAll(async () => {
  site = await openSite()
  device = await openDevice({ kind: 'cpu' })
})
afterAll(async () => {
  await device.close()
  await site.close()
})

const at = (step: string): string => `how/index.html?device=cpu#${step}`
const ready = (page: Page): Promise<string> => textOf(page, '#readout', /\d/)
const fact = async (page: Page, name: string): Promise<string> =>
  (await page.locator('#stage').getAttribute(`data-${name}`)) ?? ''

/** Points at a place of the unit square. */
async function pointAt(page: Page, x: number, y: number): Promise<void> {
  const box = await page.locator('#stage').boundingBox()
  if (!box) throw new Error('The stage is not there.')
  await page.mouse.move(box.x + x * box.width, box.y + y * box.height)
}

describe('cluster closures', () => {
  const { n, k, trees, leafSize, seed } = CLOSURE_SETTING
  const points = shapePoints('galaxy', n, seed)

  async function inNode() {
    const model = await cluster(points, {
      method: 'closures',
      k,
      seed,
      trees,
      leafSize,
      neighborhoods: 'static',
      start: 'random',
      relocate: false,
      tolerance: 0,
      iterations: 200,
      device,
    })
    return { model, leaves: await partitionTrees(points, { trees, leafSize, seed, device }) }
  }

  test('the candidates of points are the clusters of their leaves, and all of them are what the library counted', async () => {
    const { model, leaves } = await inNode()
    const last = model.facts.iterations.at(-1)
    expect(last?.moved).toBe(0)
    const { page, complaints } = await site.visit(at('candidates'))
    await ready(page)
    expect(Number(await fact(page, 'counted'))).toBe(last?.candidates)
    expect(Number(await fact(page, 'measured'))).toBeCloseTo(last?.candidates ?? 0, 9)
    const seen = new Set<string>()
    for (const point of [7, 321, 1700, 3999]) {
      await pointAt(page, points.data[2 * point], points.data[2 * point + 1])
      await expect.poll(() => fact(page, 'selected')).not.toBe([...seen].at(-1))
      const selected = Number(await fact(page, 'selected'))
      seen.add(String(selected))
      const expected = new Set(
        leaves.flatMap(({ members, offsets }) => {
          const place = members.indexOf(selected)
          const leaf = offsets.findIndex((end, i) => i > 0 && end > place) - 1
          return Array.from(members.subarray(offsets[leaf], offsets[leaf + 1]), (member) => model.labels[member])
        }),
      )
      const shown = (await fact(page, 'candidates')).split(',').map(Number)
      expect(
        shown.toSorted((a, b) => a - b),
        `point ${selected}`,
      ).toEqual([...expected].sort((a, b) => a - b))
      expect(await textOf(page, '#readout')).toMatch(new RegExp(`^${expected.size} of ${k} centres? evaluated`))
    }
    expect(seen.size).toBe(4)
    expect(complaints).toEqual([])
  })

  test('points without another cluster in their leaves are those that keep their label', async () => {
    const { model, leaves } = await inNode()
    const border = new Closures(leaves, model.labels).border()
    const count = border.reduce((sum, one) => sum + one, 0)
    expect(count).toBeGreaterThan(0)
    expect(count).toBeLessThan(n)
    const { page } = await site.visit(at('border'))
    await ready(page)
    expect(await textOf(page, '#readout')).toContain(
      `${count.toLocaleString('en')} of ${n.toLocaleString('en')} points`,
    )
  })
})

describe('k-means#', () => {
  const { n, k, seed } = MOVE_SETTING
  const points = shapePoints('rings', n, seed)
  const common = { seed, relocate: false, tolerance: 0, iterations: 200 } as const
  const meansOf = (labels: Uint32Array): Matrix => matrix(new Moves(points, labels, k).centers, k, 2)

  test('the gain of a move is the difference that the library measures', async () => {
    const { labels } = await cluster(points, { ...common, method: 'lloyd', k, start: 'random', device })
    const { page } = await site.visit(at('gain'))
    await ready(page)
    const selected = Number(await fact(page, 'selected'))
    expect(Number(await fact(page, 'label'))).toBe(labels[selected])
    const moved = labels.slice()
    moved[selected] = Number(await fact(page, 'best'))
    const fall = n * (distortion(points, meansOf(labels), labels) - distortion(points, meansOf(moved), moved))
    expect(fall).toBeGreaterThan(0)
    expect(Number(await fact(page, 'gain')) / fall).toBeCloseTo(1, 4)
  })

  test('moving until nothing gains ends where k-means# of the library ends, and back is back', async () => {
    const lloyd = await cluster(points, { ...common, method: 'lloyd', k, start: 'random', device })
    const { page, complaints } = await site.visit(at('moves'))
    await ready(page)
    const before = Number(await fact(page, 'objective'))
    expect(before / n / lloyd.distortion).toBeCloseTo(1, 5)
    await page.getByRole('button', { name: 'Move the best point' }).click()
    await textOf(page, '#readout', /^1 moves/)
    await page.getByRole('button', { name: 'Move until nothing gains' }).click()
    await textOf(page, '#readout', /No move gains any more/)
    const labels = Uint32Array.from((await fact(page, 'labels')).split(','), Number)
    const again = await cluster(points, { ...common, method: 'sharp', k, start: meansOf(labels), batch: 1, device })
    expect(again.labels).toEqual(labels)
    expect(Number(await fact(page, 'objective')) / n / again.distortion).toBeCloseTo(1, 5)
    expect(again.distortion).toBeLessThan(lloyd.distortion)
    await page.getByRole('button', { name: "Back to Lloyd's result" }).click()
    expect(Number(await fact(page, 'objective'))).toBe(before)
    expect(complaints).toEqual([])
  })
})

test('Cartesian k-means: grid point and error are those of the quantizer after as many rounds', async () => {
  const { m, codewords, seed } = GRID_SETTING
  const points = slantedPoints()
  const { page, complaints } = await site.visit(at('rotation'))
  await ready(page)
  const errors: number[] = []
  for (const index of [1, GRID_ROUNDS.length - 1]) {
    await page.locator('#round').fill(String(index))
    await textOf(page, '#readout', new RegExp(`round ${GRID_ROUNDS[index]}:`))
    const options = { type: 'ck', m, codewords, seed, tolerance: 0, device } as const
    const quantizer = await trainQuantizer(points, { ...options, iterations: GRID_ROUNDS[index] })
    const { data } = await quantizer.decode(await quantizer.encode(points, { device }), { device })
    const error = Array.from(points.data).reduce((sum, value, i) => sum + (value - data[i]) ** 2, 0) / points.rows
    expect(Number(await fact(page, 'error')) / error).toBeCloseTo(1, 6)
    const selected = Number(await fact(page, 'selected'))
    const shown = (await fact(page, 'decoded')).split(',').map(Number)
    expect(shown).toEqual([data[2 * selected], data[2 * selected + 1]])
    errors.push(error)
  }
  expect(errors[1]).toBeLessThan(errors[0] / 4)
  expect(complaints).toEqual([])
})

test('every step has an address, and Next and Back go through all of them', async () => {
  const { page, complaints } = await site.visit(at(''))
  for (const { id, title } of STEPS) {
    await textOf(page, '#step-title', new RegExp(`^${title.replace(/[?.]/g, '\\$&')}$`))
    await ready(page)
    if (id !== STEPS[0].id) expect(new URL(page.url()).hash).toBe(`#${id}`)
    expect(await page.locator('#topics a[aria-current]').getAttribute('href')).toBe(`#${id}`)
    if (id !== STEPS.at(-1)?.id) await page.locator('#next').click()
  }
  expect(await page.locator('#next').isHidden()).toBe(true)
  await page.locator('#previous').click()
  await textOf(page, '#step-title', new RegExp(STEPS.at(-2)?.title ?? ''))
  expect(complaints).toEqual([])
})

test('keys alone', async () => {
  const { page } = await site.visit(at('leaves'))
  await ready(page)
  const before = await fact(page, 'selected')
  await tabTo(page, '#stage')
  await page.keyboard.press('ArrowRight')
  await expect.poll(() => fact(page, 'selected')).not.toBe(before)
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowDown')
  expect(await textOf(page, '#readout')).toMatch(/tree 1: \d+, tree 2: \d+, tree 3: \d+/)
  expect(await namelessControls(page)).toEqual([])
})

test('on a phone: a tap chooses, and the stage is fully in view beside its controls', async () => {
  const viewport = { width: 390, height: 844 }
  const { page, complaints } = await site.visit(at('candidates'), { viewport, hasTouch: true })
  await ready(page)
  for (const { id } of STEPS) {
    await page.evaluate((hash) => {
      location.hash = hash
    }, id)
    await ready(page)
    await page.locator('#explorer').evaluate((explorer) => explorer.scrollIntoView({ block: 'start' }))
    for (const selector of ['#stage', '#readout', '#next', '#previous', '#move-one', '#round']) {
      const box = await page.locator(selector).boundingBox()
      if (box)
        expect([selector, id, box.y >= -1 && box.y + box.height <= viewport.height]).toEqual([selector, id, true])
    }
  }
  expect(await page.locator('#stage').boundingBox()).not.toBeNull()
  const before = await fact(page, 'selected')
  const box = await page.locator('#stage').boundingBox()
  await page.touchscreen.tap((box?.x ?? 0) + 0.62 * (box?.width ?? 0), (box?.y ?? 0) + 0.3 * (box?.height ?? 0))
  await expect.poll(() => fact(page, 'selected')).not.toBe(before)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(viewport.width)
  expect(await layoutShift(page)).toBeLessThan(0.3)
  expect(complaints).toEqual([])
})

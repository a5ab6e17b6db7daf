/** The colours page in a real Chromium: what it shows is what the library gives in Node. */
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hexOf, paletteText, psnr } from '../../demos/colours/palette.ts'
import { indexMap, opaquePixels, type Picture } from '../../demos/colours/picture.ts'
import { indexedPng } from '../../demos/colours/png.ts'
import { showNumber } from '../../demos/shell/dom.ts'
import { cluster, createRandom } from '../../src/index.ts'
import { layoutShift, namelessControls } from './shown.ts'
import { openSite, type Site } from './site.ts'
import { trueColourPng } from './true-colour-png.ts'

let site: Site
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())

/** Clouds of colours, and a corner that is transparent. */
function testPicture(width: number, height: number): Picture {
  const random = createRandom(11)
  const middles = Array.from({ length: 9 }, () => [
    random.below(220) + 18,
    random.below(220) + 18,
    random.below(220) + 18,
  ])
  const data = new Uint8ClampedArray(4 * width * height)
  for (let i = 0; i < width * height; i++) {
    const middle = middles[random.below(9)]
    for (let c = 0; c < 3; c++) data[4 * i + c] = middle[c] + 6 * random.normal()
    data[4 * i + 3] = i % width < 5 && i < 5 * width ? 0 : 255
  }
  return { width, height, data }
}

async function load(page: Page, name: string, buffer: Buffer): Promise<void> {
  await page.setInputFiles('#file', { name, mimeType: 'image/png', buffer })
  await page.waitForFunction((name) => document.getElementById('about')?.textContent?.startsWith(name), name)
}

async function drop(page: Page, name: string, buffer: Buffer): Promise<void> {
  await page.evaluate(
    ({ name, bytes }) => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File([Uint8Array.from(bytes)], name, { type: 'image/png' }))
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
    },
    { name, bytes: [...buffer] },
  )
  await page.waitForFunction((name) => document.getElementById('about')?.textContent?.startsWith(name), name)
}

const done = (page: Page): Promise<unknown> =>
  page.waitForFunction(() => document.getElementById('status')?.textContent?.startsWith('Done'))
const shown = async (page: Page, id: string): Promise<string> => (await page.locator(`#${id}`).textContent()) ?? ''

test('a picture has the palette, the error and the file that the library gives in Node', async () => {
  const { page, complaints } = await site.visit('colours/index.html?device=cpu&k=12&seed=7&method=lloyd', {
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  await done(page)
  expect(await namelessControls(page)).toEqual([])
  expect(await layoutShift(page)).toBeLessThan(0.01)
  const picture = testPicture(60, 40)
  await load(page, 'clouds.png', trueColourPng(picture))
  await done(page)

  const { vectors, places, distinct } = opaquePixels(picture)
  const model = await cluster(vectors, { k: 12, seed: 7, method: 'lloyd', device: 'cpu' })
  const palette = Uint8Array.from(model.centers.data, Math.round)
  let squares = 0
  for (let i = 0; i < 3 * vectors.rows; i++) {
    squares += (vectors.data[i] - palette[3 * model.labels[Math.floor(i / 3)] + (i % 3)]) ** 2
  }
  const mse = squares / (3 * vectors.rows)
  expect(await shown(page, 'about')).toBe(
    `clouds.png: 60 × 40 pixels, ${showNumber(distinct)} different colours. 25 transparent pixels are left out.`,
  )
  expect(await shown(page, 'mse')).toBe(showNumber(mse))
  expect(await shown(page, 'psnr')).toBe(`${psnr(mse).toFixed(2)} dB`)
  expect(await shown(page, 'rounds')).toBe(String(model.facts.iterations.length))
  expect(await shown(page, 'round-time')).toMatch(/^[\d.,]+ ms$/)

  const swatches = page.locator('#palette button')
  const hexes = await swatches.evaluateAll((all) => all.map((one) => (one as HTMLButtonElement).value))
  expect(hexes.join('\n')).toBe(paletteText(palette, 'hex'))
  const titles = await swatches.evaluateAll((all) => all.map((one) => (one as HTMLButtonElement).title))
  const share = ((100 * model.sizes[0]) / vectors.rows).toLocaleString('en', { maximumSignificantDigits: 3 })
  expect(titles).toContain(`${hexOf(palette, 0)}, ${share} % of the pixels`)

  // The canvas holds the picture in these colours, and nothing where it is transparent.
  const painted = await page.evaluate(() => {
    const canvas = document.getElementById('after') as HTMLCanvasElement
    return [...(canvas.getContext('2d') as CanvasRenderingContext2D).getImageData(0, 0, 60, 40).data]
  })
  expect(painted.slice(0, 4)).toEqual([0, 0, 0, 0])
  const row = places?.indexOf(30 * 60 + 17) as number
  const at = 3 * model.labels[row]
  expect(painted.slice(4 * (30 * 60 + 17)).slice(0, 4)).toEqual([...palette.subarray(at, at + 3), 255])

  const [saved] = await Promise.all([page.waitForEvent('download'), page.click('#save')])
  expect(saved.suggestedFilename()).toBe('clouds-12.png')
  const png = indexedPng(indexMap(model.labels, places, 60 * 40, 12), picture, palette)
  expect(Buffer.compare(await readFile(await saved.path()), png)).toBe(0)
  expect(await shown(page, 'png-size')).toBe(`${showNumber(png.length / 1000)} kB`)

  const clipboard = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText())
  await page.getByRole('button', { name: 'Copy JSON' }).click()
  await page.getByText('Copied the palette (JSON).', { exact: true }).first().waitFor()
  expect(JSON.parse(await clipboard())).toEqual(hexes)
  // One stop of the Tab key for all colours; arrows go on, Enter copies.
  await swatches.first().focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  await page.getByText(`Copied ${hexes[1]}.`, { exact: true }).first().waitFor()
  expect(await clipboard()).toBe(hexes[1])
  expect(await swatches.evaluateAll((all) => all.filter((one) => (one as HTMLElement).tabIndex === 0).length)).toBe(1)
  expect(complaints).toEqual([])
})

test('broken and too many colours: a sentence, and the page goes on', async () => {
  const { page, complaints } = await site.visit('colours/index.html?device=cpu&k=4')
  await done(page)
  const png = trueColourPng(testPicture(30, 20))
  await page.setInputFiles('#file', { name: 'cut.png', mimeType: 'image/png', buffer: png.subarray(0, 60) })
  const warning = page.locator('#warning')
  await warning.waitFor()
  expect(await warning.textContent()).toMatch(/^"cut.png" cannot be opened: .* Save it as PNG or JPEG\.$/)
  expect(await page.locator('#palette button').count()).toBe(4)

  // Four colours cannot become 200.
  const flat = {
    width: 20,
    height: 10,
    data: new Uint8ClampedArray(800).map((_, i) => (i % 4 === 3 ? 255 : 60 * (i & 16 ? 1 : 3) + (i % 3))),
  }
  const { distinct } = opaquePixels(flat)
  expect(distinct).toBeLessThan(20)
  await page.fill('#k', '200')
  await drop(page, 'flat.png', trueColourPng(flat))
  await done(page)
  expect(await shown(page, 'status')).toMatch(new RegExp(`^Done: ${distinct} colours \\(the picture has no more\\)`))
  expect(await shown(page, 'psnr')).toBe('nothing lost')
  expect(await warning.isVisible()).toBe(false)
  expect(complaints).toEqual([])
})

test('a broken picture leaves the run under way alone', async () => {
  const { page, complaints } = await site.visit('colours/index.html?device=cpu&k=4')
  await done(page)
  await page.selectOption('#method', 'lloyd')
  await page.fill('#k', '60')
  await page.waitForFunction(() => /^(Choosing|Round)/.test(document.getElementById('status')?.textContent ?? ''))
  await page.setInputFiles('#file', { name: 'cut.png', mimeType: 'image/png', buffer: Buffer.from('no picture') })
  await page.locator('#warning').waitFor()
  await page.waitForFunction(() => !(document.getElementById('run') as HTMLButtonElement).disabled)
  expect(await page.locator('#palette button').count()).toBe(60)
  expect(await page.locator('#save').isEnabled()).toBe(true)
  expect(await page.locator('#stop').isDisabled()).toBe(true)
  expect(complaints).toEqual([])
})

test('focus stays with the buttons when one of them is of no use any more', async () => {
  const { page } = await site.visit('colours/index.html?device=cpu&k=4')
  await done(page)
  await page.evaluate(() => {
    const run = document.getElementById('run') as HTMLElement
    document.addEventListener('focusin', ({ target }) => {
      run.dataset.path = `${run.dataset.path ?? ''} ${(target as HTMLElement).id}`
    })
  })
  await page.locator('#run').focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => page.locator('#run').getAttribute('data-path'), { timeout: 20_000 }).toBe(' run stop run')
})

test('one pixel is one colour', async () => {
  const { page } = await site.visit('colours/index.html?device=cpu&k=4')
  await done(page)
  await load(page, 'dot.png', trueColourPng({ width: 1, height: 1, data: Uint8ClampedArray.of(9, 9, 9, 255) }))
  await page.waitForFunction(() => /^Done: 1 colour \(/.test(document.getElementById('status')?.textContent ?? ''))
  expect((await shown(page, 'about')).trim()).toBe('dot.png: 1 × 1 pixels, 1 different colour.')
})

test('a large picture is scaled down and says so; stopping keeps what was reached; the page answers meanwhile', async () => {
  const { page, complaints } = await site.visit('colours/index.html?device=cpu&k=8&oklab=1')
  await done(page)
  await page.fill('#k', '40')
  await page.selectOption('#method', 'lloyd')
  const ticks = page.evaluate(() => {
    ;(globalThis as { ticks?: number }).ticks = 0
    setInterval(() => (globalThis as unknown as { ticks: number }).ticks++, 20)
  })
  await load(page, 'large.png', trueColourPng(testPicture(1000, 600)))
  await ticks
  expect(await shown(page, 'about')).toMatch(/^large\.png: 912 × 547 pixels, scaled down from 1000 × 600,/)
  await page.waitForFunction(() => /^Round [1-9]/.test(document.getElementById('status')?.textContent ?? ''))
  const before = await page.evaluate(() => (globalThis as unknown as { ticks: number }).ticks)
  await page.waitForTimeout(400)
  expect((await page.evaluate(() => (globalThis as unknown as { ticks: number }).ticks)) - before).toBeGreaterThan(3)
  await page.click('#stop')
  await done(page)
  expect(await shown(page, 'status')).toMatch(/^Done: 40 colours by lloyd after \d+ rounds?, as you stopped it\.$/)
  expect(page.url()).toMatch(/k=40/)
  expect(page.url()).toMatch(/method=lloyd/)
  expect(complaints).toEqual([])
})

test('a GPU that goes away leaves a sentence and a finished picture; a phone has room for all of it', async () => {
  const { page, complaints } = await site.visit('colours/index.html?device=webgpu&k=16', {
    viewport: { width: 360, height: 740 },
    colorScheme: 'dark',
  })
  await page.waitForFunction(() => /^Round/.test(document.getElementById('status')?.textContent ?? ''))
  expect(await shown(page, 'device-name')).not.toMatch(/WebAssembly/)
  await page.evaluate(() => document.getElementById('device-lose')?.click())
  await page.locator('#warning').waitFor()
  expect(await page.locator('#warning').textContent()).toMatch(/GPU went away/)
  await done(page)
  expect(await shown(page, 'device-name')).toMatch(/WebAssembly/)
  expect(await page.locator('#palette button').count()).toBe(16)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
  expect(complaints).toEqual([])
})

/** Photo search in Chromium: words and ranking are those of the library in Node, for pictures and parts of them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { photoOptions, TOP } from '../../demos/photos/options.ts'
import { REGIONS, type Region, rowsIn } from '../../demos/photos/region.ts'
import { unpackPhotos } from '../../demos/photos/tasks.ts'
import { buildIndex, cluster, matrix } from '../../src/index.ts'
import { layoutShift, namelessControls, textOf } from './shown.ts'
import { openSite, type Site } from './site.ts'

const FILE = join(import.meta.dirname, '../../demos/public/photos.bin')
let site: Site
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())

test('a picture, a part of it, another picture by the keyboard: rankings as in Node', async () => {
  const VIEW = 40
  const { page, complaints } = await site.visit(`photos/index.html?device=cpu&k=300&view=${VIEW}`)
  const status = await textOf(page, '#status', /of the first 4 show the same scene/, 60_000)
  const { vectors, views, places } = await unpackPhotos(Uint8Array.from(gunzipSync(readFileSync(FILE))))
  const model = await cluster(vectors, { ...photoOptions(300, 1), device: 'cpu' })
  const index = await buildIndex(model, vectors, views, { device: 'cpu' })
  const rank = async (view: number, region: Region): Promise<number[]> => {
    const rows = rowsIn(views, places, view, region)
    const wanted = Float32Array.from({ length: rows.length * vectors.cols }, (_, i) => {
      return vectors.data[rows[Math.floor(i / vectors.cols)] * vectors.cols + (i % vectors.cols)]
    })
    const { images } = await index.search(matrix(wanted, rows.length, vectors.cols), { top: TOP, device: 'cpu' })
    return Array.from(images)
  }
  const shown = (): Promise<number[]> =>
    page.locator('#ranking button').evaluateAll((all) => all.map((one) => Number((one as HTMLButtonElement).value)))
  const whole = await rank(VIEW, REGIONS['the whole picture'])
  expect(await shown()).toEqual(whole)
  expect(whole[0]).toBe(VIEW)
  const same = whole.slice(0, 4).filter((view) => view >> 2 === VIEW >> 2).length
  expect(status.startsWith(`${same} of the first 4`)).toBe(true)
  expect(same).toBeGreaterThan(1)
  expect(await page.locator('#words button canvas').count()).toBeGreaterThan(3)

  await page.selectOption('#region', 'left half')
  const half = REGIONS['left half']
  await textOf(page, '#status', new RegExp(`by ${rowsIn(views, places, VIEW, half).length} descriptors`))
  expect(await shown()).toEqual(await rank(VIEW, half))

  const box = (await page.locator('#stage').boundingBox()) as { x: number; y: number; width: number }
  await page.mouse.move(box.x + box.width / 4, box.y + box.width / 4)
  await page.mouse.down()
  await page.mouse.move(box.x + (3 * box.width) / 4, box.y + (3 * box.width) / 4)
  await page.mouse.up()
  const middle = rowsIn(views, places, VIEW, REGIONS['its middle']).length
  await textOf(page, '#status', new RegExp(`by ${middle} descriptors`))
  expect(await page.inputValue('#region')).toBe('dragged')

  await page.locator('#ranking button').first().focus()
  await page.keyboard.press('ArrowRight')
  const [, next] = await shown()
  await page.keyboard.press('Enter')
  await expect.poll(() => page.url()).toContain(`view=${next}`)
  await expect.poll(shown).toEqual(await rank(next, REGIONS['the whole picture']))
  expect(await namelessControls(page)).toEqual([])
  expect(await layoutShift(page)).toBeLessThan(0.05)
  expect(complaints).toEqual([])
})

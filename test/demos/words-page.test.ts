/** The words and digits page in a real Chromium: what it shows and saves is what the library gives in Node. */
import { truncate, writeFile } from 'node:fs/promises'
import type { Page } from 'playwright'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { unpackDigits } from '../../demos/data/digits.ts'
import { packDigits } from '../../demos/data/digits-file.ts'
import { showNumber } from '../../demos/shell/dom.ts'
import { codeOptions, findNeighbors, learnCodes } from '../../demos/words/codes.ts'
import { bySize, membersOf } from '../../demos/words/members.ts'
import { unitRows } from '../../demos/words/unit-rows.ts'
import {
  blobs,
  cluster,
  normalizedMutualInformation,
  openDevice,
  purity,
  readIntegers,
  readVectors,
  trainQuantizer,
  vectorBytes,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { layoutShift, namelessControls } from './shown.ts'
import { openSite, type Site } from './site.ts'

const path = temporaryFolder()
let site: Site
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())

const { vectors } = blobs({ rows: 700, cols: 24, clusters: 14, spread: 0.5, seed: 6 })

async function load(page: Page, ...names: string[]): Promise<void> {
  await page.setInputFiles('#file', names.map(path))
  await page.waitForFunction((name) => document.getElementById('about')?.textContent?.startsWith(name), names[0])
}

const done = (page: Page): Promise<unknown> =>
  page.waitForFunction(() => document.getElementById('status')?.textContent?.startsWith('Done'))
const shown = async (page: Page, id: string): Promise<string> => (await page.locator(`#${id}`).textContent()) ?? ''
const values = (page: Page, id: string): Promise<number[]> =>
  page.locator(`#${id} button`).evaluateAll((all) => all.map((one) => Number((one as HTMLButtonElement).value)))

/** Presses a button of the page that saves a file, and gives the file the name it was offered under. */
async function save(page: Page, what: string): Promise<string> {
  const [saved] = await Promise.all([page.waitForEvent('download'), page.click(`#save-${what}`)])
  const file = path(saved.suggestedFilename())
  await saved.saveAs(file)
  return file
}

test('a file of vectors: clusters, codes and neighbours as in Node, and saved files that the library reads back', async () => {
  await writeFile(path('blobs.npy'), await vectorBytes('blobs.npy', vectors))
  const { page, complaints } = await site.visit('words/index.html?data=digits&device=cpu&k=9&seed=5&method=sharp')
  await done(page)
  await load(page, 'blobs.npy')
  await done(page)
  const model = await cluster(vectors, { k: 9, seed: 5, method: 'sharp', iterations: 50, device: 'cpu' })
  expect(await shown(page, 'distortion')).toBe(showNumber(model.distortion))
  expect(await shown(page, 'rounds')).toBe(String(model.facts.iterations.length))
  expect(await values(page, 'clusters')).toEqual(bySize(model.sizes))
  const centers = await readVectors(await save(page, 'centers'))
  expect(centers).toEqual(model.centers)
  const labels = await readIntegers(await save(page, 'labels'))
  expect(Array.from(labels.data)).toEqual(Array.from(model.labels))

  // Members of a cluster that is not the first, by the keyboard.
  await page.locator('#clusters button').first().focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  const second = bySize(model.sizes)[1]
  const members = membersOf(vectors, model.centers, model.labels, second)
  expect(await values(page, 'members')).toEqual(Array.from(members.rows.subarray(0, 60)))
  expect(await page.locator('#members button').first().getAttribute('title')).toBe(
    `row ${members.rows[0]}, distance ${showNumber(members.distances[0])}`,
  )

  const device = await openDevice({ kind: 'cpu' })
  try {
    const choice = { type: 'ck', m: 4, seed: 5 } as const
    await page.selectOption('#code-type', 'ck')
    await page.selectOption('#code-bytes', '4')
    await page.fill('#row', '123')
    await page.click('#learn')
    await page.waitForSelector('#by-codes button')
    const quantizer = await trainQuantizer(vectors, { ...codeOptions(choice, vectors), device })
    const codes = await quantizer.encode(vectors, { device })
    expect(await readVectors(await save(page, 'codes'))).toEqual(codes)
    const context = { device, signal: new AbortController().signal, progress() {} }
    const { recall } = await learnCodes(vectors, choice, context)
    expect(await shown(page, 'recall-first')).toBe(`${(100 * recall.first).toFixed(1)} %`)
    expect(await shown(page, 'recall-ten')).toBe(`${(100 * recall.ten).toFixed(1)} %`)
    expect(await shown(page, 'vector-bytes')).toBe('67.2 kB')
    expect(await shown(page, 'code-size')).toBe('2.8 kB, 1/24')
    const { exact, byCodes } = await findNeighbors(vectors, quantizer, codes, Uint32Array.of(123), device)
    expect(await values(page, 'exact')).toEqual(Array.from(exact.rows))
    expect(await values(page, 'by-codes')).toEqual(Array.from(byCodes.rows))
    const missed = byCodes.rows.filter((row) => !exact.rows.includes(row)).length
    expect(await page.locator('#by-codes .missed').count()).toBe(missed)
  } finally {
    await device.close()
  }

  await page.check('#unit')
  await page.waitForFunction(() => document.getElementById('about')?.textContent?.includes('at length one'))
  await done(page)
  const turned = await cluster(unitRows(vectors), { k: 9, seed: 5, method: 'sharp', iterations: 50, device: 'cpu' })
  expect(await shown(page, 'distortion')).toBe(showNumber(turned.distortion))
  // Codes of other vectors are of no use.
  expect(await page.locator('#save-codes').isDisabled()).toBe(true)
  expect(complaints).toEqual([])
})

test('the digits: figures as in Node, members as pictures, cancel keeps what was reached', async () => {
  const { page, complaints } = await site.visit('words/index.html?data=digits&device=cpu&k=20&rounds=6', {
    viewport: { width: 360, height: 740 },
  })
  await done(page)
  expect(await layoutShift(page)).toBeLessThan(0.01)
  const { images, classes } = unpackDigits(packDigits())
  const model = await cluster(images, { k: 20, seed: 1, iterations: 6, device: 'cpu' })
  expect(await shown(page, 'status')).toMatch(/^Done: 20 clusters by lloyd after 6 rounds, as the most rounds/)
  expect(await shown(page, 'distortion')).toBe(showNumber(model.distortion))
  expect(await shown(page, 'purity')).toBe(purity(model.labels, classes).toFixed(3))
  expect(await shown(page, 'nmi')).toBe(normalizedMutualInformation(model.labels, classes).toFixed(3))
  expect(await page.locator('#members canvas.thumb').count()).toBe(60)
  await page.click('#more')
  expect(await page.locator('#members canvas.thumb').count()).toBe(model.sizes.reduce((a, b) => Math.max(a, b)))
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
  expect(await namelessControls(page)).toEqual([])

  // A press on the map chooses the cluster that is drawn there.
  const box = (await page.locator('#map').boundingBox()) as { width: number; height: number }
  const before = await shown(page, 'members-title')
  for (let x = 0.1; x < 1 && (await shown(page, 'members-title')) === before; x += 0.05) {
    await page.locator('#map').click({ position: { x: box.width * x, y: box.height / 2 } })
  }
  expect(await shown(page, 'members-title')).not.toBe(before)

  // Rounds that take long, so that it cannot be over before.
  await page.selectOption('#method', 'lloyd')
  await page.fill('#k', '2000')
  await page.fill('#most', '1000')
  await page.click('#run')
  await page.waitForFunction(() => /^Round [1-9]/.test(document.getElementById('status')?.textContent ?? ''))
  await page.click('#cancel')
  await done(page)
  expect(await shown(page, 'status')).toMatch(/^Done: 2,000 clusters by lloyd after \d+ rounds?, as you stopped it\.$/)
  const labels = await readIntegers(await save(page, 'labels'))
  expect([labels.rows, Math.max(...labels.data) < 2000]).toEqual([5000, true])
  expect(complaints).toEqual([])
})

test('without WebGPU the page says so and works on the CPU', async () => {
  const { page, complaints } = await site.visitWithoutGpu('words/index.html?data=digits&device=webgpu&k=5&rounds=2')
  await done(page)
  expect(await page.locator('#warning').textContent()).toMatch(/no WebGPU adapter in this browser, so the CPU does/)
  expect(await page.locator('#clusters button').count()).toBe(5)
  expect(complaints).toEqual([])
})

describe('files that cannot be used get a sentence, and the page goes on', () => {
  test('cut, unknown, too large, too few rows, names that do not fit', async () => {
    const { page, complaints } = await site.visit('words/index.html?data=digits&device=cpu&k=5&rounds=3')
    await done(page)
    const bytes = await vectorBytes('vectors.npy', vectors)
    await writeFile(path('cut.npy'), bytes.subarray(0, 5000))
    await writeFile(path('notes.docx'), 'no vectors')
    await writeFile(path('large.fvecs'), '')
    await truncate(path('large.fvecs'), 200 * 2 ** 20)
    await writeFile(path('one.csv'), '1,2,3\n')
    await writeFile(path('letters.csv'), '1,2\n3,x\n')
    const sentences: [string, RegExp][] = [
      ['cut.npy', /^"cut\.npy" should end at byte \d+ .* It was cut: copy it again\.$/],
      ['notes.docx', /^"notes\.docx" is no file of vectors .* \.npy, \.fvecs, \.bvecs, \.csv, \.tsv\.$/],
      [
        'large.fvecs',
        /^"large\.fvecs" has 200 MB: this page takes 128 MB .* command line: centroidal cluster "large\.fvecs"\.$/,
      ],
      ['one.csv', /^"one\.csv" has 1 row: clustering needs at least 2\.$/],
      ['letters.csv', /^"letters\.csv".*line 2/],
    ]
    const warning = page.locator('#warning')
    for (const [name, sentence] of sentences) {
      await page.setInputFiles('#file', path(name))
      await page.waitForFunction((name) => document.getElementById('warning')?.textContent?.includes(name), name)
      expect(await warning.textContent()).toMatch(sentence)
      expect(await shown(page, 'status')).toBe('Kept: Handwritten digits.')
    }
    await page.click('#run')
    await done(page)
    expect(await warning.isVisible()).toBe(false)
    expect(await page.locator('#clusters button').count()).toBe(5)

    // Without a number of clusters the file is shown and waits for one.
    await page.fill('#k', '')
    await writeFile(path('few.csv'), '1,2\n3,4\n5,7\n')
    await page.setInputFiles('#file', path('few.csv'))
    await page.waitForFunction(() => document.getElementById('about')?.textContent?.startsWith('few.csv'))
    await page.waitForFunction(() => document.getElementById('status')?.textContent === 'Nothing was clustered.')
    expect(await page.locator('#run').isEnabled()).toBe(true)

    // Names come with the vectors, one a line.
    await writeFile(path('words.csv'), Array.from({ length: 12 }, (_, i) => `${i % 3},${(i * i) % 7}\n`).join(''))
    await writeFile(path('words.txt'), Array.from({ length: 12 }, (_, i) => `word-${i}\n`).join(''))
    await page.fill('#k', '40')
    await load(page, 'words.csv', 'words.txt')
    await done(page)
    // Twelve rows cannot be forty clusters.
    expect(await shown(page, 'status')).toMatch(/^Done: 4 clusters/)
    expect(await page.locator('#members button').first().textContent()).toMatch(/^word-\d+ · [\d.]+$/)
    // Words that bring their numbers along.
    await writeFile(path('glove.txt'), Array.from({ length: 12 }, (_, i) => `name-${i} ${i % 3} ${i} 0.5\n`).join(''))
    await load(page, 'glove.txt')
    await done(page)
    expect(await shown(page, 'about')).toMatch(/^glove\.txt: 12 rows of 3 numbers\./)
    expect(await page.locator('#members button').first().textContent()).toMatch(/^name-\d+ · [\d.]+$/)
    // A cluster of thousands is a list that ends somewhere.
    await writeFile(path('long.csv'), Array.from({ length: 4500 }, (_, i) => `${i % 2},${i % 7}\n`).join(''))
    await page.fill('#k', '2')
    await load(page, 'long.csv')
    await done(page)
    expect(await shown(page, 'more')).toBe('Show the nearest 2,000')
    await page.click('#more')
    expect(await page.locator('#members button').count()).toBe(2000)
    expect(await page.locator('#more').isVisible()).toBe(false)
    await load(page, 'glove.txt')
    await done(page)
    await writeFile(path('few.txt'), 'one\ntwo\n')
    await page.setInputFiles('#file', path('few.txt'))
    await warning.waitFor()
    expect(await warning.textContent()).toBe('"few.txt" has 2 lines and the vectors 12 rows: give one name a line.')
    expect(complaints).toEqual([])
  })
})

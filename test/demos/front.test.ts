/** The front page, and what holds for every page. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PAGES } from '../../demos/shell/frame.ts'
import { openSite, type Site } from './site.ts'

let site: Site
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())

test('the front page leads to every demo there is', async () => {
  const { page, complaints } = await site.visit('')
  await expect(page.locator('h1').textContent()).resolves.toBe('Clustering in this page')
  const links = await page.locator('.pages a').evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href))
  expect(links).toEqual(PAGES.map(({ folder }) => `${site.url}${folder}/index.html`))
  expect(complaints).toEqual([])
})

test('the site has nothing but pages, what they load, the digits and the service worker', () => {
  const files = readdirSync(site.folder).filter((name) => !PAGES.some(({ folder }) => folder === name))
  expect(files.sort()).toEqual(['assets', 'digits.bin', 'index.html', 'isolation-worker.js'])
  const assets = readdirSync(join(site.folder, 'assets'))
  expect(assets.filter((name) => !/\.(js|css)$/.test(name))).toEqual([])
})

/** The package in pages of other people: through Vite, and as a plain module without any tool. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chromiumLaunchOptions } from '../../scripts/chromium.mjs'
import { documents, sectionsOf } from '../docs/markdown.ts'
import { installPackage, serve } from './installed-package.ts'

let folder = ''
let address = ''
let server: Server
let browser: Browser

beforeAll(async () => {
  folder = installPackage().folder
  ;({ address, server } = await serve(folder))
  browser = await chromium.launch(await chromiumLaunchOptions())
}, 120_000)

afterAll(async () => {
  await browser?.close()
  server?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** What a page has in an element once it is there, and no complaint on the way. */
async function shown(path: string, selector: string): Promise<string> {
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('requestfailed', (request) => complaints.push(request.url()))
  try {
    await page.goto(`${address}/${path}`)
    const text = await page.waitForFunction((at) => document.querySelector(at)?.textContent, selector, {
      timeout: 30_000,
    })
    expect(complaints).toEqual([])
    return String(await text.jsonValue())
  } catch (error) {
    throw complaints.length > 0 ? new Error(complaints.join('\n')) : error
  } finally {
    await page.close()
  }
}

const plainPages = documents()
  .flatMap(sectionsOf)
  .flatMap(({ name, blocks }) =>
    blocks.filter(({ language }) => language === 'html').map(({ code }) => ({ name, code })),
  )

test('there is a plain page in the documents', () => {
  expect(plainPages.length).toBeGreaterThan(0)
})

test.each(plainPages)('the plain page of $name clusters', async ({ code }) => {
  writeFileSync(join(folder, 'plain.html'), `<!doctype html><title>plain</title><body>${code}</body>`)
  expect(await shown('plain.html', '#sizes')).toBe('100, 100, 100')
})

test('an app that Vite builds clusters', async () => {
  const root = join(folder, 'app')
  mkdirSync(root)
  writeFileSync(
    join(root, 'index.html'),
    '<!doctype html><p id="sizes"></p><script type="module" src="./main.ts"></script>',
  )
  writeFileSync(
    join(root, 'main.ts'),
    `import { blobs, cluster } from 'centroidal'
     const { vectors } = blobs({ rows: 300, cols: 2, clusters: 3, separated: true })
     const model = await cluster(vectors, { k: 3 })
     document.querySelector('#sizes')!.textContent = model.sizes.join(', ')`,
  )
  await build({ root, base: './', configFile: false, logLevel: 'error', build: { target: 'es2022' } })
  expect(await shown('app/dist/', '#sizes')).toBe('100, 100, 100')
})

/** The code that pages show: with the vectors that they save it gives, in Node, what the page shows. */
import { spawnSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { showNumber } from '../../demos/shell/dom.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { textOf } from './shown.ts'
import { openSite, type Site } from './site.ts'

const ROOT = join(import.meta.dirname, '../..')
const path = temporaryFolder()
let site: Site
beforeAll(async () => {
  site = await openSite()
  await mkdir(path('node_modules'))
  symlinkSync(ROOT, path('node_modules/centroidal'))
})
afterAll(() => site.close())

test.each([
  ['playground', 'run=0&n=300&k=5&pace=full&beside=closures', '#run', '#status', /after.*after/],
  ['race', 'data=blobs&n=300&k=6&rounds=5&methods=lloyd,hkm', '#start', '#status', /is over/],
  ['words', 'data=digits&k=8&rounds=4&method=lloyd', '#run', '#status', /^Done/],
])('%s', async (name, query, start, status, done) => {
  const { page, complaints } = await site.visit(`${name}/index.html?device=cpu&${query}`)
  await textOf(page, '#device-name', /WebAssembly/)
  await expect.poll(() => page.locator(start).isEnabled(), { timeout: 60_000 }).toBe(true)
  await page.click(start)
  await textOf(page, status, done, 60_000)
  await page.click('#code-panel summary')
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save-vectors')])
  expect(download.suggestedFilename()).toBe('vectors.npy')
  await download.saveAs(path('vectors.npy'))
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', (await page.textContent('#code')) ?? ''],
    { cwd: path('.'), env: { ...process.env, CENTROIDAL_NO_GPU: '1' }, encoding: 'utf8' },
  )
  expect(stderr).toBe('')
  const text = (await page.locator('main').textContent()) ?? ''
  const lines = stdout.trim().split('\n')
  expect(lines.length).toBe(name === 'words' ? 1 : 2)
  for (const line of lines) expect(text).toContain(showNumber(Number(line.split(' ')[1])))
  expect(complaints).toEqual([])
  await page.context().close()
})

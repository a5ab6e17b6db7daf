/** What holds for every page of the site: link previews, weight, accessibility, the security policy. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Page } from 'playwright'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PAGES } from '../../demos/shell/frame.ts'
import { openSite, type Site } from './site.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core')
const paths = ['', ...PAGES.map(({ folder }) => `${folder}/`)].map((folder) => `${folder}index.html`)
let site: Site
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())

async function settled(page: Page): Promise<void> {
  const named = page.locator('#device-name, #device-line')
  await expect.poll(async () => (await named.first().textContent()) ?? '', { timeout: 30_000 }).toMatch(/WebAssembly/)
}

test.each(paths)('%s has a preview with an image for links to it', async (path) => {
  const html = readFileSync(join(site.folder, path), 'utf8')
  const property = (name: string): string =>
    html.match(new RegExp(`<meta property="og:${name}" content="([^"]+)">`))?.[1] ?? ''
  expect(property('title')).toContain('centroidal')
  expect(property('description').length).toBeGreaterThan(20)
  const image = readFileSync(join(site.folder, path, '..', property('image')))
  // Width and height stand in the first chunk of a PNG.
  expect([image.readUInt32BE(16), image.readUInt32BE(20)]).toEqual([
    Number(property('image:width')),
    Number(property('image:height')),
  ])
})

describe.each([
  ['light', 'light', { width: 1280, height: 900 }],
  ['dark, on a phone', 'dark', { width: 390, height: 844 }],
] as const)('accessibility, %s', (_name, colorScheme, viewport) => {
  test.each(paths)('%s has no serious findings, and loads less than 300 kB', async (path) => {
    const { page, complaints, weight } = await site.visit(`${path}?device=cpu`, {
      colorScheme,
      viewport,
      bypassCSP: true,
    })
    await settled(page)
    await page.waitForLoadState('networkidle')
    expect(await weight()).toBeLessThan(300_000)
    await page.addScriptTag({ path: AXE })
    const serious = await page.evaluate(async () => {
      interface Finding {
        readonly id: string
        readonly impact: string
        readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
      }
      const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: Finding[]; passes: Finding[] }> } }
      const { violations, passes } = await axe.run()
      // Rules that found something to look at: without any, nothing was checked.
      if (passes.length < 10) return ['axe checked nothing']
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(
          ({ id, nodes }) =>
            `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`,
        )
    })
    expect(serious).toEqual([])
    expect(complaints).toEqual([])
    await page.context().close()
  })
})

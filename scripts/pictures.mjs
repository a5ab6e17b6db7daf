/** Makes the pictures of the README from what `npm start` left behind: npm start && node scripts/pictures.mjs. */
import { mkdir } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright'
import { chromiumLaunchOptions } from './chromium.mjs'

const browser = await chromium.launch(await chromiumLaunchOptions())
try {
  const page = await browser.newPage({ viewport: { width: 1100, height: 900 } })
  await page.goto(pathToFileURL('run/digits/report.html').href)
  await mkdir('docs', { recursive: true })
  const heading = page.getByRole('heading', { name: 'Centres', exact: true })
  const top = (await heading.boundingBox())?.y ?? 0
  await page.screenshot({
    path: 'docs/digits.png',
    fullPage: true,
    clip: { x: 20, y: top - 16, width: 1060, height: 560 },
  })
} finally {
  await browser.close()
}

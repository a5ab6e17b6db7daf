/**
 * Makes the pictures of the README: npm start && node scripts/pictures.mjs. The one of the digits is taken from the
 * report that npm start leaves behind, those of the demos from the pages. Names as arguments make only those.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { chromium } from 'playwright'
import { build, preview, runnerImport } from 'vite'
import { chromiumLaunchOptions } from './chromium.mjs'

const COLOURS = 128

/** What is taken of each demo: its address, what is clicked, what is waited for, and how high the picture is. */
const DEMOS = {
  playground: {
    path: 'playground/index.html?device=cpu&n=4000&k=12&seed=8&method=closures-sharp&beside=egm&shape=blobs',
    prepare: async (page) => {
      await page.click('#run')
      await page.waitForFunction(() => /after.*after/.test(document.getElementById('status').textContent))
    },
    height: 980,
  },
  race: {
    path: 'race/index.html?device=cpu&data=sift&n=10000&k=200',
    prepare: async (page) => {
      await page.click('#start')
      await page.waitForFunction(() => /is over/.test(document.getElementById('status').textContent), undefined, {
        timeout: 180_000,
      })
    },
    height: 880,
  },
  colours: {
    path: 'colours/index.html?device=cpu&k=16',
    prepare: statusDone,
    height: 1135,
  },
  words: {
    path: 'words/index.html?device=cpu&k=40',
    prepare: statusDone,
    height: 1395,
  },
}

async function statusDone(page) {
  await page.waitForFunction(() => /^Done/.test(document.getElementById('status').textContent), undefined, {
    timeout: 120_000,
  })
}

const asked = process.argv.slice(2)
const wanted = (name) => asked.length === 0 || asked.includes(name)
await mkdir('docs', { recursive: true })
const browser = await chromium.launch(await chromiumLaunchOptions())
try {
  if (wanted('digits')) await takeDigits()
  const demos = Object.keys(DEMOS).filter(wanted)
  if (demos.length > 0) await takeDemos(demos)
} finally {
  await browser.close()
}

async function takeDigits() {
  const page = await browser.newPage({ viewport: { width: 1100, height: 900 } })
  await page.goto(pathToFileURL('run/digits/report.html').href)
  const heading = page.getByRole('heading', { name: 'Centres', exact: true })
  const top = (await heading.boundingBox())?.y ?? 0
  await page.screenshot({
    path: 'docs/digits.png',
    fullPage: true,
    clip: { x: 20, y: top - 16, width: 1060, height: 560 },
  })
}

/** A third of the size, and a use of the library: as many colours as nobody misses, written as the colours page does. */
async function withPalette(page, screenshot) {
  const { width, height, base64 } = await page.evaluate(async (png) => {
    const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob())
    const { width, height } = bitmap
    const context = new OffscreenCanvas(width, height).getContext('2d')
    context.drawImage(bitmap, 0, 0)
    const reader = new FileReader()
    reader.readAsDataURL(new Blob([context.getImageData(0, 0, width, height).data]))
    await new Promise((resolve) => reader.addEventListener('load', resolve))
    return { width, height, base64: reader.result.split(',')[1] }
  }, screenshot.toString('base64'))
  const [{ cluster, matrix }, { indexedPng }, { paletteOf }] = await Promise.all(
    ['src/index.ts', 'demos/colours/png.ts', 'demos/colours/palette.ts'].map(async (file) => {
      const { module } = await runnerImport(fileURLToPath(new URL(`../${file}`, import.meta.url)))
      return module
    }),
  )
  const pixels = new Uint8Array(Buffer.from(base64, 'base64')).filter((_, i) => i % 4 < 3)
  const model = await cluster(matrix(pixels, width * height, 3), { k: COLOURS, seed: 1, iterations: 12, device: 'cpu' })
  return indexedPng(Uint8Array.from(model.labels), { width, height }, paletteOf(model.centers))
}

async function takeDemos(names) {
  const root = fileURLToPath(new URL('../demos', import.meta.url))
  const configFile = `${root}/vite.config.ts`
  await build({ root, configFile, logLevel: 'warn' })
  const server = await preview({ root, configFile, preview: { port: 0 }, logLevel: 'warn' })
  try {
    for (const name of names) {
      const { path, prepare, height } = DEMOS[name]
      const page = await browser.newPage({ viewport: { width: 1200, height } })
      await page.goto(`${server.resolvedUrls?.local[0]}${path}`)
      await prepare(page)
      // Pointer and focus leave no trace.
      await page.evaluate(() => document.activeElement?.blur())
      await writeFile(`docs/${name}.png`, await withPalette(page, await page.screenshot()))
      await page.close()
    }
  } finally {
    await server.close()
  }
}

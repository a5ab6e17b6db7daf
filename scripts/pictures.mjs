/**
 * Makes the pictures of the README: npm run build && npm start && node scripts/pictures.mjs. The one of the digits is taken from the
 * report that npm start leaves behind, those of the demos from the pages, `previews` makes the pictures of link previews
 * and thumbnails, demos/public/previews, and `pages` the first screens in docs/pages. Names as arguments make only those.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { chromium } from 'playwright'
import { build, preview, runnerImport } from 'vite'
import { cluster, matrix } from '../dist/index.js'
import { chromiumLaunchOptions } from './chromium.mjs'

const COLOURS = 128

/** What is taken of each demo: its address, what is clicked, what is waited for, and how high the picture is. */
const DEMOS = {
  playground: {
    path: 'playground/index.html?device=cpu&n=4000&k=12&seed=8&method=closures-sharp&beside=egm&shape=blobs',
    prepare: async (page) => {
      await page.waitForFunction(() => /after.*after/.test(document.getElementById('status').textContent))
    },
    height: 980,
  },
  race: {
    path: 'race/index.html?device=cpu',
    prepare: raceOver,
    height: 880,
  },
  colours: {
    path: 'colours/index.html?device=cpu&k=16',
    prepare: statusDone,
    height: 1135,
  },
  words: {
    path: 'words/index.html?device=cpu',
    prepare: wordFound,
    height: 1300,
  },
  photos: {
    path: 'photos/index.html?device=cpu&view=40',
    prepare: ranked,
    height: 1240,
  },
}

/** One for each page: where it is, what is waited for, and what comes into view. */
const PREVIEWS = {
  front: { path: 'index.html', prepare: pictureDone, from: '.hero' },
  race: { path: 'race/index.html?device=cpu&rounds=20', prepare: raceOver, from: '#curve-title' },
  measure: { path: 'measure/index.html?device=cpu', prepare: measured, from: '#main' },
  how: { path: 'how/index.html?device=cpu#candidates', prepare: explained, from: '#explorer' },
  playground: {
    path: 'playground/index.html?device=cpu&n=6000&k=30&seed=8&method=closures-sharp',
    prepare: runEnded,
    from: '.bench',
  },
  colours: { path: DEMOS.colours.path, prepare: statusDone, from: '#main' },
  words: { path: DEMOS.words.path, prepare: statusDone, from: '#map' },
  photos: { path: DEMOS.photos.path, prepare: ranked, from: '.finder' },
}

const LOOKS = {
  light: { viewport: { width: 1200, height: 850 }, colorScheme: 'light' },
  dark: { viewport: { width: 1200, height: 850 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
}

async function pictureDone(page) {
  await page.waitForFunction(() => /done in/.test(document.getElementById('picture-state').textContent))
}

/** The playground runs by itself. */
async function runEnded(page) {
  await page.waitForFunction(() => /after/.test(document.getElementById('status').textContent))
}

async function measured(page) {
  await page.waitForFunction(() => /WebAssembly/.test(document.getElementById('device-name').textContent))
  await page.click('#start')
  await page.waitForFunction(() => /^Done/.test(document.getElementById('status').textContent), undefined, {
    timeout: 120_000,
  })
}

async function explained(page) {
  await page.waitForFunction(() => document.getElementById('stage').dataset.step)
}

async function raceOver(page) {
  await page.click('#start')
  await page.waitForFunction(() => /is over/.test(document.getElementById('status').textContent), undefined, {
    timeout: 180_000,
  })
}

async function wordFound(page) {
  await statusDone(page)
  await page.fill('#search', 'guitar')
  await page.press('#search', 'Enter')
}

async function ranked(page) {
  await page.waitForFunction(() => /of the first/.test(document.getElementById('status').textContent), undefined, {
    timeout: 120_000,
  })
}

async function statusDone(page) {
  await page.waitForFunction(() => /^Done/.test(document.getElementById('status').textContent), undefined, {
    timeout: 120_000,
  })
}

const asked = process.argv.slice(2)
const KINDS = ['previews', 'pages']
const kind = KINDS.find((one) => asked.includes(one))
const wanted = (name) => asked.length === 0 || (kind ? name === kind : asked.includes(name))
await mkdir('docs', { recursive: true })
const browser = await chromium.launch(await chromiumLaunchOptions())
try {
  if (wanted('digits')) await takeDigits()
  const demos = Object.keys(DEMOS).filter(wanted)
  if (demos.length > 0) await onSite((address) => takeDemos(address, demos))
  if (wanted('previews')) await onSite(takePreviews)
  if (wanted('pages')) await onSite(takePages)
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
async function withPalette(screenshot) {
  // A page of its own: the pages of the site may not load data: addresses.
  const page = await browser.newPage()
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
  await page.close()
  const [{ indexedPng }, { paletteOf }] = await Promise.all(
    ['demos/colours/png.ts', 'demos/colours/palette.ts'].map(async (file) => {
      const { module } = await runnerImport(fileURLToPath(new URL(`../${file}`, import.meta.url)))
      return module
    }),
  )
  const pixels = new Uint8Array(Buffer.from(base64, 'base64')).filter((_, i) => i % 4 < 3)
  const model = await cluster(matrix(pixels, width * height, 3), { k: COLOURS, seed: 1, iterations: 12, device: 'cpu' })
  return indexedPng(Uint8Array.from(model.labels), { width, height }, paletteOf(model.centers))
}

async function onSite(take) {
  const root = fileURLToPath(new URL('../demos', import.meta.url))
  const configFile = `${root}/vite.config.ts`
  await build({ root, configFile, logLevel: 'warn' })
  const server = await preview({ root, configFile, preview: { port: 0 }, logLevel: 'warn' })
  try {
    await take(server.resolvedUrls?.local[0])
  } finally {
    await server.close()
  }
}

async function takeDemos(address, names) {
  for (const name of names) {
    const { path, prepare, height } = DEMOS[name]
    const page = await browser.newPage({ viewport: { width: 1200, height } })
    await page.goto(`${address}${path}`)
    await prepare(page)
    // Pointer and focus leave no trace.
    await page.evaluate(() => document.activeElement?.blur())
    await writeFile(`docs/${name}.png`, await withPalette(await page.screenshot()))
    await page.close()
  }
}

/** The first screen of every page as people see it: light, dark, and on a phone. */
async function takePages(address) {
  await mkdir('docs/pages', { recursive: true })
  for (const [name, { path, prepare }] of Object.entries(PREVIEWS)) {
    if (asked.length > 1 && !asked.includes(name)) continue
    for (const [look, options] of Object.entries(LOOKS)) {
      const page = await browser.newPage({ ...options, reducedMotion: 'reduce' })
      await page.goto(`${address}${path}`)
      await prepare(page)
      await page.evaluate(() => {
        document.activeElement?.blur()
        scrollTo(0, 0)
      })
      await writeFile(`docs/pages/${name}-${look}.png`, await withPalette(await page.screenshot()))
      await page.close()
    }
  }
}

/** The part of a page that begins at an element, as large as previews of links are. */
async function takePreviews(address) {
  await mkdir('demos/public/previews', { recursive: true })
  for (const [name, { path, prepare, from }] of Object.entries(PREVIEWS)) {
    if (asked.length > 1 && !asked.includes(name)) continue
    const page = await browser.newPage({ viewport: { width: 1200, height: 630 }, reducedMotion: 'reduce' })
    await page.goto(`${address}${path}`)
    await prepare(page)
    await page.evaluate((selector) => {
      document.activeElement?.blur()
      // Room below, so that any element can come to the top.
      document.body.style.paddingBottom = '630px'
      document.querySelector(selector).scrollIntoView({ block: 'start' })
      scrollBy(0, -16)
    }, from)
    await writeFile(`demos/public/previews/${name}.png`, await withPalette(await page.screenshot()))
    await page.close()
  }
}

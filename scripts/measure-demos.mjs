/**
 * Measures the demo pages as they are published: bytes of each page as loaded (plain and gzipped), and of the
 * playground with 200,000 points the frames a second, the time to draw and the time of a round. Of the colours and
 * words pages the time of a round, and the longest time the page did not answer while rounds went on.
 * node scripts/measure-demos.mjs [--json]
 */
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { chromium } from 'playwright'
import { build, preview } from 'vite'
import { chromiumLaunchOptions } from './chromium.mjs'

const POINTS = 200_000
const CLUSTERS = 50
const SECONDS = 5
/** Pages that begin by themselves, with what they come with. */
const RUNS = {
  colours: { query: 'k=64', what: 'sample of 720 x 480 pixels into 64 colours, lloyd' },
  words: { query: 'data=digits&k=40', what: '5,000 digits of 784 pixels into 40 clusters, lloyd' },
}
const root = fileURLToPath(new URL('../demos', import.meta.url))
const json = process.argv.includes('--json')

await build({ root, configFile: `${root}/vite.config.ts`, logLevel: 'warn' })
const server = await preview({ root, configFile: `${root}/vite.config.ts`, preview: { port: 0 }, logLevel: 'warn' })
const url = server.resolvedUrls?.local[0] ?? ''
const browser = await chromium.launch(await chromiumLaunchOptions())
try {
  const weights = []
  for (const name of ['', ...pageFolders()]) weights.push(await weigh(name))
  const frames = []
  for (const pace of ['full', 'steady']) frames.push(await countFrames(pace))
  const runs = []
  for (const name of Object.keys(RUNS)) runs.push(await timeRun(name))
  if (json) console.log(JSON.stringify({ weights, frames, runs }, null, 2))
  else {
    print(weights, frames)
    printRuns(runs)
  }
} finally {
  await browser.close()
  await server.close()
}

function pageFolders() {
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return folders.map(({ name }) => name).filter((name) => readdirSync(`${root}/${name}`).includes('index.html'))
}

/** Everything a first visit loads before anything is clicked. */
async function weigh(name) {
  const context = await browser.newContext()
  const page = await context.newPage()
  const bodies = []
  context.on('response', (response) => bodies.push(response.body().catch(() => Buffer.alloc(0))))
  await page.goto(`${url}${name}${name ? '/' : ''}index.html?device=cpu`, { waitUntil: 'networkidle' })
  if (name) await page.waitForFunction(() => /WebAssembly/.test(document.getElementById('device-name').textContent))
  const files = (await Promise.all(bodies)).filter((body) => body.length > 0)
  await context.close()
  return {
    page: name || 'front page',
    files: files.length,
    bytes: files.reduce((sum, body) => sum + body.length, 0),
    gzip: files.reduce((sum, body) => sum + gzipSync(body).length, 0),
  }
}

/** Frames while rounds go on: at full pace each is drawn as soon as it is there, at a steady one centres glide between. */
async function countFrames(pace) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.goto(`${url}playground/index.html?run=0&device=cpu&n=${POINTS}&k=${CLUSTERS}&pace=${pace}`)
  await page.waitForFunction(() => /WebAssembly/.test(document.getElementById('device-name').textContent))
  await page.click('#run')
  await page.waitForFunction(() => /round [2-9]/.test(document.querySelector('#stage-a figcaption').textContent))
  const counted = await page.evaluate(
    (milliseconds) =>
      new Promise((resolve) => {
        const intervals = []
        const drawing = []
        const rounds = []
        let shown = ''
        const began = performance.now()
        let last = began
        const frame = (now) => {
          intervals.push(now - last)
          last = now
          const caption = document.querySelector('#stage-a figcaption').textContent
          const [, round] = caption.match(/([\d.]+) ms a round/) ?? []
          const [, draw] = caption.match(/drawn in ([\d.]+) ms/) ?? []
          if (round && caption !== shown) {
            rounds.push(Number(round))
            if (draw) drawing.push(Number(draw))
            shown = caption
          }
          // A run that settled begins again.
          const run = document.getElementById('run')
          if (run.disabled) document.getElementById('reset').click()
          if (run.textContent === 'Run') run.click()
          if (now - began < milliseconds) requestAnimationFrame(frame)
          else resolve({ intervals: intervals.slice(1), drawing, rounds })
        }
        requestAnimationFrame(frame)
      }),
    SECONDS * 1000,
  )
  await page.close()
  return {
    pace,
    points: POINTS,
    clusters: CLUSTERS,
    framesPerSecond: (1000 * counted.intervals.length) / counted.intervals.reduce((sum, one) => sum + one, 0),
    medianFrame: quantile(counted.intervals, 0.5),
    slowFrame: quantile(counted.intervals, 0.95),
    drawing: quantile(counted.drawing, 0.5),
    roundsShown: counted.rounds.length,
    round: quantile(counted.rounds, 0.5),
  }
}

function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
}

function print(weights, frames) {
  const kilo = (bytes) => `${(bytes / 1000).toFixed(0)} kB`
  console.log('What a first visit loads\n')
  for (const { page, files, bytes, gzip } of weights) {
    console.log(
      `  ${page.padEnd(12)} ${String(files).padStart(2)} files ${kilo(bytes).padStart(8)}, ${kilo(gzip)} gzipped`,
    )
  }
  console.log(`\nPlayground, ${POINTS.toLocaleString('en')} points, k = ${CLUSTERS}, lloyd, CPU device\n`)
  for (const one of frames) {
    console.log(
      `  pace ${one.pace.padEnd(7)} ${one.framesPerSecond.toFixed(1)} frames a second ` +
        `(median ${one.medianFrame.toFixed(1)} ms, 95 % within ${one.slowFrame.toFixed(1)} ms), ` +
        `${one.roundsShown} rounds, ${one.round.toFixed(1)} ms a round, drawn in ${one.drawing.toFixed(1)} ms`,
    )
  }
}

/** A whole run of a page: what it shows as the time of a round, and how evenly a timer of the page went meanwhile. */
async function timeRun(name) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.goto(`${url}${name}/index.html?device=cpu&method=lloyd&${RUNS[name].query}`)
  const done = () => /^Done/.test(document.getElementById('status').textContent)
  await page.waitForFunction(done, undefined, { timeout: 120_000 })
  await page.evaluate(() => {
    globalThis.longest = 0
    let last = performance.now()
    setInterval(() => {
      const now = performance.now()
      globalThis.longest = Math.max(globalThis.longest, now - last)
      last = now
    }, 5)
    document.getElementById('run').click()
  })
  await page.waitForFunction(done, undefined, { timeout: 120_000 })
  const shown = await page.evaluate(() => ({
    round: Number.parseFloat(document.getElementById('round-time').textContent.replace(',', '')),
    rounds: Number(document.getElementById('rounds').textContent),
    longest: globalThis.longest,
  }))
  await page.close()
  return { page: name, ...shown }
}

function printRuns(runs) {
  for (const { page, round, rounds, longest } of runs) {
    console.log(`\n${page}: ${RUNS[page].what}, CPU device\n`)
    console.log(`  ${rounds} rounds, ${round.toFixed(1)} ms a round, the page answers within ${longest.toFixed(0)} ms`)
  }
}

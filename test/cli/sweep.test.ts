/** `centroidal sweep`: numbers of clusters, a table, a page, one sentence. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { chromium } from 'playwright'
import { beforeAll, describe, expect, test } from 'vitest'
import { chromiumLaunchOptions } from '../../scripts/chromium.mjs'
import { parseCounts } from '../../src/cli/sweep/counts.ts'
import { stepPlot } from '../../src/cli/sweep/step-plot.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { expectWholePage, headings } from './pages.ts'
import { ending, jsonLines, runCli, startCli } from './run-cli.ts'
import { runInside } from './run-inside.ts'
import { writeBlobs, writeNoise } from './vectors.ts'

const path = temporaryFolder()

beforeAll(async () => {
  await writeBlobs(path('vectors.npy'), path('classes.npy'))
  await writeNoise(path('noise.npy'), 6000, 16)
})

test('as JSON: a line for every number of clusters, and the result, which is kept', async () => {
  const args = ['--k', '2..9', '--steps', '8', '--out', path('trial'), '--json']
  const lines = jsonLines(await runCli('sweep', path('vectors.npy'), ...args))
  const told = lines.at(-1) as { steps: object[]; advice: string }
  expect(lines.slice(0, -1).map(({ type, k }) => [type, k])).toEqual([2, 3, 4, 5, 6, 7, 8, 9].map((k) => ['step', k]))
  expect(lines[0]).toMatchObject({ method: 'lloyd', rounds: expect.any(Number), silhouette: expect.any(Number) })
  expect(told).toMatchObject({
    ...{ type: 'result', rows: 600, cols: 8, method: 'auto', metric: 'euclidean', seed: 0, seeds: 2 },
    ...{ advised: 6, elbow: 6, next: null, silhouetteForm: 'exact', aborted: false, out: path('trial') },
    best: { bic: 6, silhouette: 6, daviesBouldin: 6, calinskiHarabasz: 6 },
  })
  expect(told.advice).toMatch(/^About 6 clusters: /)
  const { type: _, out: __, ...kept } = told as Record<string, unknown>
  expect(JSON.parse(await readFile(path('trial/sweep.json'), 'utf8'))).toEqual(kept)
})

test('the page: curves with the same axis, the table, the advice, and no complaint of a browser', async () => {
  const text = await readFile(path('trial/report.html'), 'utf8')
  expectWholePage(text)
  const cards = ['Distortion', 'BIC', 'Silhouette', 'Davies-Bouldin', 'Calinski-Harabasz', 'Stability']
  expect(headings(text)).toEqual(['Curves', ...cards, 'Numbers', 'How it was made'])
  expect(text).toContain('<strong>About 6 clusters: ')
  expect(text).toContain('elbow: 6')
  expect(text.match(/<tr>/g)).toHaveLength(1 + 8)
  const browser = await chromium.launch(await chromiumLaunchOptions())
  try {
    const page = await browser.newPage({ viewport: { width: 390, height: 800 } })
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(`file://${path('trial/report.html')}`)
    expect(await page.locator('.charts svg').count()).toBe(6)
    // Nothing but the table, which scrolls by itself, is wider than a phone.
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    expect(complaints).toEqual([])
  } finally {
    await browser.close()
  }
})

test('in words: a table, a plot, a sentence and what to do next', async () => {
  const args = ['-k', '2,4,6,12', '--seeds', '1', '--out', path('words')]
  const { code, stdout, stderr } = await runInside('sweep', path('vectors.npy'), ...args)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^vectors\.npy: 600 vectors with 8 dimensions, in /)
  expect(stdout).toMatch(
    /^ +k +distortion +BIC +silhouette +Davies-Bouldin +Calinski-Harabasz +stability +rounds +time$/m,
  )
  expect(stdout).toMatch(/^ +6 +[\d.,]+\* +[\d.,]+\* +[\d.]+\* +[\d.]+\* +[\d.,]+\* +– /m)
  expect(stdout).toMatch(/ └─{60}\n +2 +12 clusters$/m)
  expect(stdout).toMatch(/^About 6 clusters \(between 4 and 12\): /m)
  expect(stdout).toMatch(/next {4}centroidal sweep .*vectors\.npy --k 4\.\.12$/m)
  expect(stdout).toContain(path('words/report.html'))
  expect(stderr).toMatch(/^6 clusters \(3 of 4\): distortion /m)
  expectWholePage(await readFile(path('words/report.html'), 'utf8'))
})

test('a single number, and scores that are not defined', async () => {
  const ended = await runInside('sweep', path('vectors.npy'), '--k', '1', '--out', path('one'))
  expect(ended).toMatchObject({ code: 0 })
  expect(ended.stdout).toMatch(/^Only 1 cluster tried: /m)
  const page = await readFile(path('one/report.html'), 'utf8')
  expectWholePage(page)
  expect(headings(page)).toEqual(['Curves', 'Distortion', 'BIC', 'Numbers', 'How it was made'])
})

test('Ctrl-C keeps the results so far', async () => {
  const child = startCli('sweep', path('noise.npy'), '--k', '5..3000', '--out', path('stopped'), '--json')
  child.stdout?.once('data', () => child.kill('SIGINT'))
  const ended = await ending(child)
  expect(ended.code, ended.stderr).toBe(130)
  expect(ended.stderr).toMatch(/Interrupted after \d+ numbers? of clusters: the results so far are in .*stopped\.$/m)
  expect(jsonLines(ended).at(-1)).toMatchObject({ type: 'result', aborted: true })
  const page = await readFile(path('stopped/report.html'), 'utf8')
  expectWholePage(page)
  expect(page).toContain('It was stopped before the largest number of clusters was reached.')
})

describe('what is refused', () => {
  test.each([
    [[], /^Option --k is missing: give numbers of clusters, such as --k 10\.\.1000\.$/m],
    [['--k', '20..10'], /^Option --k is "20\.\.10": a range goes from the smaller number to the larger/],
    [['--k', '0..10'], /^Option --k is "0\.\.10": give a range such as 10\.\.1000/],
    [['--k', '2..601'], /^Option --k is "601": there are only 600 vectors/],
    [['--k', '2,3', '--steps', '4'], /^Option --steps is "4": it applies to a range/],
    [['--k', '2..5', '--method', 'egm'], /^Option --method is "egm": it finds the number of clusters itself/],
    [['--k', '2..5', '--method', 'loyd'], /^Option --method is "loyd": did you mean lloyd\?/],
    [['--k', '2..5', '--seeds', '0'], /^Option --seeds is "0": give a whole number of seeds, 1 or more/],
  ])('%j', async (args, sentence) => {
    const ended = await runInside('sweep', path('vectors.npy'), ...args, '--out', path('never'))
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(sentence)
    expect(existsSync(path('never'))).toBe(false)
  })

  test.each(['', ',', '1,', '..', '1..', '..5', '1...5', '1..2..3', '1.5', '-3', 'a..b', '1e400', '0', ' 5', '5,0'])(
    '--k %j',
    (text) => {
      expect(() => parseCounts(text)).toThrow(/^Option --k is /)
    },
  )

  test('ranges and lists', () => {
    expect(parseCounts('10..1e3')).toEqual({ from: 10, to: 1000 })
    expect(parseCounts('5..5')).toEqual({ from: 5, to: 5 })
    expect(parseCounts('30,10,20')).toEqual([30, 10, 20])
    expect(parseCounts('7')).toEqual([7])
  })
})

test('the plot: k to the right, distortion upwards, the elbow marked', () => {
  const steps = [
    { k: 1, distortion: 9 },
    { k: 10, distortion: 1 },
    { k: 100, distortion: 0 },
  ]
  const lines = stepPlot(steps, 10)
  expect(lines).toHaveLength(10 + 2)
  expect(lines[0]).toMatch(/^9 │●·*$/)
  expect(lines[8]).toMatch(/^ {2}│ +·*E·*$/)
  expect(lines[9]).toMatch(/^0 │ +·*●$/)
  expect(lines[9]).toHaveLength(lines[10].length)
  expect(stepPlot(steps.slice(0, 1), undefined)).toEqual([])
  expect(stepPlot([steps[2], { k: 200, distortion: 0 }], undefined).join('')).not.toContain('NaN')
})

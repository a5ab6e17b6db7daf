/** The measuring page in Chromium: what it measures, copies and links to. */
import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packText, unpackText } from '../../demos/measure/link.ts'
import { parseReport, REPORT_SCHEMA, type Report } from '../../demos/measure/report.ts'
import { check } from '../../demos/measure/schema.ts'
import { METHODS } from '../../src/index.ts'
import { layoutShift, namelessControls, textOf } from './shown.ts'
import { openSite, type Site } from './site.ts'

let site: Site
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())

const PAGE = 'measure/index.html'
const isReport = new Ajv().compile(REPORT_SCHEMA)
const clipboard = { permissions: ['clipboard-read', 'clipboard-write'] }

const example: Report = {
  format: 'centroidal-measure-1',
  date: '2026-01-02T03:04:05.678Z',
  version: '0.1.0',
  browser: 'Chrome 147',
  gpu: { name: 'A <b>GPU</b>', software: false },
  cpu: { name: 'WebAssembly, 8 threads', software: false },
  sizes: { rows: 1000, cols: 128, k: 30 },
  peak: { gflops: 1234.5, gigabytes: 321 },
  assignment: { gpu: 600, cpu: 60 },
  calls: [{ name: 'lloyd', gpu: 3.25, cpu: 30, agreement: 0.9991 }],
  kernels: [
    { kernel: 'assign', work: 'assign', milliseconds: 2, gflops: 600, gigabytes: 9, share: 0.486, cpu: 20 },
    { kernel: 'tally', work: 'tally', milliseconds: 0.1, gflops: null, gigabytes: null, share: null, cpu: null },
  ],
  skipped: ['gmm'],
  failures: [],
  seconds: 12,
}

test('without a GPU: every method on the CPU, one sentence, and JSON that the schema describes', async () => {
  const { page, complaints } = await site.visit(`${PAGE}?device=cpu&rows=512&k=8&cols=16&seconds=140`, clipboard)
  await page.getByRole('button', { name: 'Measure', exact: true }).click()
  await textOf(page, '#status', /^Done: \d+ calls in \d+ seconds\.$/, 150_000)
  expect(await textOf(page, '#no-gpu')).toBe('Only the CPU is measured.')
  await page.getByRole('button', { name: 'Copy as JSON' }).click()
  await textOf(page, '#status', /was copied/)
  const report = JSON.parse(await page.evaluate(() => navigator.clipboard.readText())) as Report
  expect(isReport(report), JSON.stringify(isReport.errors)).toBe(true)
  expect(report.gpu).toBeNull()
  expect(report.failures).toEqual([])
  expect(report.skipped).toEqual([])
  expect(report.sizes).toEqual({ rows: 512, cols: 16, k: 8 })
  expect(report.version).toMatch(/^\d+\.\d+\.\d+/)
  expect(report.browser).toMatch(/^Chrome \d+$/)
  const names = report.calls.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining([...Object.keys(METHODS), 'nearest', 'quantizer ck', 'inverted file']))
  for (const { name, cpu } of report.calls) expect(cpu, name).toBeGreaterThan(0)
  expect(report.kernels.map(({ work }) => work)).toEqual(expect.arrayContaining(['assign', 'accumulate']))
  expect(report.assignment.cpu).toBeGreaterThan(0)
  expect(await page.locator('#calls tr').count()).toBe(report.calls.length)
  expect(await layoutShift(page)).toBeLessThan(0.3)
  expect(await namelessControls(page)).toEqual([])
  expect(complaints).toEqual([])
})

test('with a GPU: rates, shares of the peak, and labels that agree with the CPU; a link shows the same', async () => {
  const { page, complaints } = await site.visit(`${PAGE}?device=webgpu&rows=1024&k=32&cols=32&only=nearest`, clipboard)
  await textOf(page, '#device-name', /the browser/)
  expect(await page.locator('#no-gpu').isHidden()).toBe(true)
  await page.getByRole('button', { name: 'Measure', exact: true }).click()
  await textOf(page, '#status', /^Done: 3 calls/, 120_000)
  await page.getByRole('button', { name: 'Copy a link' }).click()
  await textOf(page, '#status', /was copied/)
  const link = await page.evaluate(() => navigator.clipboard.readText())
  const report = parseReport(await unpackText(link.split('#result=')[1]))
  expect(isReport(report), JSON.stringify(isReport.errors)).toBe(true)
  expect(report.gpu?.software).toBe(true)
  expect(report.peak?.gflops).toBeGreaterThan(0)
  for (const { name, gpu, cpu, agreement } of report.calls) {
    expect(gpu, name).toBeGreaterThan(0)
    expect(cpu, name).toBeGreaterThan(0)
    expect(agreement, name).toBeGreaterThan(0.999)
  }
  const timed = report.kernels.filter(({ gflops }) => gflops !== null)
  expect(timed.length).toBeGreaterThan(0)
  for (const { kernel, share } of timed) {
    expect(share, kernel).toBeGreaterThan(0)
    expect(share, kernel).toBeLessThan(1.5)
  }
  const other = await site.visit(link)
  await textOf(other.page, '#status', /^A result of \d{4}-\d\d-\d\d, from the link\./)
  expect(await other.page.locator('#calls').innerText()).toBe(await page.locator('#calls').innerText())
  expect(await other.page.locator('#cards').innerText()).toBe(await page.locator('#cards').innerText())
  expect([...complaints, ...other.complaints]).toEqual([])
})

describe('links', () => {
  test('a report goes into an address and comes back; texts are shown as texts', async () => {
    const packed = await packText(JSON.stringify(example))
    expect(packed).toMatch(/^[\w-]+$/)
    expect(parseReport(await unpackText(packed))).toEqual(example)
    const { page, complaints } = await site.visit(`${PAGE}?device=cpu#result=${packed}`)
    expect(await textOf(page, '#about')).toContain('A <b>GPU</b>; WebAssembly, 8 threads. 1,000 vectors of 128 numbers')
    expect(await textOf(page, '#about')).toContain('No time for: gmm.')
    expect(await page.locator('#calls').innerText()).toMatch(/lloyd\s+3\.25\s+30\s+9\.23\s+99\.91 %/)
    expect(await page.locator('#cards').innerText()).toMatch(/10 ×/)
    expect(complaints).toEqual([])
  })

  test('one that somebody made up is refused in a sentence', async () => {
    for (const wrong of ['frog', await packText('{}'), await packText(JSON.stringify({ ...example, peak: 'high' }))]) {
      const { page } = await site.visit(`${PAGE}?device=cpu#result=${wrong}`)
      expect(await textOf(page, '#warning')).toMatch(/^This link holds no measurement/)
      expect(await page.locator('#calls tr').count()).toBe(0)
      await page.context().close()
    }
  })
})

test.each([
  ['the example', example, true],
  ['without a GPU', { ...example, gpu: null, peak: null }, true],
  ['a missing part', { ...example, sizes: undefined }, false],
  ['a part too many', { ...example, more: 1 }, false],
  ['another format', { ...example, format: 'other' }, false],
  ['a wrong type within', { ...example, calls: [{ ...example.calls[0], cpu: '30' }] }, false],
  ['a negative number', { ...example, seconds: -1 }, false],
  ['no object', [example], false],
])('the page judges a report as a JSON Schema validator does: %s', (_name, report, good) => {
  const value: unknown = JSON.parse(JSON.stringify(report))
  expect(isReport(value)).toBe(good)
  expect(check(value, REPORT_SCHEMA) === undefined).toBe(good)
})

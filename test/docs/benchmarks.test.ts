/** Every figure in docs/benchmarks.md and in the README is one of bench/results. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withTables } from '../../scripts/benchmark-tables.mjs'
import { ROOT } from './markdown.ts'
import { fixed, results, row, share } from './results.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const page = read('docs/benchmarks.md')
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ')

test('the tables are those of the results: node scripts/benchmark-tables.mjs writes them anew', () => {
  expect(page.match(/<!-- table /g)?.length).toBeGreaterThan(10)
  expect(page).toBe(withTables(page))
})

const curve = (method: string) => row(results('closures').curves, { k: 10000, method })
const sharpest = (k: number, run: string) => row(results('sharp')['faiss, vectors'].table, { k, run })
const memory = (k: number) => row(results('sharp')['faiss, vectors'].memory, { k })['device, times']
const ends = (method: string) =>
  Number(row(results('sharp')['labels, handwritten digits'].rows, { method, metric: 'euclidean' }).distortion)
const recall = (quantizer: string, column = '@10') =>
  Number(row(results('quantizers-recall').rows, { quantizer, distance: 'asymmetric' })[column])
const checks = (count: number) => row(results('agm-checks').rows, { checks: count })['share of the start']
const fasterThanAkm = () => Number(curve('rakm').seconds) / Number(curve('akm').seconds)
const aboveAkm = () => (Number(curve('rakm').distortion) / Number(curve('akm').distortion) - 1) * 100
const whole = (text: unknown): string => String(text).replace(/\.\d+$/, '')

/** Sentences with figures. */
const SENTENCES: Readonly<Record<string, readonly string[]>> = {
  'docs/benchmarks.md': [
    `k-means, ${fixed(results('closures').active.underFifteen * 100, 1)} % are nearly as far from the old centre as from the new one (distance ratio under 0.15). The paper has over 90 %.`,
    `\`closures\` stays ${fixed(Number.parseFloat(String(curve('closures')['against faiss'])), 1)} % above faiss`,
    `\`rakm\` takes ${fixed(fasterThanAkm(), 2)} of the time of \`akm\` and ends ${fixed(aboveAkm(), 1)} % above it`,
    `${memory(2000)} times that of vectors and centres at k = 2,000 and ${memory(10000)} times at k = 10,000`,
    `plain \`bisecting\` ends ${fixed((ends('bisecting') / ends('sharp') - 1) * 100, 1)} % above the best`,
    `end within ${fixed((ends('lloyd') / ends('sharp') - 1) * 100, 3)} % of each other`,
    `after the first round (${results('agm').rounds[0]['share of the start']})`,
    `after the first round ${checks(50)} with 50, ${checks(100)} with 100, ${checks(200)} with 200`,
    `${fixed((1 - recall('ck, natural', 'distortion') / recall('pq, natural', 'distortion')) * 100, 1)} % below it in distortion`,
    `\`ck\` is ${fixed(recall('ck, natural') - recall('pq, natural'), 1)} points above \`pq\` at R = 10, where the paper has 3.8`,
    `takes ${results('quantizers-rotation').rows['share of the round']} of a round`,
    `a recall@10 of at least ${results('search-2').recall}`,
    // Of the machine.
    'Intel Xeon at 2.8 GHz',
  ],
  'README.md': [
    `in ${whole(sharpest(10000, 'closures-sharp, before')['of its time'])} of the time (${whole(sharpest(10000, 'closures-sharp, after')['of its time'])} in a second run) and ends ${share(sharpest(10000, 'closures-sharp, before')['against faiss'])} lower. At k = 2,000 it needs ${whole(sharpest(2000, 'closures-sharp, before')['of its time'])} of the time.`,
    // Not a figure of speed.
    'Both need Node 20.15 or later',
  ],
}

test.each(Object.entries(SENTENCES))('the figures in the text of %s are those of the results', (path, sentences) => {
  let text = oneLine(
    read(path)
      .replaceAll(/```[\s\S]*?```/g, '')
      .replaceAll(/^\|.*\|$/gm, '')
      .replace(/## Papers[\s\S]*/, ''),
  )
  for (const sentence of sentences) {
    expect(text).toContain(sentence)
    text = text.replace(sentence, '')
  }
  // What is left has no figure that a benchmark measures: decimals, percentages, ratios.
  expect(text.match(/\d+\.\d+|\d+ %|\b1\/\d+/g) ?? []).toEqual([])
})

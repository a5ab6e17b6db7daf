/** Reports of quantizers, searches, recall and rankings. */
import { readFile, writeFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { loadQuantizer, nearest, QUANTIZER_TYPES, readVectors, writeNeighbors } from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { expectWholePage, headings } from './pages.ts'
import { result } from './run-cli.ts'
import { runInside } from './run-inside.ts'
import { writeBlobs, writeNoise } from './vectors.ts'

const path = temporaryFolder()
const page = (file: string): Promise<string> => readFile(path(file), 'utf8')

beforeAll(async () => {
  await writeBlobs(path('vectors.npy'), path('classes.npy'))
  await writeNoise(path('noise.bvecs'), 500, 24)
})

describe('quantize', () => {
  test.each(QUANTIZER_TYPES)('%s', async (type) => {
    const args = ['--type', type, '-m', '4', '--iterations', '6', '--out', path(type)]
    const codewords = ['pq', 'ck'].includes(type) ? ['--codewords', '16'] : []
    const { stdout } = await runInside('quantize', path('vectors.npy'), ...args, ...codewords)
    expect(stdout).toContain(path(`${type}/report.html`))
    const text = await page(`${type}/report.html`)
    expectWholePage(text)
    expect(headings(text)).toEqual([
      'Course of the training',
      'Distortion over rounds',
      'Distortion over time',
      'Bytes',
      'Bytes a vector',
      'Many vectors',
      'How it was made',
    ])
    const { codeBytes } = await loadQuantizer(path(type))
    expect(text).toContain(`<dt>bytes a vector</dt><dd>${codeBytes}</dd>`)
    expect(text).toContain('<dt>bytes before</dt><dd>32</dd>')
    expect(text).toContain(`${32 / codeBytes} times less`)
  })

  test('of bytes, one round, with a title', async () => {
    const args = ['--type', 'pq', '-m', '24', '--codewords', '4', '--iterations', '1', '--title', 'Of <bytes>']
    await runInside('quantize', path('noise.bvecs'), ...args, '--out', path('bytes'), '-q')
    const text = await page('bytes/report.html')
    expectWholePage(text)
    expect(text).toContain('<h1>Of &#60;bytes&#62;</h1>')
    expect(text).toContain('a vector of 24 bytes as 6 bytes, 4 times less')
    expect(text).toContain('<dt>round</dt><dd>1</dd>')
  })
})

describe('search and evaluate neighbours', () => {
  beforeAll(async () => {
    const base = await readVectors(path('vectors.npy'))
    const truth = await nearest(base, base, { m: 1, device: 'cpu' })
    await writeNeighbors(path('truth.ivecs'), truth.labels, 1)
    await runInside('encode', path('pq'), path('vectors.npy'), '--out', path('codes.npy'), '-q')
  })

  test('--report of both', async () => {
    const search = ['search', path('pq'), path('codes.npy'), path('vectors.npy'), '--nearest', '120']
    const searched = await runInside(...search, '--out', path('found.ivecs'), '--report', path('search.html'))
    expect(searched.stdout).toContain(path('search.html'))
    const text = await page('search.html')
    expectWholePage(text)
    expect(headings(text)).toEqual(['What was found', 'Distance by place', 'Bytes a vector', 'How it was made'])
    expect(text).toContain('<dt>found for each</dt><dd>120</dd>')

    const evaluate = ['evaluate', 'neighbours', path('found.ivecs'), '--truth', path('truth.ivecs')]
    const told = result(await runInside(...evaluate, '--report', path('recall.html'), '--json'))
    expect(told.report).toBe(path('recall.html'))
    const recall = await page('recall.html')
    expectWholePage(recall)
    expect(headings(recall)).toEqual(['Recall', 'Recall over R', 'Numbers', 'How it was made'])
    for (const r of [1, 10, 100]) {
      const words = `${(Number(told[`recall@${r}`]) * 100).toFixed(1)}%`
      expect(recall).toContain(`<dt>recall@${r}</dt><dd>${words}</dd>`)
    }
    // R = 1 to 100, whatever was found beyond.
    expect(recall).toContain('<th scope="row">100<td>')
    expect(recall.match(/aria-label="Line: recall[\s\S]*?<\/svg>/)?.[0]).toMatch(/ d="M[^"]*"/)
    expect((await runInside(...evaluate, '--report', path('recall.html'))).stdout).toContain('recall.html')
  })

  test('one neighbour found', async () => {
    const search = ['search', path('pq'), path('codes.npy'), path('vectors.npy'), '--nearest', '1', '-q']
    await runInside(...search, '--out', path('one.ivecs'), '--report', path('search-one.html'))
    expectWholePage(await page('search-one.html'))
    const evaluate = ['evaluate', 'neighbours', path('one.ivecs'), '--truth', path('truth.ivecs')]
    await runInside(...evaluate, '--report', path('recall-one.html'))
    expectWholePage(await page('recall-one.html'))
    expect(await page('recall-one.html')).toContain('the one neighbour that was found is the true nearest')
  })

  test('a report that cannot be written', async () => {
    const search = ['search', path('pq'), path('codes.npy'), path('vectors.npy'), '--out', path('never.ivecs')]
    const ended = await runInside(...search, '--report', path('no/folder.html'))
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(/^Cannot write to ".*no\/folder\.html"/)
  })
})

test('evaluate ranking --report', async () => {
  const lines = [
    '{"query": 0, "images": [0, 1, 2, 3]}',
    '{"query": 1, "images": [1, 3, 2, 0]}',
    '{"query": 4, "images": [4]}',
  ]
  await writeFile(path('rankings.jsonl'), lines.join('\n'))
  await writeFile(path('groups.csv'), '7\n7\n8\n8\n9\n')
  const args = ['evaluate', 'ranking', path('rankings.jsonl'), '--groups', path('groups.csv')]
  const told = result(await runInside(...args, '--report', path('ranking.html'), '--json'))
  expect(told).toMatchObject({ queries: 3, alone: 1, report: path('ranking.html') })
  const text = await page('ranking.html')
  expectWholePage(text)
  expect(headings(text)).toEqual(['Queries', 'Average precision', 'The worst', 'How it was made'])
  expect(text).toContain(`<dt>mAP</dt><dd>${Number(told.map).toFixed(4)}</dd>`)
  // Image 0 stands last of three: the precision there is a third.
  expect(text).toContain('<tr><th scope="row">1<td>0.333<td>1<tr><th scope="row">0<td>1.000<td>1')
})

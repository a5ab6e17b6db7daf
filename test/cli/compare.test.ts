/** `centroidal report`: one run anew, several side by side, and what is said where they do not compare. */
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { adjustedRandIndex, blobs, loadModel, normalizedMutualInformation, writeVectors } from '../../src/index.ts'
import { squareModes } from '../clustering/mixture-clouds.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { expectWholePage, headings } from './pages.ts'
import { result } from './run-cli.ts'
import { runInside } from './run-inside.ts'
import { writeBlobs } from './vectors.ts'

const path = temporaryFolder()
const page = (file: string): Promise<string> => readFile(path(file), 'utf8')

beforeAll(async () => {
  await writeBlobs(path('vectors.npy'), path('classes.npy'))
  await writeVectors(path('plane.npy'), squareModes(1).points)
  const cluster = (file: string, out: string, ...args: string[]) =>
    runInside('cluster', path(file), ...args, '--out', path(out), '-q')
  const known = ['--truth', path('classes.npy'), '--image', '4x2', '--title', 'Six heaps']
  await cluster('vectors.npy', 'lloyd', '-k', '6', ...known)
  await cluster('vectors.npy', 'sharp', '-k', '9', '--method', 'sharp', '--seed', '3')
  await cluster('plane.npy', 'egm', '--method', 'egm', '--start', '50', '--iterations', '30')
  for (const type of ['pq', 'ck']) {
    const codes = ['--type', type, '-m', '4', '--codewords', '16', '--iterations', '5']
    await runInside('quantize', path('vectors.npy'), ...codes, '--out', path(type), '-q')
  }
})

describe('of one run', () => {
  test.each(['lloyd', 'egm', 'pq'])('%s: the same page as the run wrote', async (run) => {
    const before = await page(`${run}/report.html`)
    expectWholePage(before)
    await rm(path(`${run}/report.html`))
    const ended = await runInside('report', path(run))
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(ended.stdout).toContain(path(`${run}/report.html`))
    expect(await page(`${run}/report.html`)).toBe(before)
  })

  test('--out, --title and --truth', async () => {
    const args = ['--out', path('anew.html'), '--title', 'Anew', '--truth', path('classes.npy'), '--json']
    const told = result(await runInside('report', path('sharp'), ...args))
    expect(told).toMatchObject({ type: 'result', out: path('anew.html'), runs: [{ method: 'sharp', k: 9, seed: 3 }] })
    const anew = await page('anew.html')
    expect(anew).toContain('<h1>Anew</h1>')
    expect(headings(anew)).toContain('Clusters and classes')
    expect(await page('sharp/report.html')).not.toContain('Clusters and classes')
  })

  test('that the library saved, without notes', async () => {
    await (await loadModel(path('sharp'))).save(path('saved'))
    await runInside('report', path('saved'))
    const text = await page('saved/report.html')
    expectWholePage(text)
    expect(text).toMatch(/The 600 vectors, 8 numbers each, were put into\s+9 clusters/)
    expect(text).not.toContain('<code>')
  })

  test('notes of an earlier run in the folder are not taken for its own', async () => {
    await cp(path('lloyd'), path('again'), { recursive: true })
    await (await loadModel(path('sharp'))).save(path('again'))
    await runInside('report', path('again'))
    const text = await page('again/report.html')
    expect(text).toContain('Method sharp')
    expect(text).not.toMatch(/Six heaps|vectors\.npy|NMI/)
  })

  test('without labels', async () => {
    await cp(path('lloyd'), path('bare'), { recursive: true })
    await rm(path('bare/labels.npy'))
    expect((await runInside('report', path('bare'))).code).toBe(0)
    const text = await page('bare/report.html')
    expectWholePage(text)
    expect(text).toContain('The folder has no labels.npy')
    expect(headings(text)).not.toContain('Cluster sizes')
    expect(headings(text)).toContain('Map of the centres')
  })
})

describe('of several', () => {
  test('a table, overlaid curves, maps and agreement', async () => {
    const told = result(await runInside('report', path('lloyd'), path('sharp'), '--out', path('two.html'), '--json'))
    const [a, b] = [await loadModel(path('lloyd')), await loadModel(path('sharp'))]
    expect(told).toMatchObject({
      runs: [
        { run: path('lloyd'), method: 'lloyd', k: 6, distortion: a.distortion, nmi: expect.closeTo(1, 6) },
        { run: path('sharp'), method: 'sharp', k: 9, distortion: b.distortion, seed: 3 },
      ],
      agreements: [
        {
          runs: ['lloyd', 'sharp'],
          nmi: normalizedMutualInformation(a.labels, b.labels),
          ari: adjustedRandIndex(a.labels, b.labels),
        },
      ],
      warnings: [expect.stringContaining('differ in the number of clusters')],
      out: path('two.html'),
    })
    const text = await page('two.html')
    expectWholePage(text)
    expect(headings(text)).toEqual([
      'Clusterings',
      'Course of the runs',
      'Distortion over time',
      'Distortion over rounds',
      'Cluster sizes',
      'Maps of the centres',
      'lloyd',
      'sharp',
      'Agreement',
      'How it was made',
    ])
    expect(text.match(/<ul class="legend">.*?<\/ul>/s)?.[0].match(/<li>/g)).toHaveLength(2)
    expect(text).toContain('--series-2')
    expect(text).toMatch(/All maps show the same plane/)
    expect(text).toContain('sharp has the lowest distortion')
  })

  test('in words', async () => {
    const { code, stdout } = await runInside('report', path('lloyd'), path('sharp'), '--out', path('words.html'))
    expect(code).toBe(0)
    expect(stdout).toMatch(/^lloyd +lloyd +k 6 /m)
    expect(stdout).toMatch(/^lloyd and sharp: NMI 0\.\d{3}, adjusted Rand index/m)
    expect(stdout).toContain(path('words.html'))
  })

  test('other dimensions and numbers of vectors: what can be compared is, and the rest is said', async () => {
    await writeVectors(path('few.npy'), blobs({ rows: 50, cols: 8, clusters: 3, seed: 1 }).vectors)
    await runInside('cluster', path('few.npy'), '-k', '3', '--out', path('few'), '-q')
    const args = ['report', path('lloyd'), path('egm'), path('few'), '--out', path('mixed.html'), '--json']
    const told = result(await runInside(...args))
    expect(told.warnings).toEqual([
      expect.stringMatching(/differ in dimensions \(lloyd 8, egm 2, few 8\)/),
      expect.stringMatching(/different numbers of vectors \(lloyd 600, egm 800, few 50\)/),
      expect.stringMatching(/number of clusters/),
    ])
    expect(told.agreements).toEqual([])
    const text = await page('mixed.html')
    expectWholePage(text)
    expect(text).toContain('As a share of what it was after the first round')
    expect(text).toContain('Every map shows the plane of its own run')
    expect(text).not.toContain('has the lowest distortion')
    expect(headings(text)).not.toContain('Agreement')
  })

  test('quantizers, alone and beside a clustering', async () => {
    const told = result(await runInside('report', path('pq'), path('ck'), '--out', path('codes.html'), '--json'))
    expect(told).toMatchObject({
      runs: [{ kind: 'quantizer', type: 'pq', codeBytes: 2 }, { type: 'ck' }],
      warnings: [],
    })
    const text = await page('codes.html')
    expectWholePage(text)
    expect(headings(text)).toEqual(['Quantizers', 'Distortion over time', 'Distortion over rounds', 'How it was made'])
    await runInside('report', path('pq'), path('lloyd'), '--out', path('both.html'))
    const both = await page('both.html')
    expectWholePage(both)
    expect(headings(both)).toEqual(expect.arrayContaining(['Clusterings', 'Quantizers']))
  })

  test('one without labels keeps its curve', async () => {
    await cp(path('sharp'), path('unlabelled'), { recursive: true })
    await rm(path('unlabelled/labels.npy'))
    const told = result(
      await runInside('report', path('lloyd'), path('unlabelled'), '--out', path('part.html'), '--json'),
    )
    expect(told.warnings).toContainEqual('unlabelled has no labels.npy: sizes and agreement are left out.')
    expectWholePage(await page('part.html'))
  })
})

describe('what is refused', () => {
  const refused = async (sentence: RegExp, ...args: string[]): Promise<void> => {
    const ended = await runInside('report', ...args)
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(sentence)
  }

  test('folders that are no runs', async () => {
    await mkdir(path('empty'))
    await refused(
      /empty" is not a run folder: there is no model\.json in it; give a folder written by/,
      path('lloyd'),
      path('empty'),
    )
    await refused(/nowhere" is not a run folder/, path('nowhere'))
    await refused(/vectors\.npy" is not a run folder/, path('vectors.npy'))
    await mkdir(path('broken'))
    await writeFile(path('broken/model.json'), '{')
    await refused(/broken" is not a run folder: its model\.json is not a JSON object/, path('broken'))
    await writeFile(path('broken/model.json'), '{"format": "centroidal images"}')
    await refused(/broken" is not a run folder: its model\.json has another format/, path('broken'))
    await refused(/^Argument <runs> is missing/)
  })

  test('a page that cannot be written, classes of other vectors', async () => {
    await refused(/^Cannot write to ".*x\.html"/, path('lloyd'), path('sharp'), '--out', path('no/where/x.html'))
    await writeFile(path('few.csv'), '1\n2\n')
    await refused(
      /few\.csv" contains 2 numbers: give one for each of the 600/,
      path('lloyd'),
      '--truth',
      path('few.csv'),
    )
    await refused(/^Option --truth requires runs with labels/, path('pq'), '--truth', path('few.csv'))
    expect(existsSync(path('no'))).toBe(false)
  })
})

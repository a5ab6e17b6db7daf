/** quantize, encode, decode, search and evaluate neighbours, as people run them one after the other. */
import { readdir, stat } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { loadQuantizer, nearest, readIntegers, readVectors, writeNeighbors } from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { ending, jsonLines, result, startCli } from './run-cli.ts'
import { runInside } from './run-inside.ts'
import { writeBlobs, writeNoise } from './vectors.ts'

const path = temporaryFolder()

beforeAll(async () => {
  await writeBlobs(path('vectors.npy'), path('classes.npy'))
  await writeNoise(path('noise.bvecs'), 3000, 24)
  const base = await readVectors(path('vectors.npy'))
  const truth = await nearest(base, base, { m: 3, device: 'cpu' })
  await writeNeighbors(path('truth.ivecs'), truth.labels, 3)
  result(
    await runInside('quantize', path('vectors.npy'), '-m', '4', '--codewords', '32', '--out', path('ck'), '--json'),
  )
})

describe('quantize', () => {
  test('tells every round and the result as JSON', async () => {
    const lines = jsonLines(
      await runInside(
        ...['quantize', path('vectors.npy'), '--type', 'pq', '-m', '3', '--codewords', '16', '--order', 'random'],
        ...['--iterations', '4', '--tolerance', '0', '--seed', '7', '--out', path('pq'), '--device', 'cpu', '--json'],
      ),
    )
    expect(lines.map(({ type }) => type)).toEqual([...Array(4).fill('iteration'), 'result'])
    expect(lines[4]).toMatchObject({
      quantizer: 'pq',
      m: 3,
      codewords: 16,
      order: 'random',
      rows: 600,
      cols: 8,
      seed: 7,
      codeBytes: 2,
      iterations: 4,
      stopped: 'iterations',
      device: 'cpu',
    })
    const quantizer = await loadQuantizer(path('pq'))
    expect(quantizer.distortion).toBe(lines[4].distortion)
  })

  test('in words', async () => {
    const { code, stdout, stderr } = await runInside(
      ...['quantize', path('vectors.npy'), '--type', 'itq', '-m', '6', '--out', path('itq')],
    )
    expect(code).toBe(0)
    expect(stdout).toMatch(/^itq: 1 byte per vector, trained on 600 vectors in /)
    expect(stdout).toMatch(/6 codes of 2 codewords, 6 dimensions of 8, order principal/)
    expect(stderr).toMatch(/round 1 of 100: distortion /)
    const files = ['books.npy', 'model.json', 'offset.npy', 'report.html', 'rotation.npy', 'run.json']
    expect((await readdir(path('itq'))).sort()).toEqual(files)
  })

  test.each([
    [['--type', 'magic'], /Option --type is "magic": .*pq/],
    [['-m', '9'], /Option m is 9: the vectors have 8 dimensions/],
    [['--codewords', '601'], /Option codewords is 601: there are only 600 vectors/],
    [['--rank', '4', '--order', 'natural', '-m', '2'], /Option order is "natural": .* requires order principal/],
  ])('%j is refused and nothing is written', async (flags, message) => {
    const ended = await runInside('quantize', path('vectors.npy'), ...flags, '--out', path('refused'))
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(message)
    await expect(stat(path('refused'))).rejects.toThrow()
  })

  test('Ctrl-C saves what was reached', async () => {
    const child = startCli(
      ...['quantize', path('noise.bvecs'), '-m', '4', '--iterations', '1000000', '--tolerance', '0'],
      ...['--out', path('stopped'), '--json'],
    )
    child.stdout?.once('data', () => child.kill('SIGINT'))
    const { code, stderr } = await ending(child)
    expect(code).toBe(130)
    expect(stderr).toMatch(/Interrupted after \d+ rounds?: the result so far is in /)
    expect((await loadQuantizer(path('stopped'))).facts.stopped).toBe('aborted')
  })
})

describe('codes', () => {
  test('encode, decode, search, evaluate', async () => {
    const encoded = result(
      await runInside(
        'encode',
        path('ck'),
        path('vectors.npy'),
        '--out',
        path('codes.npy'),
        '--device',
        'cpu',
        '--json',
      ),
    )
    expect(encoded).toMatchObject({ type: 'result', rows: 600, codeBytes: 4, device: 'cpu' })
    const quantizer = await loadQuantizer(path('ck'))
    const vectors = await readVectors(path('vectors.npy'))
    expect(await readVectors(path('codes.npy'))).toEqual(await quantizer.encode(vectors, { device: 'cpu' }))

    const decoded = result(
      await runInside('decode', path('ck'), path('codes.npy'), '--out', path('near.npy'), '--json'),
    )
    expect(decoded).toMatchObject({ rows: 600, cols: 8 })
    expect((await readVectors(path('near.npy'))).cols).toBe(8)

    const found = result(
      await runInside(
        ...['search', path('ck'), path('codes.npy'), path('vectors.npy'), '--nearest', '10'],
        ...['--out', path('found.ivecs'), '--distances', path('distances.npy'), '--json'],
      ),
    )
    expect(found).toMatchObject({ queries: 600, codes: 600, nearest: 10 })
    expect(await readIntegers(path('found.ivecs'))).toMatchObject({ rows: 600, cols: 10 })
    expect(await readVectors(path('distances.npy'))).toMatchObject({ rows: 600, cols: 10 })

    const told = result(
      await runInside('evaluate', 'neighbours', path('found.ivecs'), '--truth', path('truth.ivecs'), '--json'),
    )
    expect(told).toMatchObject({ type: 'result', queries: 600 })
    expect(Object.keys(told)).toEqual(['type', 'queries', 'recall@1', 'recall@10'])
    expect(told['recall@10']).toBeGreaterThan(0.5)
    expect(told['recall@10']).toBeGreaterThanOrEqual(told['recall@1'] as number)
  })

  test('in words, and exact with --rerank', async () => {
    await runInside('encode', path('ck'), path('vectors.npy'), '--out', path('again.npy'), '-q')
    const ended = await runInside(
      ...['search', path('ck'), path('again.npy'), path('vectors.npy'), '-n', '3', '--rerank', path('vectors.npy')],
      ...['--candidates', '600', '--out', path('exact.ivecs')],
    )
    expect(ended.stdout).toMatch(/^Found the 3 nearest of 600 codes for 600 queries in .* 360,000 comparisons/)
    const [exact, truth] = [await readIntegers(path('exact.ivecs')), await readIntegers(path('truth.ivecs'))]
    // The truth was found in 32 bits: a few near ties may stand the other way round.
    expect(exact.data.filter((id, i) => id !== truth.data[i]).length).toBeLessThan(10)
    const { stdout } = await runInside('evaluate', 'neighbours', path('exact.ivecs'), '--truth', path('truth.ivecs'))
    expect(stdout).toBe('600 queries, 3 neighbours each\n  recall@1        100.0%\n')

    const all = await runInside(
      ...['search', path('ck'), path('again.npy'), path('vectors.npy'), '-n', '700', '--out', path('all.ivecs')],
    )
    expect(all.stdout).toMatch(/^Found the 600 nearest of 600 codes/)
  })

  test('what does not fit is refused', async () => {
    const wide = await runInside('encode', path('ck'), path('noise.bvecs'), '--out', path('x.npy'))
    expect(wide).toMatchObject({ code: 2 })
    expect(wide.stderr).toMatch(/has 24 columns and the quantizer 8/)
    await runInside('encode', path('ck'), path('vectors.npy'), '--out', path('bits.npy'), '-q')
    const hamming = await runInside(
      ...[
        'search',
        path('ck'),
        path('bits.npy'),
        path('vectors.npy'),
        '--distance',
        'hamming',
        '--out',
        path('x.ivecs'),
      ],
    )
    expect(hamming.stderr).toMatch(/Option distance is "hamming": it requires codes of bits/)
    const lone = await runInside('evaluate', 'neighbours', path('classes.npy'))
    expect(lone.code).toBe(2)
    expect(lone.stderr).toMatch(/--truth/)
    const file = await runInside('encode', path('ck'), path('vectors.npy'), '--out', path('codes.txt'))
    expect(file.stderr).toMatch(/^".*codes\.txt" cannot be written: the formats for vectors are \.fvecs/)
    const none = await runInside('decode', path('nowhere'), path('bits.npy'), '--out', path('x.npy'))
    expect(none).toMatchObject({ code: 2, stdout: '' })
  })
})

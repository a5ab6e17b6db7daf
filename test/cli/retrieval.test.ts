/** Images found by their words, through the command line: vocabulary, index, query, evaluate ranking. */
import { stat, writeFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  buildIndex,
  createRandom,
  judgeRankings,
  loadIndex,
  loadModel,
  matrix,
  writeLabels,
  writeVectors,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { jsonLines, result } from './run-cli.ts'
import { runInside } from './run-inside.ts'

const path = temporaryFolder()
const [IMAGES, EACH, COLS, GROUP] = [12, 20, 4, 4]
const ROWS = IMAGES * EACH

/** Images of a group have their descriptors around the same six places. */
const random = createRandom(4)
const places = Array.from({ length: 18 * COLS }, () => random.uniform() * 10)
const vectors = matrix(
  Float32Array.from({ length: ROWS * COLS }, (_, at) => {
    const row = Math.floor(at / COLS)
    const group = Math.floor(row / EACH / GROUP)
    return places[(group * 6 + (row % 6)) * COLS + (at % COLS)] + random.uniform() * 0.1
  }),
  ROWS,
  COLS,
)
const images = Uint32Array.from({ length: ROWS }, (_, row) => Math.floor(row / EACH))
const groups = Uint32Array.from({ length: IMAGES }, (_, image) => Math.floor(image / GROUP))

beforeAll(async () => {
  await writeVectors(path('descriptors.npy'), vectors)
  await writeLabels(path('images.npy'), images)
  await writeLabels(path('groups.npy'), groups)
  const made = ['vocabulary', path('descriptors.npy'), '--words', '18', '--out', path('vocabulary')]
  result(await runInside(...made, '--json', '--quiet'))
  const indexed = ['index', path('vocabulary'), path('descriptors.npy'), '--images', path('images.npy')]
  result(await runInside(...indexed, '--out', path('index'), '--json', '--quiet'))
})

test('from descriptors to a score', async () => {
  const asked = await runInside(
    ...['query', path('index'), path('descriptors.npy'), '--images', path('images.npy')],
    ...['--words', '3', '--out', path('rankings.jsonl'), '--json'],
  )
  const lines = jsonLines(asked)
  expect(lines).toHaveLength(IMAGES + 1)
  expect(lines.at(-1)).toMatchObject({ type: 'result', queries: IMAGES, images: IMAGES, words: 3 })
  expect(asked.stderr).toBe('assigning words\n')

  const model = await loadModel(path('vocabulary'))
  const index = await buildIndex(model, vectors, images, { device: 'cpu' })
  const wanted = await index.searchAll(vectors, images, { device: 'cpu', words: 3 })
  lines.slice(0, -1).forEach((line, i) => {
    const { query, images, scores } = wanted[i]
    expect(line).toEqual({ type: 'ranking', query, images: [...images], scores: [...scores] })
  })
  const judged = judgeRankings(wanted, new Map(Array.from(groups, (group, image) => [image, group])))
  expect(judged).toMatchObject({ queries: IMAGES, alone: 0, map: 1, nsScore: 4 })

  const told = await runInside('evaluate', 'ranking', path('rankings.jsonl'), '--groups', path('groups.npy'), '--json')
  expect(result(told)).toEqual({ type: 'result', ...judged })
  // What --json printed is a file of rankings too, and groups may name their images.
  await writeFile(path('printed.jsonl'), asked.stdout)
  await writeFile(path('pairs.csv'), Array.from(groups, (group, image) => `${image},${group}`).join('\n'))
  const words = await runInside('evaluate', 'ranking', path('printed.jsonl'), '--groups', path('pairs.csv'))
  expect(words.stdout).toMatch(/^12 rankings\n {2}mAP +1\.0000 .*\n {2}N-S score +4\.000 of the first 4/)
})

test('one image, in words', async () => {
  await writeVectors(path('one.npy'), matrix(vectors.data.slice(0, EACH * COLS), EACH, COLS))
  const { code, stdout } = await runInside('query', path('index'), path('one.npy'), '--top', '3')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^1 query to 12 images, in .*\n {2}image 0: 0 1\.000 {2}\d+ \d\.\d{3} {2}\d+ \d\.\d{3}\n$/)
})

test('images are taken out and put in again', async () => {
  const removed = await runInside('index', path('index'), '--remove', '0,5', '--out', path('changed'), '--json')
  expect(result(removed)).toMatchObject({ images: 10, added: 0, removed: 2, descriptors: 0, words: 18 })
  expect([...(await loadIndex(path('changed'))).ids]).toEqual([1, 2, 3, 4, 6, 7, 8, 9, 10, 11])
  await writeLabels(path('zeros.npy'), new Uint32Array(EACH))
  await writeVectors(path('one.npy'), matrix(vectors.data.slice(0, EACH * COLS), EACH, COLS))
  const { stdout } = await runInside('index', path('changed'), path('one.npy'), '--images', path('zeros.npy'))
  expect(stdout).toMatch(/^11 images indexed by 18 words, in .*\n {2}added {5}1 image with 20 descriptors\n {2}index/)
  expect((await loadIndex(path('changed'))).has(0)).toBe(true)
})

describe('what cannot be is refused in a sentence', () => {
  const refused = async (message: RegExp, ...args: string[]): Promise<void> => {
    const ended = await runInside(...args)
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(message)
  }

  test('vocabulary and index', async () => {
    await refused(/^Option --words <count> is missing/, 'vocabulary', path('descriptors.npy'))
    await refused(/^Option --words is "0": give a whole number/, 'vocabulary', path('descriptors.npy'), '--words', '0')
    // It takes no number of clusters, and a vocabulary needs one.
    const finder = ['--words', '9', '--method', 'egm']
    await refused(
      /^Option --method is "egm": give one of auto, lloyd/,
      'vocabulary',
      path('descriptors.npy'),
      ...finder,
    )
    await refused(/^Neither descriptors nor --remove are given/, 'index', path('vocabulary'))
    await refused(/^Option --images is missing: give the file/, 'index', path('vocabulary'), path('descriptors.npy'))
    await refused(/^Image 99 is not among the 12 images of the index/, 'index', path('index'), '--remove', '99')
    await refused(
      /^Option --remove is "a": give comma-separated image numbers/,
      'index',
      path('index'),
      '--remove',
      'a',
    )
    const wrong = ['--images', path('groups.npy')]
    const short = /groups\.npy" contains 12 numbers: give one for each of the 240 descriptors/
    await refused(short, 'index', path('vocabulary'), path('descriptors.npy'), ...wrong, '-q', '--out', path('no'))
    await expect(stat(path('no'))).rejects.toThrow()
    const known = ['--images', path('images.npy')]
    await refused(/Image 0 is already in the index/, 'index', path('index'), path('descriptors.npy'), ...known, '-q')
  })

  test('query and evaluate ranking', async () => {
    await refused(/there is no such file/, 'query', path('vocabulary'), path('descriptors.npy'))
    const nowhere = ['--out', path('missing/rankings.jsonl')]
    await refused(/^Cannot write to ".*rankings\.jsonl"/, 'query', path('index'), path('descriptors.npy'), ...nowhere)
    await refused(/^Option --groups <file> is missing/, 'evaluate', 'ranking', path('rankings.jsonl'))
    await refused(/^Option --truth <file> or --vectors <file>, or both, is missing/, 'evaluate', path('groups.npy'))
    const truth = ['--groups', path('groups.npy')]
    await refused(/^Cannot read ".*nothing": there is no such file/, 'evaluate', 'ranking', path('nothing'), ...truth)
    await writeFile(path('bad.jsonl'), '{"query": 1, "images": [1]}\n[oops\n')
    await refused(/^Line 2 of ".*bad\.jsonl" is not a ranking/, 'evaluate', 'ranking', path('bad.jsonl'), ...truth)
    await writeFile(path('stranger.jsonl'), '{"query": 77, "images": [1]}\n')
    await refused(/^Query image 77 has no group/, 'evaluate', 'ranking', path('stranger.jsonl'), ...truth)
  })
})

test.each(['vocabulary', 'index', 'query', 'evaluate ranking'])('help of %s has an example', async (command) => {
  const { code, stdout, stderr } = await runInside(...command.split(' '), '--help')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(new RegExp(`^Usage: centroidal ${command}`))
  expect(stdout).toMatch(new RegExp(`Example:\n  centroidal ${command} `))
})

/** Exact search, recall of several neighbours, distances of assigned vectors, and names of rows and classes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { loadModel, nearest, overlapAt, readIntegers, readVectors } from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { jsonLines } from './run-cli.ts'
import { runInside } from './run-inside.ts'
import { writeBlobs } from './vectors.ts'

const path = temporaryFolder()
const CPU = ['--device', 'cpu', '--json']

beforeAll(async () => {
  await writeBlobs(path('vectors.npy'), path('classes.npy'))
})

async function result(...args: string[]): Promise<Record<string, unknown>> {
  const ended = await runInside(...args)
  if (ended.code !== 0) throw new Error(ended.stderr)
  return jsonLines(ended).at(-1) as Record<string, unknown>
}

async function refusal(...args: string[]): Promise<string> {
  const { code, stderr } = await runInside(...args)
  expect(code).toBe(2)
  return stderr.trim()
}

test.each(['euclidean', 'cosine', 'inner-product'] as const)(
  'nearest by %s writes what the library finds',
  async (metric) => {
    const files = ['--out', path('found.ivecs'), '--distances', path('far.npy')]
    const asked = ['nearest', path('vectors.npy'), path('vectors.npy'), '-n', '5', '--metric', metric, ...files, ...CPU]
    expect(await result(...asked)).toMatchObject({ queries: 600, vectors: 600, nearest: 5, metric })
    const vectors = await readVectors(path('vectors.npy'))
    const found = await nearest(vectors, vectors, { m: 5, metric, device: 'cpu' })
    expect(Uint32Array.from((await readIntegers(path('found.ivecs'))).data)).toEqual(found.labels)
    expect((await readVectors(path('far.npy'))).data).toEqual(found.distances)
  },
)

test('evaluate neighbours tells n-recall@n', async () => {
  const [found, truth] = [path('found.npy'), path('truth.npy')]
  await result('nearest', path('vectors.npy'), path('vectors.npy'), '-n', '10', '--out', truth, ...CPU)
  await result('nearest', path('vectors.npy'), path('vectors.npy'), '--metric', 'cosine', '--out', found, ...CPU)
  const told = await result('evaluate', 'neighbours', found, '--truth', truth, '--json')
  const share = overlapAt(await readIntegers(found), await readIntegers(truth), 10)
  expect(share).toBeGreaterThan(0)
  expect(share).toBeLessThan(1)
  expect(told['10-recall@10']).toBe(share)
  expect(told['recall@10']).toBe(1)
})

describe('of a clustering', () => {
  test('distances to the centres are written', async () => {
    await result('cluster', path('vectors.npy'), '-k', '6', '--out', path('run'), ...CPU)
    const files = ['--out', path('labels.npy'), '--distances', path('far.csv')]
    await result('assign', path('run'), path('vectors.npy'), ...files, ...CPU)
    const model = await loadModel(path('run'))
    const { distances } = await model.assign(await readVectors(path('vectors.npy')), { device: 'cpu' })
    expect((await readVectors(path('far.csv'))).data).toEqual(distances)
  })

  test('rows and classes have names', async () => {
    const classes = Array.from((await readIntegers(path('classes.npy'))).data)
    const animals = ['ant', 'bee', 'cat', 'dog', 'elk', 'fox']
    writeFileSync(path('truth.txt'), classes.map((number) => `"${animals[number]}"\r\n`).join(''))
    writeFileSync(path('names.txt'), classes.map((_, row) => `name ${row}\n`).join(''))
    const named = ['--truth', path('truth.txt'), '--names', path('names.txt')]
    const told = await result('cluster', path('vectors.npy'), '-k', '6', ...named, '--out', path('named'), ...CPU)
    const [{ cluster, names }] = told.members as { cluster: number; names: string[] }[]
    const { labels } = await loadModel(path('named'))
    for (const name of names) expect(labels[Number(name.slice(5))]).toBe(cluster)
    const page = readFileSync(path('named/report.html'), 'utf8')
    expect(page).toContain('name 3')
    for (const animal of animals) expect(page).toContain(animal)
    const numbers = await result('evaluate', path('named/labels.npy'), '--truth', path('classes.npy'), '--json')
    expect(await result('evaluate', path('named/labels.npy'), '--truth', path('truth.txt'), '--json')).toEqual(numbers)
    // The report is made anew from what was saved.
    expect(await runInside('report', path('named'), '--out', path('again.html'))).toMatchObject({ code: 0 })
    expect(readFileSync(path('again.html'), 'utf8')).toContain('elk')
    const few = await refusal('cluster', path('vectors.npy'), '-k', '6', '--names', path('missing.txt'))
    expect(few).toMatch(/Option --names is ".*missing\.txt": there is no such file\./)
  })
})

test('a mistyped option points to the nearest one and to the help of its command', async () => {
  expect(await refusal('cluster', 'x.npy', '--clusters', '3')).toMatch(/Unknown option --clusters: /)
  expect(await refusal('assign', 'run', 'x.npy', '--distance', 'd.npy')).toBe(
    'Unknown option --distance: did you mean --distances? centroidal assign --help lists all.',
  )
  expect(await refusal('evaluate', 'neighbours', 'x.npy', '--xyzzyx')).toBe(
    'Unknown option --xyzzyx: see centroidal evaluate neighbours --help.',
  )
  expect(await refusal('nearest', 'a.npy', '--out', 'b.npy')).toBe(
    'Argument <queries> is missing: see centroidal nearest --help.',
  )
})

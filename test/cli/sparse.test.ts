/** Documents as sparse rows, through the command line. */
import { readFile, writeFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { readIntegers, sparseMatrix, writeVectors } from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { result } from './run-cli.ts'
import { runInside } from './run-inside.ts'

const path = temporaryFolder()
const CLASSES = 4

/** Document i is about topic i mod 4, and uses ten words of its topic. */
beforeAll(async () => {
  const [rows, words] = [200, 10]
  const columns = Array.from({ length: rows * words }, (_, at) => {
    const row = Math.floor(at / words)
    return (row % CLASSES) * 20 + ((row * 7 + (at % words) * 3) % 20)
  })
  const offsets = Array.from({ length: rows + 1 }, (_, i) => i * words)
  const documents = sparseMatrix({ offsets, columns, values: columns.map(() => 1) }, rows, CLASSES * 20)
  await writeVectors(path('docs.npz'), documents)
  await writeFile(path('classes.csv'), Array.from({ length: rows }, (_, i) => i % CLASSES).join('\n'))
})

test('clusters, assigns and converts', async () => {
  const args = ['-k', '4', '--metric', 'cosine', '--restarts', '5', '--truth', path('classes.csv')]
  const made = result(await runInside('cluster', path('docs.npz'), ...args, '--json', '--out', path('run')))
  expect(made).toMatchObject({ rows: 200, cols: 80, method: 'lloyd', metric: 'cosine', nmi: 1 })
  const page = await readFile(path('run/report.html'), 'utf8')
  expect(page).toContain('80 numbers each and sparse (10 of them not zero on average, 13%)')
  result(await runInside('convert', path('docs.npz'), path('docs.mat'), '--json'))
  const assigned = await runInside('assign', path('run'), path('docs.mat'), '--out', path('labels.npy'), '--json')
  expect(result(assigned)).toMatchObject({ rows: 200, k: 4 })
  const [first, second] = [await readIntegers(path('labels.npy')), await readIntegers(path('run/labels.npy'))]
  expect(first.data).toEqual(second.data)
})

test('bisects by moves', async () => {
  const args = ['-k', '4', '--metric', 'cosine', '--method', 'bisecting', '--split-method', 'sharp']
  const truth = ['--truth', path('classes.csv'), '--json', '--out', path('bisected')]
  const made = result(await runInside('cluster', path('docs.npz'), ...args, ...truth))
  expect(made).toMatchObject({ rows: 200, method: 'bisecting', metric: 'cosine', nmi: 1 })
  const sharp = ['-k', '4', '--metric', 'cosine', '--method', 'sharp', '--restarts', '5', '--json']
  const moved = result(await runInside('cluster', path('docs.npz'), ...sharp, '--out', path('moved')))
  expect(moved).toMatchObject({ rows: 200, method: 'sharp' })
  const assigned = await runInside('assign', path('bisected'), path('docs.npz'), '--out', path('again.npy'), '--json')
  expect(result(assigned)).toMatchObject({ rows: 200, k: 4 })
})

test('a method that does not take sparse rows says which does', async () => {
  const { code, stderr } = await runInside(
    'cluster',
    path('docs.npz'),
    '-k',
    '4',
    '--method',
    'akm',
    '--out',
    path('no'),
  )
  expect(code).toBe(2)
  expect(stderr).toMatch(/akm.* requires dense rows, and .*docs\.npz is sparse; give lloyd/)
})

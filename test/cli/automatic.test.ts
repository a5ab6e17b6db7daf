/** `-k auto` from the command line: the number, the sentence about it, and what is refused. */
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { loadModel, matrix, writeVectors } from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { jsonLines, result, runCli } from './run-cli.ts'
import { runInside } from './run-inside.ts'
import { writeBlobs } from './vectors.ts'

const path = temporaryFolder()
const CPU = ['--device', 'cpu', '--threads', '2']
const SURE = 'found 6 and 6 clusters too, with the same members: the number is well determined.'

beforeAll(() => writeBlobs(path('vectors.npy'), path('classes.npy')))

test('prints the number and how sure it is, in words and in the report', async () => {
  const ended = await runCli('cluster', path('vectors.npy'), '-k', 'auto', '--out', path('words'))
  expect(ended.stderr).toContain('checking the number of clusters')
  expect(ended.code).toBe(0)
  expect(ended.stdout).toMatch(/^6 clusters of 600 vectors/)
  expect(ended.stdout).toContain(SURE)
  expect(ended.stdout).toContain('chosen by auto: finds the number of clusters')
  // By BIC a mixture does not begin with the vectors themselves.
  expect(ended.stdout).toMatch(/started +from centres chosen by greedy k-means\+\+/)
  expect(await readFile(path('words/report.html'), 'utf8')).toContain(SURE)
})

test('--json has it as numbers, and so has the folder', async () => {
  const ended = await runInside('cluster', path('vectors.npy'), '-k', 'auto', '--out', path('json'), '--json', ...CPU)
  const line = result(ended)
  expect(line).toMatchObject({
    ...{ type: 'result', k: 6, method: 'egm', start: 'auto', bic: expect.any(Number) },
    certainty: { others: [6, 6], stable: 6, sentence: expect.stringContaining(SURE) },
  })
  expect((line.certainty as { stability: number[] }).stability).toHaveLength(6)
  expect(jsonLines(ended)[0]).toMatchObject({ type: 'iteration', bic: expect.any(Number) })
  expect((await loadModel(path('json'))).facts.certainty).toEqual(line.certainty)
  // Without being asked nothing is checked.
  const plain = await runInside(
    'cluster',
    path('vectors.npy'),
    '--method',
    'egm',
    '--out',
    path('egm'),
    '--json',
    ...CPU,
  )
  expect(result(plain)).toMatchObject({ k: 6 })
  expect(result(plain)).not.toHaveProperty('certainty')
})

test('one vector, and vectors that are all the same, are one cluster', async () => {
  await writeVectors(path('one.npy'), matrix(Float32Array.of(1, 2), 1, 2))
  await writeVectors(path('same.npy'), matrix(new Float32Array(120).fill(4), 60, 2))
  for (const name of ['one', 'same']) {
    const ended = await runInside('cluster', path(`${name}.npy`), '-k', 'auto', '--out', path(name), '--json', ...CPU)
    expect(result(ended), name).toMatchObject({ k: 1, distortion: 0 })
  }
})

test('what cannot work ends in one sentence', async () => {
  const told = async (file: string, ...args: string[]): Promise<string> => {
    const { code, stderr } = await runInside('cluster', path(file), '--out', path('no'), ...CPU, ...args)
    expect(code, stderr).toBe(2)
    expect(existsSync(path('no'))).toBe(false)
    return stderr.trimEnd().split('\n').at(-1) ?? ''
  }
  const data = Float32Array.from({ length: 20 }, (_, i) => i)
  data[7] = Number.NaN
  await writeVectors(path('nan.npy'), matrix(data, 10, 2))
  await writeFile(path('sparse.mat'), '3 4 4\n1 2 3 1\n2 1\n1 1\n')
  expect(await told('nan.npy', '-k', 'auto')).toMatch(/^Row 3 of .*nan\.npy holds NaN in column 1/)
  expect(await told('sparse.mat', '-k', 'auto')).toMatch(
    /requires dense rows, and .*sparse\.mat.* is sparse; give k\.$/,
  )
  expect(await told('vectors.npy', '-k', 'foo')).toMatch(
    /^Option -k is "foo": give a whole number of clusters, 1 or more, or auto\./,
  )
  expect(await told('vectors.npy', '-k', 'Auto')).toMatch(
    /^Option -k is "Auto": give a whole number of clusters, 1 or more, or auto\./,
  )
  expect(await told('vectors.npy', '-k', 'auto', '--method', 'lloyd')).toMatch(/lloyd needs a number; leave method out/)
  expect(await told('vectors.npy')).toMatch(/-k is missing: .*-k auto/)
  const lambda = await told('vectors.npy', '-k', 'auto', '--lambda', '0.3')
  expect(lambda).toMatch(/lambda is 0.3: egm uses it only with criterion 'overlap'/)
})

/** Mixtures from the command line: the number of clusters is found, widths are kept, the plane is drawn. */
import { readFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { loadModel, matrix, readVectors, writeVectors } from '../../src/index.ts'
import { squareModes } from '../clustering/mixture-clouds.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { jsonLines, result } from './run-cli.ts'
import { runInside } from './run-inside.ts'

const path = temporaryFolder()
const PAPER = ['--criterion', 'overlap', '--lambda', '0.2', '--tau', '0.55']
const FIGURE_1 = ['--start', '50', '--sigma', '0.05', ...PAPER, '--iterations', '10']

beforeAll(async () => {
  await writeVectors(path('square.npy'), squareModes(1).points)
})

test('agm needs no -k and finds it; a model is saved, loaded and predicts', async () => {
  const out = ['--remember', '30', '--out', path('run'), '--json']
  const ended = await runInside('cluster', path('square.npy'), '--method', 'agm', ...FIGURE_1, ...out)
  expect(result(ended)).toMatchObject({ type: 'result', method: 'agm', k: 8, components: 8, start: '50' })
  const rounds = jsonLines(ended).slice(0, -1)
  expect(rounds[0]).toMatchObject({ purged: expect.any(Number), logLikelihood: expect.any(Number) })
  const model = await loadModel(path('run'))
  expect(model.centers.rows).toBe(8)
  expect(model.weights?.length).toBe(8)
  const sigmas = await readVectors(path('run/sigmas.npy'))
  expect(sigmas.data).toEqual(model.sigmas)
  // Wider than the modes by as much as they expand.
  for (const sigma of sigmas.data) {
    expect(sigma).toBeGreaterThan(0.025)
    expect(sigma).toBeLessThan(0.2)
  }
  const points = await readVectors(path('square.npy'))
  const device = { kind: 'cpu' } as const
  const { components, shares } = await model.responsibilities(points, 3, { device })
  const labels = await model.predict(points, { device })
  labels.forEach((label, i) => {
    expect(label).toBe(components[3 * i])
    expect(shares[3 * i]).toBeGreaterThanOrEqual(shares[3 * i + 1])
  })
  await expect(model.responsibilities(points, 9, { device })).rejects.toThrow(/r is 9/)
  const assigned = await runInside('assign', path('run'), path('square.npy'), '--out', path('labels.npy'), '--json')
  expect(result(assigned)).toMatchObject({ k: 8, rows: 800 })
})

test('the report draws centres and circles of each round, and what was left', async () => {
  const ended = await runInside('cluster', path('square.npy'), '--method', 'egm', ...FIGURE_1, '--out', path('drawn'))
  expect(ended.code).toBe(0)
  expect(ended.stdout).toContain('sigmas.npy')
  expect(ended.stdout).toContain('50 random vectors')
  const page = await readFile(path('drawn/report.html'), 'utf8')
  expect(page).toContain('The mixture, round by round')
  expect(page).toContain('<h3>Round 1</h3>')
  expect(page).toContain('Components left')
  expect(page).toContain('<th scope="col">deviation')
  expect(page).toMatch(/aria-label="Points, centres and circles of two deviations after round 1"/)
  expect(page).not.toMatch(/NaN/)
})

test('tells the tolerance as people write it', async () => {
  const start = ['--start', '50', '--sigma', '0.05', '--criterion', 'overlap', '--out', path('settled')]
  const ended = await runInside('cluster', path('square.npy'), '--method', 'egm', ...start)
  expect(ended.stdout).toContain('the log-likelihood changed by less than 0.0001 per column')
})

test('goes on from a folder', async () => {
  const first = ['--method', 'egm', ...FIGURE_1.slice(0, -2), '--iterations', '2', '--out', path('half'), '-q']
  expect((await runInside('cluster', path('square.npy'), ...first)).code).toBe(0)
  const rest = ['--resume', path('half'), '--iterations', '10', '--json']
  expect(result(await runInside('cluster', path('square.npy'), ...rest))).toMatchObject({ method: 'egm', k: 8 })
})

test('gmm wants a k, the others refuse one, and starts have to fit', async () => {
  const told = async (...args: string[]): Promise<string> =>
    (await runInside('cluster', path('square.npy'), '--out', path('no'), ...args)).stderr
  expect(await told('--method', 'gmm')).toMatch(/-k is missing/)
  expect(await told('--method', 'agm', '-k', '8')).toMatch(/agm finds the number of clusters/)
  expect(await told('--method', 'egm', '--start', '801')).toMatch(/from 1 to 800/)
  expect(await told('--method', 'egm', '--start', 'kpp')).toMatch(/for egm, give 'all'/)
  expect(await told('-k', '3', '--start', 'all')).toMatch(/start is "all"/)
  expect(await told('-k', '3', '--lambda', '0.1')).toMatch(/lloyd does not support this option/)
  expect(await told('--method', 'egm', '--criterion', 'overlap', '--lambda', '2')).toMatch(/0 to 1/)
  expect(await told('--method', 'egm', '--lambda', '0.2')).toMatch(/only with criterion 'overlap'/)
})

test('gmm with restarts keeps the likeliest', async () => {
  const few = matrix((await readVectors(path('square.npy'))).data.slice(0, 200), 100, 2)
  await writeVectors(path('few.npy'), few)
  const args = ['--method', 'gmm', '-k', '4', '--restarts', '3', '--start', 'random', '--out', path('gmm'), '--json']
  const lines = jsonLines(await runInside('cluster', path('few.npy'), ...args))
  const ends = [0, 1, 2].map(
    (restart) => lines.filter((line) => line.restart === restart).at(-1)?.logLikelihood as number,
  )
  expect(lines.at(-1)?.logLikelihood).toBe(Math.max(...ends))
})

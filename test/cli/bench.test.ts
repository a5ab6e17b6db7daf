/** `centroidal bench`: several methods, the same time, one table, one sentence. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { race, warmUp } from '../../src/cli/bench/race.ts'
import { textPlot } from '../../src/cli/bench/text-plot.ts'
import { judgeRaces } from '../../src/cli/bench/verdict.ts'
import {
  loadModel,
  METHODS,
  type MethodName,
  matrix,
  openDevice,
  openVectors,
  sparseMatrix,
  writeVectors,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { expectWholePage, headings } from './pages.ts'
import { ending, jsonLines, result, runCli, startCli } from './run-cli.ts'
import { writeBlobs, writeNoise } from './vectors.ts'

const path = temporaryFolder()

beforeAll(async () => {
  await writeBlobs(path('vectors.npy'), path('classes.npy'))
  await writeNoise(path('noise.npy'), 3000, 16)
})

interface Row {
  readonly method: string
  readonly distortion: number
  readonly above: number
  readonly rounds: number
  readonly seconds: number
  readonly secondsToNear: number | undefined
  readonly ended: string
}

test('runs each method for its time and tells all as JSON', async () => {
  const methods = ['lloyd', 'minibatch', 'closures']
  const args = ['-k', '200', '--seconds', '1.5', '--methods', methods.join(','), '--seed', '5', '--out', path('trial')]
  const lines = jsonLines(await runCli('bench', path('noise.npy'), ...args, '--json'))
  const told = lines.at(-1) as unknown as { methods: Row[]; best: string; sentence: string }
  expect(told).toMatchObject({ type: 'result', rows: 3000, cols: 16, k: 200, seconds: 1.5, seed: 5, sparse: false })
  expect(told.methods.map(({ method }) => method).sort()).toEqual([...methods].sort())
  const lowest = told.methods[0].distortion
  for (const row of told.methods) {
    const rounds = lines.filter(({ type, method }) => type === 'iteration' && method === row.method) as unknown as Row[]
    expect(rounds).toHaveLength(row.rounds)
    expect(row.distortion).toBe(rounds.at(-1)?.distortion)
    expect(row.above).toBeCloseTo(row.distortion / lowest - 1, 12)
    expect(row.seconds).toBeLessThan(3)
    expect(row.secondsToNear).toBe(rounds.find(({ distortion }) => distortion <= lowest * 1.01)?.seconds)
    const model = await loadModel(path(`trial/${row.method}`))
    expect(model.distortion).toBe(row.distortion)
    expect(model.facts).toMatchObject({ method: row.method, k: 200, seed: 5 })
    expect(model.facts.stopped).toBe(row.ended === 'time' ? 'seconds' : 'converged')
  }
  expect(told.sentence).toContain(`${told.best} has the lowest distortion for noise.npy with 200 clusters`)
  const kept = JSON.parse(await readFile(path('trial/bench.json'), 'utf8')) as { best: string; courses: unknown[] }
  expect(kept.best).toBe(told.best)
  expect(kept.courses).toHaveLength(3)
  const page = await readFile(path('trial/report.html'), 'utf8')
  expectWholePage(page)
  expect(headings(page)).toEqual([
    'Methods',
    'Course',
    'Distortion over time',
    'Distortion over rounds',
    'How it was made',
  ])
  expect(page.match(/<tr>/g)).toHaveLength(1 + 3)
  expect(page).toContain(told.sentence)
  expect(page).toContain('with the same seed')
})

test('the clock stops a method in the middle of a round', async () => {
  const source = await openVectors(path('noise.npy'))
  const device = await openDevice({ kind: 'cpu', threads: 1 })
  const seconds: number[] = []
  const hooks = { signal: new AbortController().signal, onProgress: () => {}, onRound: () => {} }
  const options = { k: 1500, seconds: 0.1, seed: 0, metric: 'euclidean' } as const
  const began = performance.now()
  const { ended, rounds, model } = await race(source, device, 'minibatch', options, {
    ...hooks,
    onRound: (round) => seconds.push(round.seconds),
  })
  expect(performance.now() - began).toBeLessThan(3000)
  expect(ended).toBe('time')
  expect(rounds.map((round) => round.seconds)).toEqual(seconds)
  expect(model?.facts.iterations.length ?? 0).toBe(rounds.length)
  if (model) expect(model.facts).toMatchObject({ stopped: 'seconds', options: { seconds: 0.1 } })
  await device.close()
  await source.close?.()
})

test('what breaks after the time was up is not taken for a slow method', async () => {
  const device = await openDevice({ kind: 'cpu', threads: 1 })
  const hooks = { signal: new AbortController().signal, onProgress: () => {}, onRound: () => {} }
  const broken = {
    ...{ rows: 300, cols: 4, type: 'f32' as const, name: 'vectors on a disk' },
    async read(): Promise<Float32Array> {
      await new Promise((resolve) => setTimeout(resolve, 50))
      throw new Error('The disk is gone.')
    },
  }
  const options = { k: 5, seconds: 0.01, seed: 0, metric: 'euclidean' } as const
  await expect(race(broken, device, 'lloyd', options, hooks)).rejects.toThrow('The disk is gone.')
  await device.close()
})

test.each(['f32', 'u8', 'sparse'] as const)('what %s vectors need is started up before the clock is', async (kind) => {
  const device = await openDevice({ kind: 'cpu', threads: 1 })
  let run: string[] = []
  const { run: original } = device
  device.run = (job, control) => {
    const watched = {
      ...job,
      *cpu(memory: Parameters<typeof job.cpu>[0]) {
        for (const pass of job.cpu(memory)) {
          run.push(pass.entry)
          yield pass
        }
      },
    }
    return original.call(device, watched, control)
  }
  const values = Float32Array.from({ length: 1200 }, (_, i) => (i * 7919) % 251)
  const columns = Array.from(values, (_, i) => i % 4)
  const offsets = Array.from({ length: 301 }, (_, i) => i * 4)
  const vectors = {
    f32: matrix(values, 300, 4),
    u8: matrix(Uint8Array.from(values), 300, 4),
    sparse: sparseMatrix({ offsets, columns, values }, 300, 4),
  }[kind]
  await writeVectors(path(`${kind}.${kind === 'sparse' ? 'npz' : 'npy'}`), vectors)
  const source = await openVectors(path(`${kind}.${kind === 'sparse' ? 'npz' : 'npy'}`))
  const { signal } = new AbortController()
  await warmUp(device, 'lloyd', source, 'euclidean', signal)
  const started = new Set(run)
  run = []
  const options = { k: 5, seconds: 5, seed: 0, metric: 'euclidean' } as const
  await race(source, device, 'lloyd', options, { signal, onProgress: () => {}, onRound: () => {} })
  expect(run.length).toBeGreaterThan(0)
  expect(run.filter((name) => !started.has(name))).toEqual([])
  await device.close()
  await source.close?.()
})

test('its folders are runs that report compares', async () => {
  const told = result(
    await runCli('report', path('trial/lloyd'), path('trial/closures'), '--out', path('c.html'), '--json'),
  )
  expect(told.runs).toMatchObject([{ method: 'lloyd' }, { method: 'closures' }])
})

test('in words: a table, a plot and a sentence; methods and k by default', async () => {
  const { code, stdout, stderr } = await runCli(
    'bench',
    path('vectors.npy'),
    '--seconds',
    '0.6',
    '--out',
    path('words'),
  )
  expect(code).toBe(0)
  expect(stdout).toMatch(/^vectors\.npy: 600 vectors with 8 dimensions, 24 clusters, 0\.6 s for each method/)
  for (const method of ['lloyd', 'sharp', 'closures-sharp', 'bisecting', 'minibatch']) {
    expect(stdout).toMatch(new RegExp(`^  [a-e] ${method} +[\\d.,]+ +[\\d.]+% +\\d+ `, 'm'))
  }
  expect(stdout).toMatch(/ │a*/)
  expect(stdout).toMatch(/has the lowest distortion for vectors\.npy with 24 clusters and 0\.6 s: /)
  expect(stdout).toContain(path('words/report.html'))
  expect(stderr).toMatch(/^lloyd \(1 of 5\): distortion /m)
})

test('sparse rows: the methods that take them', async () => {
  const rows = Array.from({ length: 80 }, (_, i) => i)
  const columns = rows.flatMap((i) => [i % 5, 10 + (i % 7)])
  const documents = sparseMatrix(
    { offsets: [...rows, 80].map((i) => 2 * i), columns, values: columns.map(() => 1) },
    80,
    40,
  )
  await writeVectors(path('docs.npz'), documents)
  const told = result(
    await runCli('bench', path('docs.npz'), '-k', '5', '--seconds', '0.6', '--out', path('s'), '--json'),
  )
  const takers = (Object.keys(METHODS) as MethodName[]).filter(
    (name) => METHODS[name].sparse && !METHODS[name].findsCount,
  )
  expect((told.methods as Row[]).map(({ method }) => method).sort()).toEqual(takers.sort())
  expect(told.sparse).toBe(true)
  expect(await readFile(path('s/report.html'), 'utf8')).toContain('dimensions, sparse')
  const refused = await runCli('bench', path('docs.npz'), '--methods', 'akm,lloyd', '--out', path('no'))
  expect(refused.stderr).toMatch(/^Option --methods has akm: it requires dense rows.*give lloyd/)
})

test('Ctrl-C keeps the results so far', async () => {
  const args = ['-k', '100', '--seconds', '100', '--methods', 'minibatch,lloyd', '--out', path('stopped'), '--json']
  const child = startCli('bench', path('noise.npy'), ...args)
  child.stdout?.once('data', () => child.kill('SIGINT'))
  const ended = await ending(child)
  expect(ended.code, ended.stderr).toBe(130)
  expect(ended.stderr).toMatch(/Interrupted after 0 of 2 methods: the results so far are in .*stopped\.$/m)
  expect(jsonLines(ended).at(-1)).toMatchObject({ methods: [{ method: 'minibatch', ended: 'interrupted' }] })
  expectWholePage(await readFile(path('stopped/report.html'), 'utf8'))
})

test('a time in which nothing is done', async () => {
  const ended = await runCli(
    'bench',
    path('noise.npy'),
    '-k',
    '900',
    '--seconds',
    '0.001',
    '--methods',
    'lloyd',
    '--out',
    path('none'),
  )
  expect(ended.code).toBe(0)
  expect(ended.stdout).toMatch(
    /No method finished a round within 0\.001 s: increase --seconds, or use fewer clusters\./,
  )
  expect(existsSync(path('none'))).toBe(false)
})

describe('what is refused', () => {
  test.each([
    [['--methods', 'loyd'], /^Option --methods is "loyd": did you mean lloyd\?$/m],
    [['--methods', 'lloyd,agm'], /^Option --methods is "agm": it finds the number of clusters itself/],
    [['--seconds', '0'], /^Option --seconds is "0": give a number of seconds above 0\./],
    [['-k', '601'], /^Option -k is "601": there are only 600 vectors/],
    [['-k', '0'], /^Option -k is "0": give a whole number of clusters/],
  ])('%j', async (args, sentence) => {
    const ended = await runCli('bench', path('vectors.npy'), ...args, '--out', path('never'))
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(sentence)
    expect(existsSync(path('never'))).toBe(false)
  })
})

test('help says what it is not', async () => {
  const { stdout } = await runCli('bench', '--help')
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    'what the project measures of itself is npm run bench in its repository',
  )
})

describe('the verdict', () => {
  const course = (method: MethodName, ...points: [seconds: number, distortion: number][]) => ({
    method,
    model: undefined,
    ended: 'time' as const,
    rounds: points.map(([seconds, distortion], i) => ({
      ...{ iteration: i + 1, seconds, distortion, moved: 1, candidates: 1, restart: 0 },
    })),
  })
  const context = { k: 10, seconds: 20, file: 'x.npy' }

  test('the lowest is best; who is near sooner is named', () => {
    const { best, rows, sentence } = judgeRaces(
      [course('lloyd', [1, 120], [9, 100]), course('closures', [0.5, 100.8]), course('hkm', [0.2, 150])],
      context,
    )
    expect(best).toBe('lloyd')
    expect(rows.map(({ method, secondsToNear }) => [method, secondsToNear])).toEqual([
      ['lloyd', 9],
      ['closures', 0.5],
      ['hkm', undefined],
    ])
    expect(sentence).toBe(
      'lloyd has the lowest distortion for x.npy with 10 clusters and 20 s: 100; it came within 1% of that after 9 s. Next is closures, 0.80% above it. closures comes within 1% of the best sooner, after 0.5 s.',
    )
  })

  test('of two that end alike, the one that was near first', () => {
    const { best, sentence } = judgeRaces([course('lloyd', [9, 100]), course('sharp', [2, 100.05])], context)
    expect(best).toBe('sharp')
    expect(sentence).toContain('lloyd ends as low (within 0.1%) but takes longer to get there.')
  })

  test('of one, and of none', () => {
    expect(judgeRaces([course('lloyd', [9, 100])], context).sentence).toMatch(/^Only lloyd has a result/)
    expect(judgeRaces([course('lloyd')], context)).toMatchObject({ best: undefined, rows: [{ rounds: 0 }] })
  })

  test('the plot: time to the right, distortion upwards, nothing before a first round', () => {
    const lines = textPlot(
      [
        {
          letter: 'a',
          points: [
            [1, 4],
            [10, 2],
          ],
        },
      ],
      10,
    )
    expect(lines).toHaveLength(12 + 2)
    expect(lines[11]).toMatch(/^ *2 │ *a$/)
    expect(lines[11].trimEnd()).toHaveLength(lines[12].length)
    expect(lines.at(-1)).toMatch(/1 s +10 s$/)
    expect(textPlot([{ letter: 'a', points: [] }], 10)).toEqual([])
    // As many rounds as a quick method goes on few points in a minute.
    const many = Array.from({ length: 200_000 }, (_, i) => [(i + 1) / 20_000, 1 + 1 / (i + 1)] as const)
    expect(textPlot([{ letter: 'a', points: many }], 10)).toHaveLength(12 + 2)
  })
})

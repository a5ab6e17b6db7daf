/** A run from file to folder: what it tells, what it writes, and that it can go on. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, readlink } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { distortion, loadModel, matrix, readIntegers, readVectors, writeVectors } from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { ending, jsonLines, result, runCli, startCli } from './run-cli.ts'
import { writeBlobs, writeNoise } from './vectors.ts'

/** Nothing settles: centres go on stepping, so a signal always comes before the end. */
const ENDLESS = [
  '-k',
  '200',
  '--method',
  'minibatch',
  '--start',
  'random',
  '--tolerance',
  '0',
  '--iterations',
  '100000',
]

const path = temporaryFolder()

beforeAll(async () => {
  await writeBlobs(path('vectors.npy'), path('classes.npy'))
  await writeNoise(path('noise.npy'), 3000, 16)
})

/** Files that a process has open, on Linux; also those that were removed. */
async function openFiles(pid: number): Promise<string[]> {
  const names = await readdir(`/proc/${pid}/fd`)
  return Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')))
}

test('sizes of memory need a unit', async () => {
  const ask = (size: string) =>
    runCli('cluster', path('vectors.npy'), '-k', '6', '--memory', size, '--out', path('none'))
  const old = await ask('50')
  expect(old.code).toBe(2)
  expect(old.stderr).toContain('Option --memory is "50": give a size with its unit, such as 1GB or 512MB')
  expect(old.stderr).toContain('--remember')
  for (const [size, cure] of [
    ['1kb', 'give at least 64MB'],
    ['9999999TB', 'give a smaller size'],
    ['-1GB', 'give a size with its unit'],
  ]) {
    expect((await ask(size)).stderr).toContain(cure)
  }
  expect(existsSync(path('none'))).toBe(false)
})

test('--json prints a line for each round and one for the result, and nothing else', async () => {
  const ended = await runCli(
    ...['cluster', path('vectors.npy'), '-k', '6', '--truth', path('classes.npy')],
    ...['--out', path('json'), '--device', 'cpu', '--threads', '2', '--device-memory', '64', '--json'],
  )
  const lines = jsonLines(ended)
  const rounds = lines.slice(0, -1)
  rounds.forEach((round, i) => {
    expect(round).toEqual({
      type: 'iteration',
      iteration: i + 1,
      distortion: expect.any(Number),
      moved: expect.any(Number),
      candidates: 6,
      seconds: expect.any(Number),
      restart: 0,
    })
  })
  expect(lines.at(-1)).toEqual({
    type: 'result',
    method: 'lloyd',
    methodReason: expect.stringContaining('fewer than 100 clusters'),
    settings: {},
    start: 'auto',
    metric: 'euclidean',
    k: 6,
    rows: 600,
    cols: 8,
    seed: 0,
    distortion: rounds.at(-1)?.distortion,
    iterations: rounds.length,
    candidates: 6,
    stopped: 'converged',
    seconds: expect.any(Number),
    device: 'cpu',
    deviceName: expect.stringContaining('2 threads'),
    deviceReason: 'asked for',
    out: path('json'),
    nmi: expect.closeTo(1, 6),
    ari: expect.closeTo(1, 6),
    purity: 1,
    entropy: expect.closeTo(0, 6),
    clusters: 6,
    classes: 6,
  })
  expect(ended.stderr).toMatch(/^round 1 of 100: distortion .* moved$/m)
})

test('the folder holds what was told', async () => {
  const told = result(
    await runCli('cluster', path('noise.npy'), '-k', '40', '--iterations', '7', '--out', path('held'), '--json', '-q'),
  )
  const centers = await readVectors(path('held/centers.npy'))
  const labels = await readIntegers(path('held/labels.npy'))
  const measured = distortion(await readVectors(path('noise.npy')), centers, labels.data)
  expect(Number(told.distortion) / measured).toBeCloseTo(1, 6)
  const model = await loadModel(path('held'))
  expect(model.distortion).toBe(told.distortion)
  expect(model.facts.iterations).toHaveLength(7)
})

test('the same seed gives the same bytes', async () => {
  for (const out of ['once', 'twice']) {
    await runCli('cluster', path('noise.npy'), '-k', '30', '--seed', '9', '--iterations', '5', '--out', path(out), '-q')
  }
  for (const file of ['centers.npy', 'labels.npy']) {
    expect(await readFile(path(`once/${file}`))).toEqual(await readFile(path(`twice/${file}`)))
  }
})

test('in words', async () => {
  const { code, stdout } = await runCli(
    ...[
      'cluster',
      path('vectors.npy'),
      '-k',
      '6',
      '--truth',
      path('classes.npy'),
      '--out',
      path('words'),
      '-o',
      path('words'),
    ],
  )
  expect(code).toBe(0)
  expect(stdout).toMatch(/^6 clusters of 600 vectors with 8 dimensions, in /)
  expect(stdout).toMatch(/stopped +after \d+ rounds? of lloyd: no point changed its cluster/)
  expect(stdout).toMatch(/started +from centres chosen by greedy k-means\+\+/)
  expect(stdout).toMatch(/evaluated +all 6 centres per vector/)
  expect(stdout).not.toMatch(/settings/)
  expect(stdout).toMatch(/sizes +100 smallest, 100 median, 100 largest/)
  expect(stdout).toMatch(/device +WebAssembly, .*\n.*because CENTROIDAL_NO_GPU is set/)
  expect(stdout).toMatch(/100\.0% of the points have the most frequent class of their cluster/)
  expect(stdout).toContain(path('words/report.html'))
})

test('options of a method: what was given, defaults for the rest, and how many centres were evaluated', async () => {
  const args = [
    'cluster',
    path('noise.npy'),
    '-k',
    '60',
    '--method',
    'canopy',
    '--iterations',
    '3',
    '--start',
    'random',
  ]
  const told = result(await runCli(...args, '--canopy-radius', '0.8', '--out', path('canopy'), '--json', '-q'))
  expect(told).toMatchObject({ method: 'canopy', settings: { canopyRadius: 0.8 }, start: 'random' })
  expect(told.candidates).toBeGreaterThan(0)
  expect(told.candidates).toBeLessThan(60)
  const { stdout } = await runCli(...args, '--out', path('canopy'))
  expect(stdout).toMatch(/stopped +after 3 rounds of canopy/)
  expect(stdout).toMatch(/started +from random vectors/)
  expect(stdout).toMatch(/settings +canopy-radius 0\.7\n/)
  expect(stdout).toMatch(/evaluated +[\d.]+ of 60 centres per vector/)
})

test('--quiet says nothing', async () => {
  const ended = await runCli('cluster', path('vectors.npy'), '-k', '6', '--out', path('quiet'), '--quiet')
  expect(ended).toEqual({ code: 0, stdout: '', stderr: '' })
})

test('starts from given centres, with weights, cosine and several restarts', async () => {
  await writeVectors(path('start.npy'), await firstRows(4))
  await writeVectors(path('weights.csv'), { rows: 600, cols: 1, data: new Float32Array(600).fill(2) })
  const told = result(
    await runCli(
      ...['cluster', path('vectors.npy'), '-k', '4', '--start', path('start.npy'), '--weights', path('weights.csv')],
      ...['--metric', 'cosine', '--restarts', '2', '--empty', 'keep', '--out', path('all'), '--json'],
    ),
  )
  expect(told).toMatchObject({ metric: 'cosine', k: 4 })
  expect((await loadModel(path('all'))).facts.options).toMatchObject({ start: 'given', weighted: true, empty: 'keep' })
})

async function firstRows(rows: number): Promise<{ rows: number; cols: number; data: Float32Array }> {
  const { cols, data } = await readVectors(path('vectors.npy'))
  return { rows, cols, data: Float32Array.from(data.subarray(0, rows * cols)) }
}

describe('going on', () => {
  const common = (): string[] => ['cluster', path('noise.npy'), '--tolerance', '0', '-q']

  test('a resumed run ends where an unbroken one does, to the bit', async () => {
    await runCli(...common(), '-k', '25', '--seed', '4', '--iterations', '8', '--out', path('unbroken'))
    await runCli(...common(), '-k', '25', '--seed', '4', '--iterations', '3', '--out', path('broken'))
    const told = result(await runCli(...common(), '--resume', path('broken'), '--iterations', '8', '--json'))
    expect(told).toMatchObject({ iterations: 8, seed: 4, k: 25, out: path('broken') })
    for (const file of ['centers.npy', 'labels.npy']) {
      expect(await readFile(path(`broken/${file}`))).toEqual(await readFile(path(`unbroken/${file}`)))
    }
  })

  test('a resumed run keeps the options of its method, unless it goes on with another', async () => {
    const out = path('canopies')
    const method = ['--method', 'canopy', '--canopy-radius', '0.9']
    await runCli(...common(), '-k', '25', ...method, '--iterations', '2', '--out', out)
    const same = result(await runCli(...common(), '--resume', out, '--iterations', '3', '--json'))
    expect(same).toMatchObject({ method: 'canopy', settings: { canopyRadius: 0.9 }, iterations: 3 })
    const next = ['--method', 'minibatch', '--iterations', '4', '--json']
    const other = result(await runCli(...common(), '--resume', out, ...next))
    expect(other).toMatchObject({ method: 'minibatch', settings: { batch: 1024 }, iterations: 4 })
  })

  test.each(['SIGINT', 'SIGTERM'] as const)('%s saves the rounds so far and exits with 130', async (signal) => {
    const out = path(`stopped-${signal}`)
    const child = startCli(...common(), ...ENDLESS, '--out', out, '--json')
    child.stdout?.once('data', () => child.kill(signal))
    const ended = await ending(child)
    expect(ended.code, ended.stderr).toBe(130)
    expect(ended.stderr).toMatch(/^Interrupted after \d+ rounds?: the result so far is in .*--resume /)
    const lines = jsonLines(ended)
    expect(lines.at(-1)).toMatchObject({ type: 'result', stopped: 'aborted', iterations: lines.length - 1 })
    expect((await loadModel(out)).facts.iterations).toHaveLength(lines.length - 1)
  })

  test('an interrupted run goes on', async () => {
    const out = path('stopped-SIGINT')
    const next = (await loadModel(out)).facts.iterations.length + 2
    const resumed = result(await runCli(...common(), '--resume', out, '--iterations', `${next}`, '--json'))
    expect(resumed.iterations).toBe(next)
  })

  test('Ctrl-C before the first round leaves nothing', async () => {
    const out = path('too-early')
    const child = startCli('cluster', path('noise.npy'), '-k', '2000', '--start', 'kpp', '--out', out)
    child.stderr?.on('data', (text: Buffer) => {
      if (text.includes('choosing')) child.kill('SIGINT')
    })
    const { code, stdout, stderr } = await ending(child)
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
    expect(stderr).toMatch(/Interrupted before the first round was complete: nothing was written\.\n$/)
    expect(existsSync(out)).toBe(false)
  })

  test.each(['SIGINT', 'SIGKILL'] as const)('%s leaves nothing of what did not fit in memory', async (signal) => {
    const temp = path(`temp-${signal}`)
    await mkdir(temp)
    // Labels and trees of these vectors could take half of the least memory.
    const rows = 340_000
    const data = Uint8Array.from({ length: rows * 4 }, (_, i) => (i * 7919) % 251)
    await writeVectors(path('many.npy'), matrix(data, rows, 4))
    const limited = ['--memory', '64MB', '--temp', temp, '--device', 'cpu']
    const child = startCli(
      'cluster',
      path('many.npy'),
      ...ENDLESS,
      ...limited,
      '--out',
      path(`large-${signal}`),
      '--json',
    )
    let open: string[] = []
    child.stdout?.once('data', async () => {
      if (process.platform === 'linux') open = await openFiles(child.pid as number)
      child.kill(signal)
    })
    const ended = await ending(child)
    expect(ended.code, ended.stderr).toBe(signal === 'SIGINT' ? 130 : null)
    if (process.platform === 'linux') expect(open.some((file) => file.startsWith(temp))).toBe(true)
    expect(await readdir(temp)).toEqual([])
  })

  test('checkpoints are whole models', async () => {
    const out = path('checked')
    const child = startCli(...common(), ...ENDLESS, '--out', out, '--json', '--checkpoint-every', '2')
    let rounds = 0
    child.stdout?.on('data', (text: string) => {
      rounds += text.split('\n').length - 1
      if (rounds >= 4) child.kill('SIGKILL')
    })
    await ending(child)
    const model = await loadModel(out)
    expect(model.facts.iterations.length).toBeGreaterThanOrEqual(2)
    expect(model.labels).toHaveLength(3000)
  })
})

test('a reader that leaves early is no error', async () => {
  const child = startCli(
    'cluster',
    path('noise.npy'),
    '-k',
    '50',
    '--iterations',
    '6',
    '--out',
    path('pipe'),
    '--json',
    '-q',
  )
  child.stdout?.once('data', () => child.stdout?.destroy())
  const { code, stderr } = await ending(child)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect((await loadModel(path('pipe'))).facts.k).toBe(50)
})

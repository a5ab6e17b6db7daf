/** The smaller commands, and the help of all of them. */
import { readFile, stat } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  calinskiHarabasz,
  daviesBouldin,
  loadModel,
  METHODS,
  readIntegers,
  readVectors,
  START_NAMES,
  silhouette,
  writeLabels,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { jsonLines, result, runCli } from './run-cli.ts'
import { writeBlobs, writeNoise } from './vectors.ts'

const path = temporaryFolder()
const COMMANDS = [
  'cluster',
  'assign',
  'quantize',
  'encode',
  'decode',
  'search',
  'nearest',
  'ivf',
  'serve',
  'vocabulary',
  'index',
  'query',
  'info',
  'convert',
  'evaluate',
]

beforeAll(async () => {
  await writeBlobs(path('vectors.npy'), path('classes.npy'))
  await writeNoise(path('bytes.bvecs'), 50, 12)
  await runCli('cluster', path('vectors.npy'), '-k', '6', '--out', path('run'), '-q')
})

describe('assign', () => {
  test('gives the vectors of a run the labels they have', async () => {
    const told = result(
      await runCli(
        'assign',
        path('run'),
        path('vectors.npy'),
        '--out',
        path('labels.npy'),
        '--device',
        'cpu',
        '--json',
      ),
    )
    const model = await loadModel(path('run'))
    expect(told).toMatchObject({ type: 'result', rows: 600, k: 6, device: 'cpu', out: path('labels.npy') })
    expect(Number(told.distortion) / model.distortion).toBeCloseTo(1, 5)
    expect(Uint32Array.from((await readIntegers(path('labels.npy'))).data)).toEqual(model.labels)
  })

  test('in words', async () => {
    const { code, stdout } = await runCli('assign', path('run'), path('vectors.npy'), '--out', path('labels.csv'))
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Assigned 600 vectors to 6 clusters in /)
    expect((await readIntegers(path('labels.csv'))).rows).toBe(600)
  })

  test('vectors of another width are refused', async () => {
    const ended = await runCli('assign', path('run'), path('bytes.bvecs'), '--out', path('other.npy'))
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(/has 12 columns and the model 8/)
    await expect(stat(path('other.npy'))).rejects.toThrow()
  })

  test('labels that cannot be written are refused before the work', async () => {
    const ended = await runCli('assign', path('run'), path('vectors.npy'), '--out', path('labels.txt'))
    expect(ended.code).toBe(2)
    expect(ended.stderr).toMatch(/^".*labels\.txt" cannot be written: the formats for labels are/)
  })
})

test('convert', async () => {
  const told = result(await runCli('convert', path('bytes.bvecs'), path('bytes.npy'), '--json'))
  const { size } = await stat(path('bytes.npy'))
  expect(told).toEqual({ type: 'result', rows: 50, cols: 12, elements: 'u8', bytes: size, out: path('bytes.npy') })
  expect(await readVectors(path('bytes.npy'))).toEqual(await readVectors(path('bytes.bvecs')))
  const { stdout, stderr } = await runCli('convert', path('bytes.npy'), path('bytes.csv'))
  expect(stdout).toMatch(/^Wrote 50 vectors of 12 dimensions to .*bytes\.csv, /)
  expect(stderr).toBe('converting\n')
})

describe('evaluate', () => {
  test('as JSON', async () => {
    const told = result(await runCli('evaluate', path('run/labels.npy'), '--truth', path('classes.npy'), '--json'))
    expect(told).toMatchObject({ type: 'result', rows: 600, purity: 1, clusters: 6, classes: 6 })
    expect(told.nmi).toBeCloseTo(1, 6)
  })

  test('in words', async () => {
    const { stdout } = await runCli('evaluate', path('run/labels.npy'), '--truth', path('classes.npy'))
    expect(stdout).toMatch(/^600 points in 6 clusters, of 6 classes\n/)
    expect(stdout).toMatch(/NMI 1\.000, adjusted Rand index 1\.000/)
  })

  const judge = (...args: string[]) => runCli('evaluate', path('run/labels.npy'), '--vectors', ...args)

  test('by the vectors, as JSON', async () => {
    const [vectors, labels] = [await readVectors(path('vectors.npy')), (await loadModel(path('run'))).labels]
    const scores = {
      silhouette: await silhouette(vectors, labels),
      silhouetteMethod: 'exact',
      daviesBouldin: await daviesBouldin(vectors, labels),
      calinskiHarabasz: await calinskiHarabasz(vectors, labels),
    }
    const alone = result(await judge(path('vectors.npy'), '--json'))
    expect(alone).toEqual({ type: 'result', rows: 600, clusters: 6, ...scores })
    const both = result(await judge(path('vectors.npy'), '--truth', path('classes.npy'), '--json'))
    expect(both).toMatchObject({ ...alone, purity: 1, classes: 6 })
  })

  test('by the vectors, in words', async () => {
    const { stdout, stderr } = await judge(path('vectors.npy'))
    expect(stdout).toMatch(
      /^600 points in 6 clusters\n {2}silhouette 0\.\d{3} \(.*; exact\)\n {2}Davies-Bouldin index [\d.]+ .*\n {2}Calinski-Harabasz index [\d.,]+ .*\n$/,
    )
    expect(stderr).toBe('')
    const both = await judge(path('vectors.npy'), '--truth', path('classes.npy'))
    expect(both.stdout).toMatch(/^600 points in 6 clusters, of 6 classes\n[\s\S]*NMI 1\.000[\s\S]*silhouette 0\.\d{3}/)
  })

  test('by other vectors than the labels are of', async () => {
    const ended = await judge(path('bytes.bvecs'))
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(/^There are 50 vectors and 600 labels/)
  })

  test('by vectors where they have no use', async () => {
    const flags = ['--truth', path('classes.npy'), '--vectors', path('vectors.npy')]
    const ended = await runCli('evaluate', 'neighbours', path('classes.npy'), ...flags)
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(/^Option --vectors does not apply to evaluate neighbours/)
  })

  test('large sets: the simplified silhouette, with progress if it takes long', async () => {
    await writeNoise(path('many.bvecs'), 60_000, 64)
    await writeLabels(
      path('many.npy'),
      Uint32Array.from({ length: 60_000 }, (_, row) => row % 700),
    )
    const ended = await runCli('evaluate', path('many.npy'), '--vectors', path('many.bvecs'))
    expect(ended.stdout).toMatch(/silhouette -0\.\d{3} \(.*simplified: by the means of the clusters\)/)
    expect(ended.stderr).toMatch(/^computing the silhouette\n/)
  })

  test('vectors are no labels', async () => {
    const ended = await runCli('evaluate', path('vectors.npy'), '--truth', path('classes.npy'))
    expect(ended.code).toBe(2)
  })
})

describe('info', () => {
  test('in words', async () => {
    const { code, stdout, stderr } = await runCli('info')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/webgpu\n +missing +No WebGPU adapter: CENTROIDAL_NO_GPU is set/)
    expect(stdout).toMatch(/cpu {2}selected by auto\n +name +WebAssembly/)
    expect(stdout).toMatch(/Auto selects the CPU device because /)
  })

  test('as JSON', async () => {
    const [webgpu, cpu, last] = jsonLines(await runCli('info', '--json'))
    expect(webgpu).toMatchObject({ type: 'device', kind: 'webgpu', available: false, taken: false })
    expect(cpu).toMatchObject({
      kind: 'cpu',
      available: true,
      taken: true,
      limits: { memoryBytes: expect.any(Number) },
    })
    expect(last).toMatchObject({ type: 'result', taken: 'cpu', reason: expect.any(String) })
  })
})

describe('help', () => {
  test.each(COMMANDS)('of %s has an example', async (command) => {
    const { code, stdout, stderr } = await runCli(command, '--help')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^Usage: centroidal ${command}`))
    expect(stdout).toMatch(new RegExp(`Example:\n  centroidal ${command} ?`))
  })

  test('of cluster tells of every method, its options and the starts', async () => {
    const { stdout } = await runCli('cluster', '--help')
    const text = stdout.replace(/\s+/g, ' ')
    for (const [name, { summary, options }] of Object.entries(METHODS)) {
      expect(stdout).toMatch(new RegExp(`^  ${name} +`, 'm'))
      expect(text).toContain(summary)
      for (const { name: option, kind, fallback, help } of options) {
        const flag = option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
        expect(stdout).toMatch(new RegExp(`^  --${kind === 'switch' && fallback === true ? 'no-' : ''}${flag}\\b`, 'm'))
        expect(text).toContain(help)
      }
    }
    expect(text).toMatch(/--batch <count> (?:(?!--).)*\(minibatch, lvq; default: 1024 for minibatch, 256 for lvq\)/)
    for (const start of START_NAMES)
      expect(text).toMatch(new RegExp(`--start <name or file> .*\\b${start}\\b.* file of centres`))
  })

  test('is what no command at all gives', async () => {
    const { code, stdout } = await runCli()
    expect(code).toBe(0)
    for (const command of COMMANDS) expect(stdout).toContain(`  ${command} `)
  })

  test('the version is that of the package', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
    expect((await runCli('--version')).stdout).toBe(`${version}\n`)
  })
})

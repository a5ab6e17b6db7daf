/** What cannot work ends in one sentence and exit code 2, and leaves nothing behind. */
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { matrix, writeVectors } from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { runCli } from './run-cli.ts'
import { writeBlobs } from './vectors.ts'

const path = temporaryFolder()
const vectors = (): string => path('vectors.npy')
const classes = (): string => path('classes.npy')

beforeAll(() => writeBlobs(vectors(), classes()))

/** The sentence, if all went wrong as it should. */
async function refusal(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(...args)
  expect(stdout).toBe('')
  expect(code, stderr).toBe(2)
  // What was being done may be told before it fails; the failure itself is one line, the last.
  const lines = stderr.trimEnd().split('\n')
  expect(lines.slice(0, -1).filter((line) => !/^(checking|loading|choosing) /.test(line))).toEqual([])
  return lines.at(-1) ?? ''
}

async function clusterRefusal(file: string, ...args: string[]): Promise<string> {
  const out = path('never')
  const sentence = await refusal('cluster', file, '--out', out, ...args)
  expect(existsSync(out)).toBe(false)
  return sentence
}

describe('vectors', () => {
  test('a truncated file', async () => {
    const whole = await readFile(vectors())
    await writeFile(path('cut.npy'), whole.subarray(0, whole.length - 100))
    expect(await clusterRefusal(path('cut.npy'), '-k', '3')).toMatch(/cut\.npy.* should end at byte .*It was cut/)
  })

  test('a NaN', async () => {
    await writeVectors(path('nan.npy'), matrix(Float32Array.of(1, 2, 3, Number.NaN, 5, 6), 3, 2))
    expect(await clusterRefusal(path('nan.npy'), '-k', '2')).toMatch(/^Row 1 of .*nan\.npy holds NaN in column 1/)
  })

  test('no such file', async () => {
    expect(await clusterRefusal(path('nowhere.npy'), '-k', '3')).toMatch(/^Cannot read .*nowhere\.npy.*no such file/)
  })

  test('fewer different vectors than clusters', async () => {
    await writeVectors(path('same.npy'), matrix(Uint8Array.of(1, 1, 2, 2, 1, 1, 2, 2), 4, 2))
    expect(await clusterRefusal(path('same.npy'), '-k', '3')).toMatch(/k is 3: .* only 2 different vectors/)
  })
})

describe('options', () => {
  test.each([
    [['-k', '0'], /^Option -k is "0": give a whole number of clusters, 1 or more, or auto\.$/],
    [['-k', 'ten'], /^Option -k is "ten": give a whole number/],
    [['-k', '601'], /k is 601: there are only 600 vectors/],
    [[], /^Option -k is missing/],
    [['-k'], /^Option -k <count> requires a value/],
    [
      ['-k', '3', '--itterations', '5'],
      /^Unknown option --itterations: did you mean --iterations\? centroidal cluster --help lists all\.$/,
    ],
    [['--n_clusters', '3'], /^Unknown option --n_clusters: did you mean -k\? centroidal cluster --help lists all\.$/],
    [['-k', '3', '--max-iter', '5'], /^Unknown option --max-iter: did you mean --iterations\?/],
    [['-k', '3', '--init', 'kpp'], /^Unknown option --init: did you mean --start\?/],
    [['-k', '3', '--n_init', '5'], /^Unknown option --n_init: did you mean --restarts\?/],
    [['-k', '3', '--method', 'loyd'], /^Option --method is "loyd": did you mean lloyd\?$/],
    [['-k', '3', '--device', 'gpu'], /did you mean webgpu\?$/],
    [['-k', '3', '--tolerance', 'small'], /^Option --tolerance is "small": give a number/],
    [['-k', '3', '--start', 'kp'], /^Option --start is "kp": did you mean kpp\?$/],
    [
      ['-k', '3', '--method', 'lloyd', '--batch', '9'],
      /^Option batch is 9: lloyd does not support this option; it belongs to .*minibatch, lvq.*\.$/,
    ],
    [['-k', '3', '--method', 'lvq', '--rate', '2'], /^Option rate is 2: lvq needs a number, 0 to 1\.$/],
    [['-k', '3', '--method', 'lvq', '--batch', '0'], /^Option batch is 0: lvq needs a whole number, 1 to 1000000\.$/],
    [['-k', '3', '--method', 'lvq', '--rate', 'high'], /^Option --rate is "high": give a number, 0 or more\.$/],
    [
      ['-k', '3', '--method', 'lvq', '--weights', 'W'],
      /^Option weights is a Float32Array of \d+: method lvq does not support weights; leave them out\.$/,
    ],
    [['-k', '3', '--image', '4x4'], /4x4.* 16 pixels, but .* has 8 columns/],
  ])('%j', async (args, sentence) => {
    const weights = path('weights.csv')
    await writeFile(weights, '1\n'.repeat(600))
    expect(await clusterRefusal(vectors(), ...args.map((arg) => (arg === 'W' ? weights : arg)))).toMatch(sentence)
  })

  test('classes of other vectors', async () => {
    await writeFile(path('few.csv'), '1\n2\n')
    const sentence = await clusterRefusal(vectors(), '-k', '3', '--truth', path('few.csv'))
    expect(sentence).toMatch(/few\.csv" contains 2 classes: give one for each of the 600 vectors/)
  })

  test('--device webgpu where there is none', async () => {
    expect(await clusterRefusal(vectors(), '-k', '3', '--device', 'webgpu')).toMatch(
      /^No WebGPU adapter: .*--device cpu/,
    )
  })

  test.each([
    [
      ['ivf', 'search', 'a', 'b', '-o', 'c', '--nprobe', '4'],
      '--nprobe: did you mean --probe? centroidal ivf search --help lists all.',
    ],
    [
      ['search', 'a', 'b', 'c', '-o', 'd', '-k', '4'],
      '-k: did you mean --nearest? centroidal search --help lists all.',
    ],
    [
      ['nearest', 'a', 'b', '-o', 'c', '--space', 'l2'],
      '--space: did you mean --metric? centroidal nearest --help lists all.',
    ],
  ])('%j', async (args, sentence) => {
    expect(await refusal(...args)).toBe(`Unknown option ${sentence}`)
  })

  test('an unknown command', async () => {
    expect(await refusal('clutser', vectors())).toBe('Unknown command "clutser": did you mean cluster?')
  })
})

describe('output', () => {
  test('a folder that cannot be', async () => {
    const sentence = await refusal('cluster', vectors(), '-k', '3', '--out', '/dev/null/x')
    expect(sentence).toMatch(/^Cannot write to "\/dev\/null\/x": a part of the path is a file/)
  })

  test('a folder that is a file', async () => {
    const sentence = await refusal('cluster', vectors(), '-k', '3', '--out', classes())
    expect(sentence).toMatch(/it is a file; name a folder/)
  })

  test('a folder that was there stays as it was', async () => {
    await mkdir(path('mine'))
    await writeFile(path('mine/notes.txt'), 'mine')
    await refusal('cluster', path('nowhere.npy'), '-k', '3', '--out', path('mine'))
    await refusal('cluster', vectors(), '-k', '601', '--out', path('mine'))
    expect(await readFile(path('mine/notes.txt'), 'utf8')).toBe('mine')
  })

  test('labels of assign where no folder is', async () => {
    const sentence = await refusal('assign', path('no-run'), vectors(), '--out', path('labels.npy'))
    expect(sentence).toMatch(/^Cannot read .*model\.json/)
    expect(existsSync(path('labels.npy'))).toBe(false)
  })
})

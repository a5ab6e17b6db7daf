/** Bad input to every command: one sentence and exit code 2, or a result. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { blobs, loadModel, METHODS, matrix, sparseMatrix, writeLabels, writeVectors } from '../../src/index.ts'
import { type Area, type CaseContext, Failure } from '../area.ts'
import type { Ended } from '../cli.ts'
import { runCliHere } from '../cli-here.ts'
import type { Draw } from '../draw.ts'
import { damage } from '../mutations.ts'

export const commandLine: Area = {
  name: 'cli',
  title: 'bad input to all commands',
  share: 5,
  seconds: 60,
  casesPerProcess: 300,
  run,
}

/** Right command lines, to be made wrong in one place. */
const COMMANDS: readonly (readonly string[])[] = [
  ['cluster', 'vectors.npy', '-k', '3', '--out', 'out', '--iterations', '5'],
  ['cluster', 'vectors.npy', '--method', 'METHOD', '--out', 'out', '--iterations', '3'],
  ['cluster', 'vectors.npy', '-k', '3', '--weights', 'weights.npy', '--truth', 'truth.npy', '--out', 'out'],
  ['cluster', 'sparse.npz', '-k', '2', '--metric', 'cosine', '--out', 'out'],
  ['cluster', 'vectors.npy', '--resume', 'run', '--iterations', '8', '--out', 'out'],
  ['cluster', 'vectors.npy', '-k', '3', '--start', 'vectors.npy', '--seed', '1', '--restarts', '2', '--out', 'out'],
  ['cluster', 'vectors.npy', '-k', '3', '--checkpoint-every', '1', '--image', '2x2', '--title', 'T', '--out', 'out'],
  ['cluster', 'vectors.npy', '-k', '3', '--device', 'cpu', '--threads', '2', '--device-memory', '5', '--out', 'out'],
  ['assign', 'run', 'vectors.npy', '--out', 'labels-out.npy'],
  ['quantize', 'vectors.npy', '--type', 'pq', '-m', '2', '--codewords', '4', '--out', 'out'],
  ['quantize', 'vectors.npy', '--type', 'itq', '-m', '2', '--out', 'out', '--iterations', '3'],
  ['encode', 'quantizer', 'vectors.npy', '--out', 'codes-out.npy'],
  ['decode', 'quantizer', 'codes.npy', '--out', 'decoded.npy'],
  [
    'search',
    'quantizer',
    'codes.npy',
    'vectors.npy',
    '--nearest',
    '3',
    '--out',
    'found.ivecs',
    '--rerank',
    'vectors.npy',
  ],
  ['evaluate', 'truth.npy', '--truth', 'truth.npy'],
  ['evaluate', 'neighbours', 'lists.ivecs', '--truth', 'lists.ivecs'],
  ['vocabulary', 'vectors.npy', '-k', '3', '--out', 'out'],
  ['index', 'run', 'vectors.npy', '--images', 'truth.npy', '--out', 'out'],
  ['index', 'index', '--remove', '1', '--out', 'out'],
  ['query', 'index', 'vectors.npy', '--top', '3', '--words', '2', '--sigma', '1'],
  ['report', 'run', '--out', 'page.html'],
  ['report', 'run', 'run2', '--truth', 'truth.npy', '--title', 'T', '--out', 'page.html'],
  ['bench', 'vectors.npy', '-k', '2', '--seconds', '0.1'],
  ['convert', 'vectors.npy', 'converted.csv'],
  ['info'],
]

const VALUES = [
  '', ' ', '-1', '0', '1', '1.5', '1e9', '1e18', '9007199254740993', '4294967296', 'NaN', 'Infinity', '-Infinity', '0x10', '1e-300', '1,2',
  'abc', 'constructor', '__proto__', '--', '-', '--help', '\u202e', '１', 'a'.repeat(3000), 'missing.npy', 'missing', 'folder', 'fifo.npy',
  '/dev/zero', '/dev/null', '/proc/self/status', '/dev/stdin', 'http://localhost/x.npy', 'text.txt', 'empty.npy', 'none.npy', 'one.npy',
  'damaged.npy', 'nan.npy', 'wide.csv', 'sparse.npz', 'sparse.mat', 'vectors.csv', 'truth.npy', 'run', 'quantizer', 'index', 'lists.ivecs',
  'vectors.npy/x', 'run/model.json', '*', '$(id)', '\n', 'none.csv', 'page.html', 'out.npy', 'x.fvecs',
] // biome-ignore format: a table

let prepared: Promise<string> | undefined

async function prepare(): Promise<string> {
  const cwd = mkdtempSync(join(process.cwd(), 'inputs-'))
  const at = (name: string): string => join(cwd, name)
  const { vectors, labels } = blobs({ rows: 30, cols: 4, clusters: 3, seed: 1 })
  await writeVectors(at('vectors.npy'), vectors)
  await writeVectors(at('vectors.csv'), vectors)
  await writeLabels(at('truth.npy'), labels)
  await writeVectors(at('weights.npy'), matrix(new Float32Array(30).fill(2), 30, 1))
  const sparse = sparseMatrix({ offsets: [0, 2, 3, 5], columns: [0, 2, 1, 0, 4], values: [1, 2, 3, 4, 5] }, 3, 5)
  await writeVectors(at('sparse.npz'), sparse)
  await writeVectors(at('sparse.mat'), sparse)
  await writeVectors(at('none.npy'), matrix(new Float32Array(0), 0, 4))
  await writeVectors(at('one.npy'), matrix(new Float32Array(4), 1, 4))
  await writeVectors(at('nan.npy'), matrix(new Float32Array(8).fill(Number.NaN), 2, 4))
  await writeVectors(at('lists.ivecs'), matrix(new Float32Array(60), 30, 2))
  for (const name of ['empty.npy', 'none.csv']) writeFileSync(at(name), '')
  writeFileSync(at('text.txt'), 'hello\n')
  writeFileSync(at('wide.csv'), `${'1,'.repeat(5000)}1\n`)
  writeFileSync(at('damaged.npy'), new Uint8Array(200).fill(147))
  for (const args of [
    ['cluster', 'vectors.npy', '-k', '3', '--truth', 'truth.npy', '--out', 'run'],
    ['cluster', 'vectors.npy', '-k', '4', '--method', 'gmm', '--out', 'run2'],
    ['quantize', 'vectors.npy', '--type', 'pq', '-m', '2', '--codewords', '4', '--out', 'quantizer'],
    ['encode', 'quantizer', 'vectors.npy', '--out', 'codes.npy'],
    ['index', 'run', 'vectors.npy', '--images', 'truth.npy', '--out', 'index'],
  ]) {
    const ended = await runCliHere(args, { cwd, patience: 60_000 })
    if (ended.code !== 0) throw new Failure('wrong result', `${args.join(' ')}: ${ended.stderr}`)
  }
  execFileSync('mkdir', [at('folder')])
  return cwd
}

async function run({ draw, folder, note }: CaseContext): Promise<void> {
  prepared ??= prepare()
  const cwd = join(folder(), 'here')
  cpSync(await prepared, cwd, { recursive: true })
  execFileSync('mkfifo', [join(cwd, 'fifo.npy')])
  const args = drawCommand(draw, cwd)
  note(`centroidal ${args.map((arg) => JSON.stringify(arg.slice(0, 60))).join(' ')}`)
  const ended = await runCliHere(args, { cwd, patience: 8000 })
  requireProper(ended)
  if (existsSync(join(cwd, 'out', 'model.json')) && ended.code === 0) {
    const model = await loadModel(join(cwd, 'out')).catch((error: Error) => error)
    const otherKind = model instanceof Error && !model.message.includes('clustering')
    if (otherKind && args[0] === 'cluster')
      throw new Failure('wrong result', `what was saved cannot be loaded: ${model.message}`)
  }
}

function drawCommand(draw: Draw, cwd: string): string[] {
  const args = draw.pick(COMMANDS).map((arg) => {
    if (arg !== 'METHOD') return arg
    return draw.pick(Object.keys(METHODS))
  })
  if (args.includes('--method') && !['egm', 'agm'].some((name) => args.includes(name))) args.push('-k', '3')
  const { bytes } = damage(draw, new Uint8Array(64).fill(48))
  writeFileSync(join(cwd, 'damaged.csv'), bytes)
  for (let left = draw.pick([1, 1, 1, 2, 3]); left > 0; left--) {
    const at = draw.between(1, Math.max(1, args.length - 1))
    const value = draw.pick([...VALUES, 'damaged.csv'])
    const action = draw.below(10)
    if (action < 7) args[at] = value
    else if (action === 7) args.splice(at, 1)
    else if (action === 8) args.splice(at, 0, value)
    else
      args.push(
        draw.pick(['--json', '-q', '--bogus', '-k', '--seed', '--threads', '--sigma', '--floor', '--trees', '--batch']),
        value,
      )
  }
  return args
}

/** 0, 2 or, after an interrupt, 130; a sentence wherever it is not 0; never an internal error. */
export function requireProper({ code, signal, stdout, stderr, stopped, hung }: Ended): void {
  const said = stderr.trim().split('\n').at(-1) ?? ''
  if (hung) throw new Failure('hang', `no end, and an interrupt did not help: ${said}`)
  if (signal !== null) throw new Failure('crash', `ended by ${signal}: ${said}`)
  if (/should not have|\n\s+at .*:\d+:\d+|TypeError|RangeError|ReferenceError/.test(stderr)) {
    throw new Failure('raw error', said.length > 0 ? said : stderr.slice(0, 300))
  }
  if (stopped && (code === 130 || code === 0 || code === 2)) return
  if (code !== 0 && code !== 2) throw new Failure('raw error', `exit code ${code}: ${said}`)
  if (code === 2 && said === '') throw new Failure('bad message', 'exit code 2 without a word')
  if (code === 2 && stdout.trim() !== '' && !stdout.trimStart().startsWith('{')) {
    throw new Failure('bad message', `output on stdout although it failed: ${stdout.slice(0, 100)}`)
  }
  const slip = /\bundefined\b|\bNaN\b(?!")|\[object \w+\]/.exec(
    code === 2 ? said.replaceAll(/"[^"]*"|\bis (NaN|undefined)\b|found NaN|holds NaN/g, '') : '',
  )
  if (slip && !said.includes("'NaN'")) throw new Failure('bad message', `"${slip[0]}" in: ${said.slice(0, 300)}`)
}

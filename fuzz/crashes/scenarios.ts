/** Commands that save something, and how to see what is there afterwards. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  blobs,
  cluster,
  loadIndex,
  loadModel,
  loadQuantizer,
  type Matrix,
  METHODS,
  type MethodName,
  openDevice,
  writeLabels,
  writeVectors,
} from '../../src/index.ts'
import { bitsOf } from '../judge.ts'

/** Two saves into the same place: the second replaces the first. */
export type Variant = 'old' | 'new'

export interface Scenario {
  readonly name: string
  /** What is written, relative to the working folder: a folder or a file. */
  readonly out: string
  args(variant: Variant): string[]
  /** What is there, as bits; undefined where there is nothing. Throws where it cannot be loaded. */
  state(path: string): Promise<string | undefined>
  /** Further states that a whole save may be in: those of checkpoints. */
  states?(variant: Variant): Promise<string[]>
  /** Goes on from an interrupted run. */
  resumeArgs?(): string[]
}

const ITERATIONS = 6

export function crashVectors(): Matrix {
  return blobs({ rows: 120, cols: 5, clusters: 9, seed: 7 }).vectors
}

export async function writeInputs(cwd: string): Promise<void> {
  await writeVectors(join(cwd, 'vectors.npy'), crashVectors())
  await writeLabels(
    join(cwd, 'images.npy'),
    Uint32Array.from({ length: 120 }, (_, i) => i >> 3),
  )
}

async function modelState(path: string): Promise<string | undefined> {
  if (!existsSync(join(path, 'model.json'))) return undefined
  const { centers, labels, facts } = await loadModel(path)
  return bitsOf({ centers: centers.data, labels, rounds: facts.iterations.length })
}

function clusterScenario(method: MethodName): Scenario {
  const found = METHODS[method].findsCount === true
  const seedOf = (variant: Variant): number => (variant === 'old' ? 1 : 2)
  const common = [
    '--method',
    method,
    '--iterations',
    String(ITERATIONS),
    '--tolerance',
    '0',
    '--threads',
    '1',
    '--device',
    'cpu',
    '-q',
  ]
  // Methods that find the number of clusters begin with so many points, drawn by the seed.
  const begin = (variant: Variant): number => (variant === 'old' ? 40 : 60)
  const count = (variant: Variant): string[] => (found ? ['--start', String(begin(variant))] : ['-k', '8'])
  return {
    name: `cluster ${method}`,
    out: 'out',
    args: (variant) => [
      ...['cluster', 'vectors.npy', ...count(variant), ...common, '--seed', String(seedOf(variant))],
      ...['--checkpoint-every', '1', '--title', `title-${variant}`, '--out', 'out'],
    ],
    resumeArgs: () => [
      'cluster',
      'vectors.npy',
      '--resume',
      'out',
      '--iterations',
      String(ITERATIONS),
      '--threads',
      '1',
      '--device',
      'cpu',
      '-q',
    ],
    state: modelState,
    async states(variant) {
      const states: string[] = []
      const device = await openDevice({ kind: 'cpu', threads: 1 })
      const save = ({ centers, labels, facts }: Awaited<ReturnType<typeof cluster>>): void => {
        states.push(bitsOf({ centers: centers.data, labels, rounds: facts.iterations.length }))
      }
      try {
        const options = {
          method,
          iterations: ITERATIONS,
          tolerance: 0,
          seed: seedOf(variant),
          device,
          checkpoint: { every: 1, save },
        }
        save(await cluster(crashVectors(), found ? { ...options, start: begin(variant) } : { ...options, k: 8 }))
        return states
      } finally {
        await device.close()
      }
    },
  }
}

const quantize: Scenario = {
  name: 'quantize',
  out: 'out',
  args: (variant) => ['quantize', 'vectors.npy', '--type', variant === 'old' ? 'pq' : 'ck', '-m', '2', '--codewords', '8', '--title', `title-${variant}`, '--out', 'out', '-q'],
  async state(path) {
    if (!existsSync(join(path, 'model.json'))) return undefined
    const quantizer = await loadQuantizer(path)
    const device = await openDevice({ kind: 'cpu', shared: false })
    try {
      const codes = await quantizer.encode(crashVectors(), { device })
      return bitsOf({ type: quantizer.facts.type, codes: codes.data, decoded: (await quantizer.decode(codes, { device })).data })
    } finally {
      await device.close()
    }
  },
} // biome-ignore format: long command lines

const index: Scenario = {
  name: 'index',
  out: 'out',
  args: (variant) => ['index', variant === 'old' ? 'vocabulary' : 'vocabulary2', 'vectors.npy', '--images', 'images.npy', '--out', 'out', '-q'],
  async state(path) {
    if (!existsSync(join(path, 'index.json')) && !existsSync(join(path, 'model.json'))) return undefined
    const found = await loadIndex(path)
    const device = await openDevice({ kind: 'cpu', shared: false })
    try {
      const ranking = await found.search(crashVectors(), { device })
      return bitsOf({ ids: found.ids, ...ranking, centers: found.vocabulary.centers.data, bags: Array.from(found.ids, (id) => found.bag(id)) })
    } finally {
      await device.close()
    }
  },
} // biome-ignore format: long command lines

async function fileState(path: string): Promise<string | undefined> {
  return existsSync(path) ? readFileSync(path).toString('base64') : undefined
}

const encode: Scenario = {
  name: 'encode',
  out: 'codes.npy',
  args: (variant) => [
    'encode',
    variant === 'old' ? 'quantizer' : 'quantizer2',
    'vectors.npy',
    '--out',
    'codes.npy',
    '-q',
  ],
  state: fileState,
}

const report: Scenario = {
  name: 'report',
  out: 'page.html',
  args: (variant) => ['report', 'vocabulary', 'vocabulary2', '--title', `title-${variant}`, '--out', 'page.html', '-q'],
  state: fileState,
}

/** What the scenarios need besides the vectors. */
export const PREPARING: readonly (readonly string[])[] = [
  ['cluster', 'vectors.npy', '-k', '8', '--out', 'vocabulary', '-q'],
  ['cluster', 'vectors.npy', '-k', '9', '--seed', '3', '--out', 'vocabulary2', '-q'],
  ['quantize', 'vectors.npy', '--type', 'pq', '-m', '2', '--codewords', '8', '--out', 'quantizer', '-q'],
  ['quantize', 'vectors.npy', '--type', 'pq', '-m', '2', '--codewords', '16', '--out', 'quantizer2', '-q'],
]

export const SCENARIOS: readonly Scenario[] = [
  ...(Object.keys(METHODS) as MethodName[]).map(clusterScenario),
  quantize,
  index,
  encode,
  report,
]

/**
 * k-means#: against Lloyd, against faiss with closures, and by known classes.
 *
 *   npm run bench -- sharp --data vectors.bvecs [--parts lloyd,faiss,labels] [--device cpu] [--threads 2]
 *                          [--k 1000] [--lloyd-rounds 100] [--sharp-rounds 40]
 *                          [--ks 2000,10000] [--faiss-rounds 20] [--rounds 30]
 *                          [--words] [--words-ks 10000]
 *                          [--labelled vectors.npy --truth labels.npy] [--runs 10] [--metric euclidean]
 *
 * lloyd   rounds and seconds until `sharp` passes what Lloyd reaches in 100 rounds
 * faiss   `closures-sharp` against k-means of faiss, and its peak memory; with --words on word vectors too
 * labels  entropy and NMI on handwritten digits and on --labelled, best of 10 runs; needs no --data
 */
import { availableParallelism } from 'node:os'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { openDevice, readIntegers, readVectors } from '../src/index.ts'
import { type Labelled, loadDigits } from './closures/digits.ts'
import { PEERS_HINT } from './peers.ts'
import { sharpAgainstFaiss, type Target } from './sharp/faiss.ts'
import { agreementWithClasses } from './sharp/labels.ts'
import { sharpAgainstLloyd } from './sharp/lloyd.ts'
import { answerMemoryTask } from './sharp/memory.ts'
import type { Setting } from './sharp/setting.ts'
import { loadWords, WORDS_HINT } from './sharp/words.ts'
import { keepResults } from './table.ts'

/** On the SIFT vectors of the project's own figures, and on the word vectors, by k. */
const TARGETS = new Map<number, Target>([
  [2000, { part: 10, below: 1 }],
  [10_000, { part: 50, below: 5 }],
])
const WORDS_TARGETS = new Map<number, Target>([[10_000, { part: 10 }]])

const { values: flags } = parseArgs({
  options: {
    data: { type: 'string' },
    parts: { type: 'string', default: 'lloyd,faiss,labels' },
    device: { type: 'string', default: 'cpu' },
    threads: { type: 'string', default: String(availableParallelism()) },
    k: { type: 'string', default: '1000' },
    'lloyd-rounds': { type: 'string', default: '100' },
    'sharp-rounds': { type: 'string', default: '40' },
    ks: { type: 'string', default: '2000,10000' },
    'faiss-rounds': { type: 'string', default: '20' },
    rounds: { type: 'string', default: '30' },
    words: { type: 'boolean', default: false },
    'words-ks': { type: 'string', default: '10000' },
    labelled: { type: 'string' },
    truth: { type: 'string' },
    runs: { type: 'string', default: '10' },
    metric: { type: 'string', default: 'euclidean' },
    // The benchmark's own: see sharp/memory.ts.
    memory: { type: 'string' },
  },
})
if (flags.memory) await answerMemoryTask(flags.memory)
else await bench()

async function bench(): Promise<void> {
  const parts = new Set(flags.parts.split(','))
  if (!flags.data && (parts.has('lloyd') || (parts.has('faiss') && !flags.words))) {
    console.error('Which vectors? npm run bench -- sharp --data vectors.bvecs; without any: --parts labels')
    process.exit(2)
  }
  if (!flags.labelled !== !flags.truth) {
    console.error('--labelled and --truth go together: vectors, and the class of each.')
    process.exit(2)
  }
  const threads = Number(flags.threads)
  const device = await openDevice({ kind: flags.device as 'cpu' | 'webgpu', threads })
  const setting: Setting = { device, threads, results: {} }
  const vectors = flags.data ? await readVectors(flags.data) : undefined
  if (vectors && parts.has('lloyd')) {
    const rounds = { lloyd: Number(flags['lloyd-rounds']), sharp: Number(flags['sharp-rounds']) }
    await sharpAgainstLloyd(setting, vectors, Number(flags.k), rounds)
  }
  if (parts.has('faiss')) {
    const rounds = { faiss: Number(flags['faiss-rounds']), sharp: Number(flags.rounds) }
    if (vectors) {
      await sharpAgainstFaiss(setting, { name: 'vectors', vectors, ks: numbers(flags.ks), targets: TARGETS, rounds })
    }
    const words = flags.words ? await loadWords() : undefined
    if (words) {
      const ks = numbers(flags['words-ks'])
      await sharpAgainstFaiss(setting, { name: 'words', vectors: words, ks, targets: WORDS_TARGETS, rounds })
    } else if (flags.words) console.log(`\n${WORDS_HINT}`)
  }
  if (parts.has('labels')) {
    const how = { runs: Number(flags.runs), metric: flags.metric as 'euclidean' | 'cosine' }
    await agreementWithClasses(setting, await loadDigits(), how)
    if (flags.labelled) await agreementWithClasses(setting, await labelled(), how)
  }
  await device.close()
  console.log(`\n${PEERS_HINT}`)
  keepResults('sharp', {
    data: vectors && { rows: vectors.rows, cols: vectors.cols },
    device: device.info.name,
    threads,
    ...setting.results,
  })
}

function numbers(list: string): number[] {
  return list.split(',').map(Number)
}

async function labelled(): Promise<Labelled> {
  const file = flags.labelled!
  const vectors = await readVectors(file)
  const { data, rows } = await readIntegers(flags.truth!)
  if (rows !== vectors.rows) throw new Error(`${flags.truth} has ${rows} labels for ${vectors.rows} vectors.`)
  return { name: basename(file), vectors, truth: data }
}

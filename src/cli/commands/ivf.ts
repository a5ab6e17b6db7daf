/** `centroidal ivf`: inverted files, which look at a part of the vectors for each query: build, add, remove, search. */
import { existsSync } from 'node:fs'
import { type Command, Option } from 'commander'
import {
  CentroidalError,
  cluster,
  InvertedFile,
  QUANTIZER_TYPES,
  type QuantizerType,
  SEARCH_METRICS,
  type SearchMetric,
  type VectorSource,
} from '../../index.ts'
import { bytes, count, duration } from '../format.ts'
import { addInputOptions, type InputFlags, openInput, VECTOR_FILES } from '../input-files.ts'
import { addLookupOptions, CANDIDATES, type LookupFlags, lookUp, tellFound, withVectors } from '../lookup.ts'
import { badValue, oneOf, realNumber, wholeNumber } from '../option-values.ts'
import { OutFolder } from '../out-folder.ts'
import { createProgressView } from '../progress/view.ts'
import type { Session } from '../session.ts'
import { readLabels } from '../truth.ts'
import {
  addDeviceOptions,
  addOptionGroup,
  addSpeechOptions,
  type DeviceFlags,
  openChosenDevice,
  type SpeechFlags,
} from './shared-options.ts'

interface WorkFlags extends DeviceFlags, InputFlags, SpeechFlags {}

interface BuildFlags extends WorkFlags {
  readonly out: string
  readonly lists?: number
  readonly type: QuantizerType
  readonly m?: number
  readonly codewords?: number
  readonly metric: SearchMetric
  readonly keepVectors?: boolean
  readonly sample?: number
  readonly seed?: number
}

interface SearchFlags extends LookupFlags {
  readonly probe?: number
  readonly rerank?: string
  readonly candidates?: number
  readonly where?: string
  readonly within?: number
}

/** For `--rerank`: by what the file keeps. */
const KEPT = 'kept'
/** More rounds of clustering hardly make lists better. */
const ROUNDS = 10
const CODEWORDS = 16
/** Dimensions of a code of 4 bits. */
const DIMENSIONS = 4

export function addIvfCommand(program: Command, session: Session): void {
  const ivf = program
    .command('ivf')
    .summary('search millions of vectors with an inverted file')
    .description(
      'An inverted file divides vectors among lists, one for each of many clusters, and a search scans the lists nearest to the query. Vectors are stored as short codes; the best candidates can be re-ranked by exact distances.',
    )
    .addHelpText(
      'after',
      `
Example:
  centroidal ivf build base.bvecs --out base.ivf
  centroidal ivf search base.ivf queries.bvecs --probe 64 --rerank base.bvecs --out found.ivecs`,
    )
  addBuild(ivf, session)
  const add = ivf
    .command('add')
    .summary('add vectors')
    .description('Encodes vectors and adds them; only the changes are written.')
    .argument('<folder>', 'the inverted file')
    .argument('<vectors...>', `the vectors: ${VECTOR_FILES}`)
    .option('--ids <list>', 'ids of the vectors, such as 7,8 or a file (default: numbers after the highest so far)')
    .action((folder: string, vectors: string[], flags: WorkFlags & { readonly ids?: string }) =>
      addTo(session, folder, vectors, flags),
    )
    .addHelpText('after', '\nExample:\n  centroidal ivf add base.ivf more.bvecs')
  addInputOptions(add)
  addSpeechOptions(addDeviceOptions(add))
  const remove = ivf
    .command('remove')
    .summary('remove vectors by their ids')
    .description('Removes vectors; only the changes are written.')
    .argument('<folder>', 'the inverted file')
    .requiredOption('--ids <list>', 'ids of the vectors, such as 3,17 or a file')
    .action((folder: string, flags: SpeechFlags & { readonly ids: string }) => removeFrom(session, folder, flags))
    .addHelpText('after', '\nExample:\n  centroidal ivf remove base.ivf --ids 3,17')
  addSpeechOptions(remove)
  addSearch(ivf, session)
}

function addBuild(ivf: Command, session: Session): void {
  const build = ivf
    .command('build')
    .summary('build an inverted file from vectors')
    .description('Clusters the vectors, trains a quantizer for their residuals, and adds all vectors.')
    .argument('<vectors...>', `the vectors, which get the ids 0, 1, 2 and so on: ${VECTOR_FILES}`)
    .requiredOption('-o, --out <folder>', 'folder for the inverted file')
    .action((vectors: string[], flags: BuildFlags) => buildFile(session, vectors, flags))
    .addHelpText(
      'after',
      `
Example:
  centroidal ivf build base.bvecs --out base.ivf
  centroidal ivf build embeddings.npy --metric cosine --keep-vectors --out embeddings.ivf`,
    )
  addOptionGroup(build, 'Lists and codes:', [
    new Option('--lists <count>', 'lists (default: about 4 times the square root of the number of vectors)').argParser(
      wholeNumber('--lists', 'lists', 1),
    ),
    new Option('--metric <name>', `measure of similarity: ${SEARCH_METRICS.join(', ')}`)
      .argParser(oneOf('--metric', SEARCH_METRICS))
      .default('euclidean'),
    new Option('--type <name>', `${QUANTIZER_TYPES.join(', ')}; see centroidal quantize`)
      .argParser(oneOf('--type', QUANTIZER_TYPES))
      .default('pq'),
    new Option('-m <count>', 'codes per vector (default: one for every 4 dimensions, or 64 bits)').argParser(
      wholeNumber('-m', 'codes', 1),
    ),
    new Option('--codewords <count>', `codewords of each code (default: ${CODEWORDS}; ok and itq have 2)`).argParser(
      wholeNumber('--codewords', 'codewords', 1),
    ),
    new Option('--keep-vectors', `also store every vector with one byte per dimension, for --rerank ${KEPT}`),
    new Option(
      '--sample <count>',
      'number of training vectors of the quantizer, drawn with the seed (default: 256 for each codeword, at least 65536)',
    ).argParser(wholeNumber('--sample', 'vectors', 1)),
    new Option(
      '--seed <number>',
      'seed of the random numbers; the same seed and device give the same result bit for bit (default: 0)',
    ).argParser(wholeNumber('--seed', '', 0)),
  ])
  addInputOptions(build)
  addSpeechOptions(addDeviceOptions(build))
}

function addSearch(ivf: Command, session: Session): void {
  const search = ivf
    .command('search')
    .summary('find the nearest vectors of each query')
    .description('Scans the lists nearest to each query and writes the ids of the nearest vectors, best first.')
    .argument('<folder>', 'the inverted file')
    .argument('<queries>', `the query vectors: ${VECTOR_FILES}`)
    .addOption(
      new Option(
        '--probe <count>',
        'number of lists to scan: more lists find more neighbours and take longer (default: 8)',
      ).argParser(wholeNumber('--probe', 'lists', 1)),
    )
    .addOption(
      new Option(
        '--rerank <vectors>',
        `re-rank candidates by exact distances: with a file of the vectors (id i is row i), or with ${KEPT} by the stored vectors`,
      ),
    )
    .addOption(CANDIDATES)
    .option('--where <list>', 'search among these ids only, such as 3,17 or a file (default: all)')
    .addOption(
      new Option('--within <distance>', 'largest distance of a result (default: no limit)').argParser(
        realNumber('--within', ''),
      ),
    )
    .action((folder: string, queries: string, flags: SearchFlags) => searchFile(session, folder, queries, flags))
    .addHelpText(
      'after',
      `
Example:
  centroidal ivf search base.ivf queries.bvecs --probe 64 --rerank base.bvecs --out found.ivecs
  centroidal evaluate neighbours found.ivecs --truth groundtruth.ivecs`,
    )
  addLookupOptions(search, { standard: 10 })
}

/** 3,17 or a file of whole numbers. */
async function readIds(flag: string, text: string): Promise<ArrayLike<number>> {
  if (/^\d{1,10}(,\d{1,10})*$/.test(text)) return text.split(',').map(Number)
  if (existsSync(text)) return readLabels(text)
  throw badValue(flag, text, 'give comma-separated ids, such as 3,17, or a file of ids.')
}

/** The defaults suit a search on the CPU, where 16 codes of 4 bits are compared by one instruction. */
function codeShape({ type, m, codewords }: BuildFlags, cols: number): { m?: number; codewords?: number } {
  if (type === 'ok' || type === 'itq') return { ...(m === undefined ? {} : { m }), ...(codewords && { codewords }) }
  return { m: m ?? Math.ceil(cols / DIMENSIONS), codewords: codewords ?? CODEWORDS }
}

async function buildFile(session: Session, files: readonly string[], flags: BuildFlags): Promise<void> {
  const began = performance.now()
  const source = await openInput(session, files, flags)
  try {
    const out = await OutFolder.claim(flags.out)
    const file = await made(session, source, flags)
    await file.save(out.path)
    tellBuilt(session, file, flags, (performance.now() - began) / 1000)
  } finally {
    await source.close?.()
  }
}

async function made(session: Session, source: VectorSource, flags: BuildFlags): Promise<InvertedFile> {
  const { type, metric, keepVectors, sample, seed = 0 } = flags
  const k = flags.lists ?? Math.min(source.rows, Math.ceil(4 * Math.sqrt(source.rows)))
  const signal = session.interruption()
  const view = createProgressView(session.stderr, flags.quiet === true, signal)
  const device = await openChosenDevice(flags)
  const report = (label: string) => (share: number) => view.show({ label, share })
  try {
    const model = await cluster(source, {
      ...{ k, seed, device, signal, iterations: ROUNDS },
      ...(metric === 'cosine' ? { metric } : {}),
      onProgress: report('clustering into lists'),
    })
    signal.throwIfAborted()
    const file = await InvertedFile.train(source, model, {
      ...{ type, ...codeShape(flags, source.cols), metric, sample, seed, device, signal },
      ...(keepVectors ? { keep: 'bytes' as const } : {}),
      onProgress: report('learning codes'),
    })
    signal.throwIfAborted()
    await file.add(source, { device, signal, onProgress: report('encoding the vectors') })
    return file
  } finally {
    view.stop()
    await device.close()
  }
}

function tellBuilt(session: Session, file: InvertedFile, flags: BuildFlags, seconds: number): void {
  const { model, quantizer, size, metric } = file
  const { type, m, codewords, rows } = quantizer.facts
  const { method, k, iterations } = model.facts
  if (flags.json) {
    session.stdout.json({
      ...{ type: 'result', vectors: size, lists: k, metric, method, rounds: iterations.length },
      ...{ quantizer: type, m, codewords, codeBytes: quantizer.codeBytes, learnedFrom: rows, seconds, out: flags.out },
    })
  } else if (!flags.quiet) {
    const { dim } = session.stdout.colors
    const row = (name: string, value: string): void => session.stdout.line(`  ${dim(name.padEnd(7))} ${value}`)
    session.stdout.line(
      `${count(size, 'vector')} in ${count(k, 'list')}, ${count(quantizer.codeBytes, 'byte')} each, in ${duration(seconds)}`,
    )
    row('lists', `clustered by ${method}, ${count(iterations.length, 'round')}`)
    row(
      'codes',
      `${type}, ${count(m, 'code')} of ${count(codewords, 'codeword')}, learned from ${count(rows, 'vector')} (--sample)`,
    )
    if (file.keep) row('kept', `${bytes(size * model.centers.cols)} of vectors for re-ranking`)
    row('file', flags.out)
  }
}

async function addTo(
  session: Session,
  folder: string,
  files: readonly string[],
  flags: WorkFlags & { readonly ids?: string },
): Promise<void> {
  const began = performance.now()
  const file = await InvertedFile.load(folder)
  const ids = flags.ids === undefined ? undefined : await readIds('--ids', flags.ids)
  const source = await openInput(session, files, flags)
  const signal = session.interruption()
  const view = createProgressView(session.stderr, flags.quiet === true, signal)
  try {
    const device = await openChosenDevice(flags)
    try {
      const onProgress = (share: number): void => view.show({ label: 'encoding the vectors', share })
      await file.add(source, { ids, device, signal, onProgress })
    } finally {
      await device.close()
    }
  } finally {
    view.stop()
    await source.close?.()
  }
  await file.save(folder)
  tellChanged(session, flags, { added: source.rows }, `Added ${count(source.rows, 'vector')}`, file.size, began)
}

async function removeFrom(
  session: Session,
  folder: string,
  flags: SpeechFlags & { readonly ids: string },
): Promise<void> {
  const began = performance.now()
  const file = await InvertedFile.load(folder)
  const ids = await readIds('--ids', flags.ids)
  const removed = file.remove(Array.from(ids))
  await file.save(folder)
  const unknown = ids.length - removed
  const note = unknown > 0 ? ` (${count(unknown, 'number')} not in the file)` : ''
  tellChanged(session, flags, { removed }, `Removed ${count(removed, 'vector')}${note}`, file.size, began)
}

function tellChanged(
  session: Session,
  { json, quiet }: SpeechFlags,
  change: object,
  sentence: string,
  vectors: number,
  began: number,
): void {
  const seconds = (performance.now() - began) / 1000
  if (json) session.stdout.json({ type: 'result', ...change, vectors, seconds })
  else if (!quiet) {
    session.stdout.line(`${sentence} in ${duration(seconds)}; the inverted file now has ${count(vectors, 'vector')}.`)
  }
}

async function searchFile(session: Session, folder: string, asked: string, flags: SearchFlags): Promise<void> {
  const began = performance.now()
  const { probe, candidates, within } = flags
  const file = await InvertedFile.load(folder)
  const where = flags.where === undefined ? undefined : Array.from(await readIds('--where', flags.where))
  const kept = flags.rerank === KEPT
  if (kept && file.keep === undefined) {
    throw new CentroidalError(
      'bad-option',
      `Option --rerank is ${KEPT}, but ${JSON.stringify(folder)} does not store vectors: build it with --keep-vectors, or give a file of the vectors.`,
    )
  }
  const found = await withVectors(kept ? undefined : flags.rerank, (vectors) =>
    lookUp(session, asked, flags, file.size, (queries, control) =>
      file.search(queries, { probe, candidates, where, within, rerank: kept ? true : vectors, ...control }),
    ),
  )
  await file.close()
  const seconds = (performance.now() - began) / 1000
  tellFound(session, flags, found, { things: ['vector', 'vectors'], size: file.size, seconds, more: { probe } })
}

/** `centroidal nearest`: the exact nearest vectors of each query, by looking at all of them. */
import { type Command, Option } from 'commander'
import {
  matrix,
  nearest,
  readVectors,
  SEARCH_METRICS,
  type SearchMetric,
  writeNeighbors,
  writeVectors,
} from '../../index.ts'
import { addInputOptions, type InputFlags, openInput, VECTOR_FILES } from '../input-files.ts'
import { oneOf, wholeNumber } from '../option-values.ts'
import { tryFile } from '../out-file.ts'
import { createProgressView } from '../progress/view.ts'
import type { Session } from '../session.ts'
import { count, duration, number } from '../words.ts'
import {
  addDeviceOptions,
  addSpeechOptions,
  type DeviceFlags,
  openChosenDevice,
  type SpeechFlags,
} from './shared-options.ts'

interface NearestFlags extends DeviceFlags, InputFlags, SpeechFlags {
  readonly nearest: number
  readonly metric: SearchMetric
  readonly out: string
  readonly distances?: string
}

/** Of the library. */
const MOST_NEAREST = 256

export function addNearestCommand(program: Command, session: Session): void {
  const command = program
    .command('nearest')
    .summary('find the exact nearest vectors of each query')
    .description(
      'Compares each query with all vectors and writes the numbers of the nearest ones, best first: the truth that approximate searches are judged by.',
    )
    .argument('<vectors>', 'the vectors to search: all are kept in memory')
    .argument('<queries>', `the vectors to look for: ${VECTOR_FILES}`)
    .addOption(
      new Option('-n, --nearest <count>', 'how many to find for each query, at most 256')
        .argParser(wholeNumber('--nearest', 'neighbours', 1, MOST_NEAREST))
        .default(10),
    )
    .addOption(
      new Option('--metric <name>', `how nearness is measured: ${SEARCH_METRICS.join(', ')}`)
        .argParser(oneOf('--metric', SEARCH_METRICS))
        .default('euclidean'),
    )
    .requiredOption('-o, --out <file>', 'where the numbers go, a row a query: .npy .ivecs .csv .tsv')
    .option('--distances <file>', 'where the distances go, squared by default: .npy .fvecs .csv .tsv')
    .action((vectors: string, queries: string, flags: NearestFlags) => findNearest(session, vectors, queries, flags))
    .addHelpText(
      'after',
      `
Example:
  centroidal nearest base.bvecs queries.bvecs --nearest 100 --out groundtruth.ivecs
  centroidal nearest embeddings.npy questions.npy --metric cosine --out found.csv --distances distances.csv`,
    )
  addInputOptions(command)
  addSpeechOptions(addDeviceOptions(command))
}

async function findNearest(session: Session, file: string, asked: string, flags: NearestFlags): Promise<void> {
  const began = performance.now()
  const among = await readVectors(file)
  const queries = await openInput(session, asked, flags)
  const signal = session.interruption()
  const view = createProgressView(session.stderr, flags.quiet === true, signal)
  try {
    if (flags.distances !== undefined) {
      await tryFile(flags.distances, (probe) => writeVectors(probe, matrix(Float32Array.of(0), 1, 1)))
    }
    await tryFile(flags.out, (probe) => writeNeighbors(probe, Uint32Array.of(0), 1))
    const device = await openChosenDevice(flags)
    try {
      // More than there are would only be padding.
      const m = Math.min(flags.nearest, Math.max(1, among.rows))
      const onProgress = (share: number): void => view.show({ label: 'searching', share })
      const { metric } = flags
      const { labels, distances } = await nearest(queries, among, { m, metric, device, signal, onProgress })
      await writeNeighbors(flags.out, labels, m)
      if (flags.distances !== undefined) await writeVectors(flags.distances, matrix(distances, queries.rows, m))
      view.stop()
      const seconds = (performance.now() - began) / 1000
      if (flags.json) {
        const facts = { queries: queries.rows, vectors: among.rows, nearest: m, metric, seconds }
        session.stdout.json({ type: 'result', ...facts, device: device.info.kind, out: flags.out })
      } else if (!flags.quiet) {
        session.stdout.line(
          `Found the ${number(m)} nearest of ${count(among.rows, 'vector')} for ${count(queries.rows, 'query', 'queries')} in ${duration(seconds)}.`,
        )
        session.stdout.line(`  neighbours  ${flags.out}`)
      }
    } finally {
      await device.close()
    }
  } finally {
    view.stop()
    await queries.close?.()
  }
}

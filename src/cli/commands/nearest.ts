/** `centroidal nearest`: the exact nearest vectors of each query, by looking at all of them. */
import { type Command, Option } from 'commander'
import { nearest, readVectors, SEARCH_METRICS, type SearchMetric } from '../../index.ts'
import { VECTOR_FILES } from '../input-files.ts'
import { addLookupOptions, type LookupFlags, lookUp, tellFound } from '../lookup.ts'
import { oneOf } from '../option-values.ts'
import type { Session } from '../session.ts'

interface NearestFlags extends LookupFlags {
  readonly metric: SearchMetric
}

/** Of the library. */
const MOST_NEAREST = 256

export function addNearestCommand(program: Command, session: Session): void {
  const command = program
    .command('nearest')
    .summary('find the exact nearest vectors of each query')
    .description(
      'Compares each query with all vectors and writes the row numbers of the nearest ones, best first: the ground truth for approximate search.',
    )
    .argument('<vectors>', 'the vectors to search, all kept in memory')
    .argument('<queries>', `the query vectors: ${VECTOR_FILES}`)
    .addOption(
      new Option('--metric <name>', `measure of similarity: ${SEARCH_METRICS.join(', ')}`)
        .argParser(oneOf('--metric', SEARCH_METRICS))
        .default('euclidean'),
    )
    .action((vectors: string, queries: string, flags: NearestFlags) => findNearest(session, vectors, queries, flags))
    .addHelpText(
      'after',
      `
Example:
  centroidal nearest base.bvecs queries.bvecs --nearest 100 --out groundtruth.ivecs
  centroidal nearest embeddings.npy questions.npy --metric cosine --out found.csv --distances distances.csv`,
    )
  addLookupOptions(command, { standard: 10, most: MOST_NEAREST })
}

async function findNearest(session: Session, file: string, asked: string, flags: NearestFlags): Promise<void> {
  const began = performance.now()
  const { metric } = flags
  const among = await readVectors(file)
  const found = await lookUp(session, asked, flags, among.rows, (queries, { nearest: m, ...control }) =>
    nearest(queries, among, { m, metric, ...control }),
  )
  const seconds = (performance.now() - began) / 1000
  tellFound(session, flags, found, { things: ['vector', 'vectors'], size: among.rows, seconds, more: { metric } })
}

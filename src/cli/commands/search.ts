/** `centroidal search`: the nearest of encoded vectors for each query. */
import { type Command, Option } from 'commander'
import { CODE_DISTANCES, type CodeDistance, CodeIndex, loadQuantizer, readVectors } from '../../index.ts'
import { count } from '../format.ts'
import { VECTOR_FILES } from '../input-files.ts'
import { addLookupOptions, CANDIDATES, type LookupFlags, lookUp, tellFound, withVectors } from '../lookup.ts'
import { oneOf } from '../option-values.ts'
import { tryFile } from '../out-file.ts'
import { savePage } from '../report/document.ts'
import { type SearchFacts, searchPage } from '../report/quantizer-page.ts'
import type { Session } from '../session.ts'

interface SearchFlags extends LookupFlags {
  readonly distance?: CodeDistance
  readonly rerank?: string
  readonly candidates?: number
  readonly report?: string
}

export function addSearchCommand(program: Command, session: Session): void {
  const command = program
    .command('search')
    .summary('find the nearest encoded vectors of each query')
    .description(
      'Compares each query with all codes by look-up tables and writes the row numbers of the nearest vectors, best first. With --rerank the best candidates are re-ranked by exact distances. For millions of vectors, centroidal ivf scans only a part of the codes.',
    )
    .argument('<quantizer>', 'folder written by centroidal quantize')
    .argument('<codes>', 'output of centroidal encode: .npy .bvecs')
    .argument('<queries>', `the query vectors: ${VECTOR_FILES}`)
    .addOption(
      new Option(
        '--distance <name>',
        `${CODE_DISTANCES.join(', ')}: query to code, code to code, or for ok and itq the number of differing bits (default: asymmetric)`,
      ).argParser(oneOf('--distance', CODE_DISTANCES)),
    )
    .addOption(
      new Option('--rerank <vectors>', 'the vectors that were encoded, to re-rank candidates by exact distances'),
    )
    .addOption(CANDIDATES)
    .option('--report <file>', 'file for a report with charts: .html')
    .action((quantizer: string, codes: string, queries: string, flags: SearchFlags) =>
      search(session, quantizer, codes, queries, flags),
    )
    .addHelpText(
      'after',
      `
Example:
  centroidal search quantizer codes.npy queries.bvecs --nearest 100 --out found.ivecs
  centroidal search quantizer codes.npy queries.bvecs --nearest 10 --rerank base.bvecs --out found.ivecs
  centroidal evaluate neighbours found.ivecs --truth groundtruth.ivecs`,
    )
  addLookupOptions(command, { standard: 100 })
}

async function search(
  session: Session,
  folder: string,
  file: string,
  asked: string,
  flags: SearchFlags,
): Promise<void> {
  const began = performance.now()
  const { distance, candidates, report } = flags
  const index = new CodeIndex(await loadQuantizer(folder), await readVectors(file))
  if (report !== undefined) await tryFile(report, (probe) => savePage(probe, ''))
  const found = await withVectors(flags.rerank, (rerank) =>
    lookUp(session, asked, flags, index.size, (queries, control) =>
      index.search(queries, { distance, rerank, candidates, ...control }),
    ),
  )
  const seconds = (performance.now() - began) / 1000
  const { queries, m, distances, device } = found
  if (report !== undefined) {
    const facts: SearchFacts = {
      ...{ quantizer: folder, codesFile: file, queriesFile: asked, queries: queries.rows, codes: index.size },
      ...{ cols: queries.cols, codeBytes: index.quantizer.codeBytes, elements: queries.type, seconds, m, distances },
      ...{ device: device.name, distance: distance ?? 'asymmetric', reranked: flags.rerank !== undefined },
      commandLine: session.commandLine,
    }
    await savePage(report, await searchPage(facts))
  }
  const compared = `, ${count(queries.rows * index.size, 'comparison')}`
  tellFound(session, flags, found, { things: ['code', 'codes'], size: index.size, seconds }, compared)
  if (report !== undefined && !flags.json && !flags.quiet) session.stdout.line(`  report      ${report}`)
}

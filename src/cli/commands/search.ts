/** `centroidal search`: the nearest of encoded vectors for each query. */
import { type Command, Option } from 'commander'
import {
  CODE_DISTANCES,
  type CodeDistance,
  CodeIndex,
  loadQuantizer,
  matrix,
  openVectors,
  readVectors,
  type VectorSource,
  writeNeighbors,
  writeVectors,
} from '../../index.ts'
import { addInputOptions, type InputFlags, openInput, VECTOR_FILES } from '../input-files.ts'
import { oneOf, wholeNumber } from '../option-values.ts'
import { tryFile } from '../out-file.ts'
import { createProgressView } from '../progress/view.ts'
import { savePage } from '../report/document.ts'
import { type SearchFacts, searchPage } from '../report/quantizer-page.ts'
import type { Session } from '../session.ts'
import { count, duration, number } from '../words.ts'
import {
  addDeviceOptions,
  addSpeechOptions,
  type DeviceFlags,
  openChosenDevice,
  type SpeechFlags,
} from './shared-options.ts'

interface SearchFlags extends DeviceFlags, InputFlags, SpeechFlags {
  readonly nearest: number
  readonly distance?: CodeDistance
  readonly rerank?: string
  readonly candidates?: number
  readonly out: string
  readonly distances?: string
  readonly report?: string
}

export function addSearchCommand(program: Command, session: Session): void {
  const command = program
    .command('search')
    .summary('find the nearest of encoded vectors')
    .description(
      'Compares each query with all codes by look-up tables and writes the numbers of the nearest vectors, best first. With --rerank the best candidates are measured again by the vectors themselves.',
    )
    .argument('<quantizer>', 'the folder that centroidal quantize wrote')
    .argument('<codes>', 'what centroidal encode wrote: .npy .bvecs')
    .argument('<queries>', `the vectors to look for: ${VECTOR_FILES}`)
    .addOption(
      new Option('-n, --nearest <count>', 'how many to find for each query')
        .argParser(wholeNumber('--nearest', 'neighbours', 1))
        .default(100),
    )
    .addOption(
      new Option(
        '--distance <name>',
        `${CODE_DISTANCES.join(', ')}: the query against codes, code against code, or bits that differ, for ok and itq (default: asymmetric)`,
      ).argParser(oneOf('--distance', CODE_DISTANCES)),
    )
    .addOption(new Option('--rerank <vectors>', 'the vectors that were encoded, to measure candidates exactly'))
    .addOption(
      new Option('--candidates <count>', 'candidates for --rerank (default: ten times --nearest)').argParser(
        wholeNumber('--candidates', 'candidates', 1),
      ),
    )
    .requiredOption('-o, --out <file>', 'where the numbers go, a row a query: .npy .ivecs .csv .tsv')
    .option('--distances <file>', 'where the squared distances go: .npy .fvecs .csv .tsv')
    .option('--report <file>', 'where a report with pictures goes: .html')
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
  addInputOptions(command)
  addSpeechOptions(addDeviceOptions(command))
}

async function search(
  session: Session,
  folder: string,
  file: string,
  asked: string,
  flags: SearchFlags,
): Promise<void> {
  const began = performance.now()
  const index = new CodeIndex(await loadQuantizer(folder), await readVectors(file))
  const queries = await openInput(session, asked, flags)
  let originals: VectorSource | undefined
  const signal = session.interruption()
  const view = createProgressView(session.stderr, flags.quiet === true, signal)
  try {
    if (flags.rerank !== undefined) originals = await openVectors(flags.rerank)
    const { distances: distancesFile } = flags
    if (distancesFile !== undefined) {
      await tryFile(distancesFile, (probe) => writeVectors(probe, matrix(Float32Array.of(0), 1, 1)))
    }
    if (flags.report !== undefined) await tryFile(flags.report, (probe) => savePage(probe, ''))
    await tryFile(flags.out, (probe) => writeNeighbors(probe, Uint32Array.of(0), 1))
    const device = await openChosenDevice(flags)
    try {
      const { labels, distances, m } = await index.search(queries, {
        // More than there are would only be padding.
        nearest: Math.min(flags.nearest, Math.max(1, index.size)),
        ...(flags.distance === undefined ? {} : { distance: flags.distance }),
        ...(originals === undefined ? {} : { rerank: originals }),
        ...(flags.candidates === undefined ? {} : { candidates: flags.candidates }),
        device,
        signal,
        onProgress: (share) => view.show({ label: 'searching', share }),
      })
      await writeNeighbors(flags.out, labels, m)
      if (flags.distances !== undefined) await writeVectors(flags.distances, matrix(distances, queries.rows, m))
      view.stop()
      const seconds = (performance.now() - began) / 1000
      if (flags.report !== undefined) {
        const facts: SearchFacts = {
          ...{ quantizer: folder, codesFile: file, queriesFile: asked, queries: queries.rows, codes: index.size },
          ...{
            cols: queries.cols,
            codeBytes: index.quantizer.codeBytes,
            elements: queries.type,
            seconds,
            m,
            distances,
          },
          ...{ device: device.info.name, distance: flags.distance ?? 'asymmetric', reranked: originals !== undefined },
          commandLine: session.commandLine,
        }
        await savePage(flags.report, await searchPage(facts))
      }
      const compared = queries.rows * index.size
      if (flags.json) {
        const { kind } = device.info
        const facts = { queries: queries.rows, codes: index.size, nearest: m, seconds, device: kind, out: flags.out }
        session.stdout.json({ type: 'result', ...facts })
      } else if (!flags.quiet) {
        session.stdout.line(
          `Found the ${number(Math.min(m, index.size))} nearest of ${count(index.size, 'code')} for ${count(queries.rows, 'query', 'queries')} in ${duration(seconds)}, ${count(compared, 'comparison')}.`,
        )
        session.stdout.line(`  neighbours  ${flags.out}`)
        if (flags.report !== undefined) session.stdout.line(`  report      ${flags.report}`)
      }
    } finally {
      await device.close()
    }
  } finally {
    view.stop()
    await queries.close?.()
    await originals?.close?.()
  }
}

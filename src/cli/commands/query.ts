/** `centroidal query`: which images of an index are most like given ones. */
import type { Command } from 'commander'
import { loadIndex, type QueryRanking } from '../../index.ts'
import { count, duration } from '../format.ts'
import { addInputOptions, type InputFlags, openInput, VECTOR_FILES } from '../input-files.ts'
import { realNumber, wholeNumber } from '../option-values.ts'
import { createProgressView } from '../progress/view.ts'
import { claimRankings } from '../rankings.ts'
import type { Output, Session } from '../session.ts'
import { readLabels, requireLength } from '../truth.ts'
import {
  addDeviceOptions,
  addSpeechOptions,
  type DeviceFlags,
  openChosenDevice,
  type SpeechFlags,
} from './shared-options.ts'

interface QueryFlags extends DeviceFlags, InputFlags, SpeechFlags {
  readonly images?: string
  readonly words?: number
  readonly sigma?: number
  readonly top?: number
  readonly out?: string
}

/** More than a screen of answers is for files. */
const SHOWN_QUERIES = 20
const SHOWN_IMAGES = 10

export function addQueryCommand(program: Command, session: Session): void {
  const command = program
    .command('query')
    .summary('rank the images of an index by similarity to query images')
    .description(
      'Ranks the images of an index by the cosine similarity of their visual words to those of each query image, weighted by tf-idf.',
    )
    .argument('<index>', 'folder written by centroidal index')
    .argument('<vectors>', `descriptors of the query images: ${VECTOR_FILES}`)
    .option('--images <file>', 'the image number of each descriptor (default: all belong to one image, number 0)')
    .option(
      '--words <count>',
      'words assigned to each descriptor: 1, or the 3 or 5 nearest, weighted by distance (default: 1)',
      wholeNumber('--words', 'words', 1),
    )
    .option(
      '--sigma <distance>',
      'width of the Gaussian that weights words by distance (default: half the typical distance of a descriptor to its word)',
      realNumber('--sigma', ''),
    )
    .option(
      '--top <count>',
      `images listed for each query (default: all in files and JSON, ${SHOWN_IMAGES} on the terminal)`,
      wholeNumber('--top', 'images', 1),
    )
    .option('-o, --out <file>', 'file for the rankings, one JSON object per line (default: none)')
    .action((index: string, vectors: string, flags: QueryFlags) => query(session, index, vectors, flags))
    .addHelpText(
      'after',
      `
Example:
  centroidal query index descriptors.npy --top 5
  centroidal query index queries.npy --images query-images.npy --words 3 --out rankings.jsonl`,
    )
  addInputOptions(command)
  addDeviceOptions(command)
  addSpeechOptions(command)
}

async function query(session: Session, folder: string, file: string, flags: QueryFlags): Promise<void> {
  const { stdout } = session
  const began = performance.now()
  const index = await loadIndex(folder)
  const out = flags.out === undefined ? undefined : await claimRankings(flags.out)
  try {
    const rankings = await rank(session, index, file, flags)
    await out?.write(rankings)
    const seconds = (performance.now() - began) / 1000
    if (flags.json) {
      for (const { query, images, scores } of rankings) {
        stdout.json({ type: 'ranking', query, images: Array.from(images), scores: Array.from(scores) })
      }
      stdout.json({
        type: 'result',
        queries: rankings.length,
        images: index.size,
        words: flags.words ?? 1,
        seconds,
        ...(flags.out === undefined ? {} : { out: flags.out }),
      })
    } else if (!flags.quiet) {
      const asked = count(rankings.length, 'query', 'queries')
      stdout.line(`${asked} to ${count(index.size, 'image')}, in ${duration(seconds)}`)
      tellRankings(stdout, rankings, flags.top ?? SHOWN_IMAGES)
      if (flags.out !== undefined) stdout.line(`  rankings  ${flags.out}`)
    }
  } finally {
    await out?.release()
  }
}

async function rank(
  session: Session,
  index: Awaited<ReturnType<typeof loadIndex>>,
  file: string,
  { images: numbers, words, sigma, top, ...flags }: QueryFlags,
): Promise<QueryRanking[]> {
  const source = await openInput(session, file, flags)
  const signal = session.interruption()
  const view = createProgressView(session.stderr, flags.quiet === true, signal)
  try {
    const images = numbers === undefined ? new Uint32Array(source.rows) : await readLabels(numbers)
    if (numbers !== undefined) requireLength(numbers, images.length, source.rows, 'descriptors')
    const device = await openChosenDevice(flags)
    try {
      return await index.searchAll(source, images, {
        device,
        signal,
        onProgress: (share) => view.show({ label: 'assigning words', share }),
        ...(words === undefined ? {} : { words }),
        ...(sigma === undefined ? {} : { sigma }),
        ...(top === undefined ? {} : { top }),
      })
    } finally {
      await device.close()
    }
  } finally {
    view.stop()
    await source.close?.()
  }
}

function tellRankings(stdout: Output, rankings: readonly QueryRanking[], top: number): void {
  const { bold, dim } = stdout.colors
  for (const { query, images, scores } of rankings.slice(0, SHOWN_QUERIES)) {
    const found = Array.from(
      images.subarray(0, top),
      (image, i) => `${bold(String(image))} ${dim(scores[i].toFixed(3))}`,
    )
    stdout.line(`  image ${query}: ${found.join('  ') || 'no image shares a word with it'}`)
  }
  const more = rankings.length - SHOWN_QUERIES
  if (more > 0) stdout.line(dim(`  and ${count(more, 'more query', 'more queries')}: use --json or --out for all`))
}

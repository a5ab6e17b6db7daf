/** What commands share that look for the nearest of queries: their flags, and what happens around the search itself. */
import { type Command, Option } from 'commander'
import {
  type Device,
  type DeviceInfo,
  type ElementType,
  matrix,
  openVectors,
  type VectorSource,
  writeNeighbors,
  writeVectors,
} from '../index.ts'
import {
  addDeviceOptions,
  addSpeechOptions,
  type DeviceFlags,
  openChosenDevice,
  type SpeechFlags,
} from './commands/shared-options.ts'
import { count, duration, number } from './format.ts'
import { addInputOptions, type InputFlags, openInput } from './input-files.ts'
import { wholeNumber } from './option-values.ts'
import { tryFile } from './out-file.ts'
import { createProgressView } from './progress/view.ts'
import type { Session } from './session.ts'

export interface LookupFlags extends DeviceFlags, InputFlags, SpeechFlags {
  readonly nearest: number
  readonly out: string
  readonly distances?: string
}

/** `--nearest`, which is by default `standard` and not more than `most`, and where the results go. */
export function addLookupOptions(command: Command, { standard, most }: { standard: number; most?: number }): Command {
  const limit = most === undefined ? '' : `, at most ${most}`
  command
    .addOption(
      new Option('-n, --nearest <count>', `number of results for each query${limit}`)
        .argParser(wholeNumber('--nearest', 'neighbours', 1, most))
        .default(standard),
    )
    .requiredOption('-o, --out <file>', 'file for the ids found, one row per query: .npy .ivecs .csv .tsv')
    .option('--distances <file>', 'file for the distances, squared by default: .npy .fvecs .csv .tsv')
  addInputOptions(command)
  return addSpeechOptions(addDeviceOptions(command))
}

export const CANDIDATES = new Option(
  '--candidates <count>',
  'candidates for --rerank (default: ten times --nearest)',
).argParser(wholeNumber('--candidates', 'candidates', 1))

/** What the search itself is given. */
export interface LookupControl {
  readonly nearest: number
  readonly device: Device
  readonly signal: AbortSignal
  readonly onProgress: (share: number) => void
}

interface FoundLists {
  readonly labels: Uint32Array
  readonly distances: Float32Array
  readonly m: number
}

export interface Found {
  readonly queries: { readonly rows: number; readonly cols: number; readonly type: ElementType }
  readonly m: number
  readonly distances: Float32Array
  readonly device: DeviceInfo
}

/** Reads the queries, tries the files of results before the work, and writes what `find` finds among `size` vectors. */
export async function lookUp(
  session: Session,
  asked: string,
  flags: LookupFlags,
  size: number,
  find: (queries: VectorSource, control: LookupControl) => Promise<FoundLists>,
): Promise<Found> {
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
      const nearest = Math.min(flags.nearest, Math.max(1, size))
      const onProgress = (share: number): void => view.show({ label: 'searching', share })
      const { labels, distances, m } = await find(queries, { nearest, device, signal, onProgress })
      await writeNeighbors(flags.out, labels, m)
      if (flags.distances !== undefined) await writeVectors(flags.distances, matrix(distances, queries.rows, m))
      const { rows, cols, type } = queries
      return { queries: { rows, cols, type }, m, distances, device: device.info }
    } finally {
      await device.close()
    }
  } finally {
    view.stop()
    await queries.close?.()
  }
}

/** Tells what was found; `things` are what was searched, such as codes, and come into the JSON under that name. */
export function tellFound(
  session: Session,
  { out, json, quiet }: LookupFlags,
  { queries, m, device }: Found,
  { things, size, seconds, more }: { things: [string, string]; size: number; seconds: number; more?: object },
  note = '',
): void {
  if (json) {
    const facts = { queries: queries.rows, [things[1]]: size, nearest: m, ...more, seconds, device: device.kind, out }
    session.stdout.json({ type: 'result', ...facts })
  } else if (!quiet) {
    const among = count(size, things[0], things[1])
    session.stdout.line(
      `Found the ${number(Math.min(m, size))} nearest of ${among} for ${count(queries.rows, 'query', 'queries')} in ${duration(seconds)}${note}.`,
    )
    session.stdout.line(`  neighbours  ${out}`)
  }
}

/** Runs `use` with the vectors of a file, if there is one. */
export async function withVectors<T>(
  file: string | undefined,
  use: (vectors: VectorSource | undefined) => Promise<T>,
): Promise<T> {
  const vectors = file === undefined ? undefined : await openVectors(file)
  try {
    return await use(vectors)
  } finally {
    await vectors?.close?.()
  }
}

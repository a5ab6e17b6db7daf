/** `centroidal shard`: a manifest of shards from files of vectors. */
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Command, Option } from 'commander'
import { CentroidalError, writeShards } from '../../index.ts'
import { count } from '../format.ts'
import { wholeNumber } from '../option-values.ts'
import { createProgressView } from '../progress/view.ts'
import type { Session } from '../session.ts'
import { addSpeechOptions, type SpeechFlags } from './shared-options.ts'

interface ShardFlags extends SpeechFlags {
  readonly out: string
  readonly rows?: number
}

const READABLE = /\.(npy|fvecs|bvecs|ivecs|csv|tsv)$/i

export function addShardCommand(program: Command, session: Session): void {
  const command = program
    .command('shard')
    .summary('describe files as shards, for work on several machines')
    .description(
      'Reads files of vectors once and writes a manifest, which lists the rows of every file with checksums. The files stay where they are, in the folder of the manifest or below it, or in S3 (s3://bucket/key). The manifest is what centroidal cluster, assign and encode take with --on.',
    )
    .argument(
      '<files...>',
      'files, folders of files, or patterns such as "part-*.npy": .npy .fvecs .bvecs .ivecs .csv .tsv',
    )
    .requiredOption('-o, --out <file>', 'the manifest to write, a .json file')
    .addOption(
      new Option(
        '--rows <count>',
        'largest number of vectors per shard (default: as many as fit in 256 MiB)',
      ).argParser(wholeNumber('--rows', 'vectors', 1)),
    )
    .action((files: string[], flags: ShardFlags) => shard(session, files, flags))
    .addHelpText('after', '\nExample:\n  centroidal shard vectors/ --out vectors/shards.json')
  addSpeechOptions(command)
}

async function shard(session: Session, given: readonly string[], flags: ShardFlags): Promise<void> {
  const { rows, out, json, quiet } = flags
  if (!/\.json$/i.test(out)) {
    throw new CentroidalError('bad-option', `Option --out is ${JSON.stringify(out)}: give a file that ends in .json.`)
  }
  const signal = session.interruption()
  const view = createProgressView(session.stderr, quiet === true, signal)
  const files = (await Promise.all(given.map(filesOf))).flat()
  try {
    const manifest = await writeShards(out, files, {
      ...(rows === undefined ? {} : { rows }),
      signal,
      onProgress: (share) => view.show({ label: 'reading the vectors', share }),
    })
    view.stop()
    const { shards, cols, type } = manifest
    const total = shards.reduce((sum, each) => sum + each.rows, 0)
    if (json) session.stdout.json({ type: 'result', shards: shards.length, rows: total, cols, elements: type, out })
    else if (!quiet) {
      session.stdout.line(
        `Listed ${count(total, 'vector')} of ${count(cols, 'dimension')} in ${count(files.length, 'file')} as ${count(shards.length, 'shard')} in ${out}.`,
      )
    }
  } finally {
    view.stop()
  }
}

/** Files of a folder, or those that a pattern stands for, by name. */
async function filesOf(given: string): Promise<string[]> {
  if (given.startsWith('s3://')) return [given]
  const found = await stat(given).catch(() => undefined)
  const [folder, pattern] = found?.isDirectory() ? [given, /./] : [dirname(given), patternOf(basename(given))]
  if (found?.isFile() || pattern === undefined) return [given]
  const names = (await readdir(folder).catch(() => [])).filter((name) => READABLE.test(name) && pattern.test(name))
  if (names.length > 0) return names.sort().map((name) => join(folder, name))
  throw new CentroidalError(
    'bad-file',
    `${JSON.stringify(given)} contains no files of vectors: give a folder or files.`,
  )
}

/** Undefined if there are no wildcards. */
function patternOf(name: string): RegExp | undefined {
  if (!/[*?]/.test(name)) return undefined
  const escaped = name.replace(/[.+^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`)
}

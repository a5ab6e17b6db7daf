/** `centroidal convert`: vectors from one file format to another, in pieces. */
import { stat } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { CentroidalError, vectorBytes, writeVectors } from '../../index.ts'
import { bytes, count } from '../format.ts'
import { addInputOptions, type InputFlags, openInput, VECTOR_FILES } from '../input-files.ts'
import { badValue } from '../option-values.ts'
import { STDOUT } from '../out-file.ts'
import { createProgressView } from '../progress/view.ts'
import type { Session } from '../session.ts'
import { addSpeechOptions, type SpeechFlags } from './shared-options.ts'

interface ConvertFlags extends InputFlags, SpeechFlags {
  readonly to?: string
  readonly float32?: boolean
}

export function addConvertCommand(program: Command, session: Session): void {
  const command = program
    .command('convert')
    .summary('write vectors in another file format')
    .description(
      `Reads vectors from one or several files and writes them to the last one, in parts where the formats allow. Read: ${VECTOR_FILES}. Written: .npy .fvecs .bvecs .ivecs .csv .tsv, and for sparse rows .npz .mat, each also .gz, or - for standard output. Numbers that the target cannot hold exactly are refused, unless --float32 rounds them.`,
    )
    .argument('<files...>', 'the files to read, followed by the file to write')
    .action((files: string[], flags: ConvertFlags) => convert(session, files, flags))
    .addHelpText(
      'after',
      `
Example:
  centroidal convert sift.bvecs sift.npy
  centroidal convert glove-100-angular.hdf5#train glove.fvecs
  centroidal convert part-0.parquet part-1.parquet all.npy
  centroidal convert table.csv - --columns x,y --to npy > points.npy`,
    )
  addInputOptions(command)
  command
    .addOption(new Option('--to <name>', 'format of standard output (default: csv)').helpGroup('Output:'))
    .addOption(new Option('--float32', 'round 64-bit numbers to 32-bit floats').helpGroup('Output:'))
  addSpeechOptions(command)
}

async function convert(session: Session, files: readonly string[], flags: ConvertFlags): Promise<void> {
  const { json, quiet } = flags
  const { stdout, stderr } = session
  const from = files.slice(0, -1)
  const to = files[files.length - 1]
  if (from.length === 0) {
    throw new CentroidalError(
      'bad-option',
      'The file to write is missing: give at least two names, the last of which is written.',
    )
  }
  const toStdout = to === STDOUT
  if (flags.to !== undefined && !toStdout) {
    throw badValue('--to', flags.to, 'it applies to standard output only; the format of a file follows from its name.')
  }
  if (toStdout && json)
    throw badValue(
      '--json',
      'true',
      'standard output is used for the vectors; write them to a file, or leave --json out.',
    )
  const signal = session.interruption()
  const source = await openInput(session, from, flags, true)
  const view = createProgressView(stderr, quiet === true, signal)
  const { rows, cols, read64 } = source
  const stoppable = {
    ...source,
    read: async (start: number, end: number) => {
      signal.throwIfAborted()
      return source.read(start, end)
    },
    ...(read64 && {
      read64: async (start: number, end: number) => {
        signal.throwIfAborted()
        return read64(start, end)
      },
    }),
  }
  const options = {
    float32: flags.float32 === true,
    onProgress: (share: number) =>
      view.show({
        label: 'converting',
        share,
        details: [`${count(Math.round(share * rows), 'row')} of ${rows.toLocaleString('en')}`],
      }),
  }
  try {
    if (toStdout) stdout.bytes(await vectorBytes(`standard output.${flags.to ?? 'csv'}`, stoppable, options))
    else await writeVectors(to, stoppable, options)
  } catch (error) {
    // Messages of the library do not contain flags; they are added here.
    if (!(error instanceof CentroidalError)) throw error
    throw new CentroidalError(error.code, error.message.replace('the option float32', '--float32'), { cause: error })
  } finally {
    view.stop()
    await source.close?.()
  }
  if (toStdout) return
  const size = (await stat(to)).size
  if (json) stdout.json({ type: 'result', rows, cols, elements: elementsOf(source, flags), bytes: size, out: to })
  else if (!quiet)
    stdout.line(`Wrote ${count(rows, 'vector')} of ${count(cols, 'dimension')} to ${to}, ${bytes(size)}.`)
}

/** The type of the numbers, as they were given to the file. */
function elementsOf(
  { type, read64 }: { readonly type: string; readonly read64?: unknown },
  { float32 }: ConvertFlags,
): string {
  return read64 && float32 !== true ? 'f64' : type
}

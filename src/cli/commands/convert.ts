/** `centroidal convert`: vectors from one file format to another, in pieces. */
import { stat } from 'node:fs/promises'
import type { Command } from 'commander'
import { openVectors, writeVectors } from '../../index.ts'
import { createProgressView } from '../progress/view.ts'
import type { Session } from '../session.ts'
import { bytes, count } from '../words.ts'
import { addSpeechOptions, type SpeechFlags } from './shared-options.ts'

export function addConvertCommand(program: Command, session: Session): void {
  const command = program
    .command('convert')
    .summary('write vectors in another file format')
    .description(
      'Reads vectors from one file and writes them to another, piece by piece, so they may be larger than memory. The formats are known by the extensions: .npy .fvecs .bvecs .ivecs .csv .tsv, and for sparse rows .npz (SciPy) and .mat (CLUTO). Numbers that the target cannot hold are refused, never rounded.',
    )
    .argument('<input>', 'the file to read')
    .argument('<output>', 'the file to write')
    .action((from: string, to: string, flags: SpeechFlags) => convert(session, from, to, flags))
    .addHelpText('after', '\nExample:\n  centroidal convert sift.bvecs sift.npy')
  addSpeechOptions(command)
}

async function convert(session: Session, from: string, to: string, { json, quiet }: SpeechFlags): Promise<void> {
  const { stdout, stderr } = session
  const signal = session.interruption()
  const source = await openVectors(from)
  const view = createProgressView(stderr, quiet === true, signal)
  const { rows, cols, type } = source
  const stoppable = {
    ...source,
    read: async (start: number, end: number) => {
      signal.throwIfAborted()
      return source.read(start, end)
    },
  }
  try {
    await writeVectors(to, stoppable, {
      onProgress: (done) =>
        view.show({
          label: 'converting',
          share: done / rows,
          details: [`${count(done, 'row')} of ${rows.toLocaleString('en')}`],
        }),
    })
  } finally {
    view.stop()
    await source.close?.()
  }
  const size = (await stat(to)).size
  if (json) stdout.json({ type: 'result', rows, cols, elements: type, bytes: size, out: to })
  else if (!quiet)
    stdout.line(`Wrote ${count(rows, 'vector')} of ${count(cols, 'dimension')} to ${to}, ${bytes(size)}.`)
}

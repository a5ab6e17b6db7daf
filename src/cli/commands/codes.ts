/** `centroidal encode` and `centroidal decode`: vectors to codes and back. */
import type { Command } from 'commander'
import { loadQuantizer, matrix, readVectors, type ShardedVectors, writeVectors } from '../../index.ts'
import { bytes, count, duration, number } from '../format.ts'
import { addInputOptions, type InputFlags, openInput, VECTOR_FILES } from '../input-files.ts'
import { tryFile } from '../out-file.ts'
import { createProgressView } from '../progress/view.ts'
import type { Session } from '../session.ts'
import { requireOut, shardWork } from './shard-work.ts'
import {
  addDeviceOptions,
  addMachineOptions,
  addSpeechOptions,
  type DeviceFlags,
  type MachineFlags,
  openChosenDevice,
  type SpeechFlags,
} from './shared-options.ts'

interface CodeFlags extends DeviceFlags, SpeechFlags {
  readonly out: string
}

interface EncodeFlags extends DeviceFlags, InputFlags, SpeechFlags, MachineFlags {
  readonly out?: string
  readonly suffix?: string
}

export function addCodeCommands(program: Command, session: Session): void {
  const encode = program
    .command('encode')
    .summary('encode vectors')
    .description('Encodes every vector of a file as a few bytes, with a trained quantizer.')
    .argument('<quantizer>', 'folder written by centroidal quantize')
    .argument('<vectors...>', `the vectors: ${VECTOR_FILES}`)
    .option('-o, --out <file>', 'file for the codes, one row of bytes per vector: .npy .bvecs; required without --on')
    .option(
      '--suffix <name>',
      'with --on, suffix of the code files, whose names begin with that of the shard (default: codes)',
    )
    .action((quantizer: string, vectors: string[], flags: EncodeFlags) =>
      encodeFile(session, quantizer, vectors, flags),
    )
    .addHelpText('after', '\nExample:\n  centroidal encode quantizer base.bvecs --out codes.npy')
  const decode = program
    .command('decode')
    .summary('decode codes to vectors')
    .description('Decodes codes to approximations of the vectors that were encoded.')
    .argument('<quantizer>', 'folder written by centroidal quantize')
    .argument('<codes>', 'the codes: .npy .bvecs')
    .requiredOption('-o, --out <file>', 'file for the vectors: .npy .fvecs .csv .tsv')
    .action((quantizer: string, codes: string, flags: CodeFlags) => decodeFile(session, quantizer, codes, flags))
    .addHelpText('after', '\nExample:\n  centroidal decode quantizer codes.npy --out near.npy')
  addInputOptions(encode)
  addMachineOptions(encode)
  for (const command of [encode, decode]) addSpeechOptions(addDeviceOptions(command))
}

async function encodeFile(
  session: Session,
  folder: string,
  files: readonly string[],
  flags: EncodeFlags,
): Promise<void> {
  const began = performance.now()
  const quantizer = await loadQuantizer(folder)
  const source = await openInput(session, files, flags)
  if (flags.on !== undefined) {
    return shardWork(session, source as ShardedVectors, flags, 'encoding the vectors', (pool, control) =>
      pool.encode(source as ShardedVectors, quantizer, control),
    )
  }
  const out = requireOut(flags.out)
  const signal = session.interruption()
  const view = createProgressView(session.stderr, flags.quiet === true, signal)
  try {
    await tryFile(out, (probe) => writeVectors(probe, matrix(Uint8Array.of(0), 1, 1)))
    const device = await openChosenDevice(flags)
    try {
      const onProgress = (share: number): void => view.show({ label: 'encoding the vectors', share })
      const codes = await quantizer.encode(source, { device, signal, onProgress })
      await writeVectors(out, codes)
      view.stop()
      const seconds = (performance.now() - began) / 1000
      const { rows, cols } = codes
      if (flags.json) {
        session.stdout.json({
          type: 'result',
          rows,
          codeBytes: cols,
          seconds,
          device: device.info.kind,
          out,
        })
      } else if (!flags.quiet) {
        session.stdout.line(
          `Encoded ${count(rows, 'vector')} as ${count(cols, 'byte')} each, ${bytes(rows * cols)} in all, in ${duration(seconds)}.`,
        )
        session.stdout.line(`  codes  ${out}`)
      }
    } finally {
      await device.close()
    }
  } finally {
    view.stop()
    await source.close?.()
  }
}

async function decodeFile(session: Session, folder: string, file: string, flags: CodeFlags): Promise<void> {
  const quantizer = await loadQuantizer(folder)
  const codes = await readVectors(file)
  await tryFile(flags.out, (probe) => writeVectors(probe, matrix(Float32Array.of(0), 1, 1)))
  const signal = session.interruption()
  const view = createProgressView(session.stderr, flags.quiet === true, signal)
  const device = await openChosenDevice(flags)
  try {
    const onProgress = (share: number): void => view.show({ label: 'decoding', share })
    const vectors = await quantizer.decode(codes, { device, signal, onProgress })
    await writeVectors(flags.out, vectors)
    view.stop()
    const { rows, cols } = vectors
    if (flags.json) {
      session.stdout.json({ type: 'result', rows, cols, expectedError: quantizer.distortion, out: flags.out })
    } else if (!flags.quiet) {
      session.stdout.line(
        `Decoded ${count(rows, 'vector')} of ${count(cols, 'dimension')} to ${flags.out}, with an expected distance of ${number(Math.sqrt(quantizer.distortion))} from the originals.`,
      )
    }
  } finally {
    view.stop()
    await device.close()
  }
}

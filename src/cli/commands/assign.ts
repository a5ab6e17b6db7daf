/** `centroidal assign`: more vectors to the clusters of a finished run. */
import type { Command } from 'commander'
import { labelBytes, loadModel, matrix, type ShardedVectors, writeLabels, writeVectors } from '../../index.ts'
import { count, duration, number } from '../format.ts'
import { addInputOptions, type InputFlags, openInput, VECTOR_FILES } from '../input-files.ts'
import { badValue } from '../option-values.ts'
import { STDOUT, tryFile } from '../out-file.ts'
import { createProgressView } from '../progress/view.ts'
import type { Session } from '../session.ts'
import { sizeHistogram, summarizeSizes } from '../sizes.ts'
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

interface AssignFlags extends DeviceFlags, InputFlags, SpeechFlags, MachineFlags {
  readonly out?: string
  readonly distances?: string
  readonly suffix?: string
}

export function addAssignCommand(program: Command, session: Session): void {
  const command = program
    .command('assign')
    .summary('assign more vectors to the clusters of a run')
    .description('Assigns every vector of a file to the nearest centre of a finished run.')
    .argument('<run>', 'folder written by centroidal cluster')
    .argument('<vectors...>', `the vectors to assign: ${VECTOR_FILES}`)
    .option(
      '-o, --out <file>',
      'file for the labels: .npy .ivecs .csv .tsv, or - for standard output; required without --on',
    )
    .option('--distances <file>', 'file for the squared distances to the centres: .npy .fvecs .csv .tsv')
    .option(
      '--suffix <name>',
      'with --on, suffix of the label files, whose names begin with that of the shard (default: labels)',
    )
    .action((run: string, vectors: string[], flags: AssignFlags) => assign(session, run, vectors, flags))
    .addHelpText(
      'after',
      '\nExample:\n  centroidal assign run more.npy --out labels.npy\n  centroidal assign run shards.json --on redis://store',
    )
  addInputOptions(command)
  addMachineOptions(command)
  addDeviceOptions(command)
  addSpeechOptions(command)
}

async function assign(session: Session, run: string, files: readonly string[], flags: AssignFlags): Promise<void> {
  const { stdout, stderr } = session
  const began = performance.now()
  const toStdout = flags.out === STDOUT
  if (toStdout && flags.json)
    throw badValue(
      '--out',
      STDOUT,
      'standard output is used for either the labels or the JSON; leave --json out, or write the labels to a file.',
    )
  const model = await loadModel(run)
  const source = await openInput(session, files, flags)
  if (flags.on !== undefined) {
    if (flags.distances !== undefined) {
      throw badValue('--distances', flags.distances, 'workers write labels only; leave it out, or assign without --on.')
    }
    return shardWork(session, source as ShardedVectors, flags, 'assigning the vectors', (pool, control) =>
      pool.assign(source as ShardedVectors, model, control),
    )
  }
  const out = requireOut(flags.out)
  const signal = session.interruption()
  const view = createProgressView(stderr, flags.quiet === true, signal)
  try {
    if (flags.distances !== undefined) {
      await tryFile(flags.distances, (probe) => writeVectors(probe, matrix(Float32Array.of(0), 1, 1)))
    }
    if (!toStdout) await tryFile(out, (probe) => writeLabels(probe, Uint32Array.of(0)))
    const device = await openChosenDevice(flags)
    try {
      const { labels, distances } = await model.assign(source, {
        device,
        signal,
        onProgress: (share) => view.show({ label: 'assigning the vectors', share }),
      })
      if (toStdout) session.stdout.bytes(await labelBytes('labels.csv', labels))
      else await writeLabels(out, labels)
      if (flags.distances !== undefined) await writeVectors(flags.distances, matrix(distances, distances.length, 1))
      view.stop()
      const distortion = mean(distances)
      const seconds = (performance.now() - began) / 1000
      const { k } = model.facts
      if (flags.json) {
        const { kind, name, reason } = device.info
        stdout.json({
          type: 'result',
          rows: labels.length,
          k,
          distortion,
          seconds,
          device: kind,
          deviceName: name,
          deviceReason: reason,
          out,
        })
      } else if (!flags.quiet && !toStdout) {
        const sizes = sizesOf(labels, k)
        const { smallest, largest } = summarizeSizes(sizes)
        stdout.line(`Assigned ${count(labels.length, 'vector')} to ${count(k, 'cluster')} in ${duration(seconds)}.`)
        stdout.line(`  distortion  ${number(distortion)} (${number(model.distortion)} for the vectors of the run)`)
        stdout.line(`  sizes       ${number(smallest)} ${sizeHistogram(sizes)} ${number(largest)}`)
        stdout.line(`  device      ${device.info.name}: ${device.info.reason}`)
        stdout.line(`  labels      ${out}`)
      }
    } finally {
      await device.close()
    }
  } finally {
    view.stop()
    await source.close?.()
  }
}

function mean(values: Float32Array): number {
  let sum = 0
  for (const value of values) sum += value
  return sum / values.length
}

function sizesOf(labels: Uint32Array, k: number): Uint32Array {
  const sizes = new Uint32Array(k)
  for (const label of labels) sizes[label]++
  return sizes
}

/** `centroidal quantize`: from vectors to a quantizer in a folder. */
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import {
  QUANTIZER_TYPES,
  type Quantizer,
  type QuantizerOptions,
  type QuantizerType,
  SUBSPACE_ORDERS,
  type SubspaceOrder,
  trainQuantizer,
  type VectorSource,
} from '../../index.ts'
import { count, duration, number } from '../format.ts'
import { addInputOptions, type InputFlags, inputName, inputTitle, openInput, VECTOR_FILES } from '../input-files.ts'
import { type MachineReport, MachineWatch, machineWords } from '../machine-watch.ts'
import { oneOf, realNumber, wholeNumber } from '../option-values.ts'
import { OutFolder } from '../out-folder.ts'
import { createProgressView } from '../progress/view.ts'
import { machineNotes } from '../report/machines.ts'
import { quantizerPage, STOP_WORDS } from '../report/quantizer-page.ts'
import { saveRun } from '../run-folder.ts'
import { Interrupted, type Output, type Session } from '../session.ts'
import {
  addDeviceOptions,
  addMachineOptions,
  addOptionGroup,
  addSpeechOptions,
  type DeviceFlags,
  type MachineFlags,
  openChosenDevice,
  type SpeechFlags,
} from './shared-options.ts'

interface QuantizeFlags extends DeviceFlags, InputFlags, SpeechFlags, MachineFlags {
  readonly sample?: number
  readonly type: QuantizerType
  readonly m?: number
  readonly codewords?: number
  readonly order?: SubspaceOrder
  readonly rank?: number
  readonly iterations?: number
  readonly tolerance?: number
  readonly seed?: number
  readonly out: string
  readonly title?: string
}

export function addQuantizeCommand(program: Command, session: Session): void {
  const command = program
    .command('quantize')
    .summary('train a quantizer, which encodes vectors as short codes')
    .description(
      'Trains a quantizer on vectors, and writes a folder for centroidal encode, decode and search. Ctrl-C saves the rounds so far.',
    )
    .argument('<vectors...>', `the training vectors: ${VECTOR_FILES}`)
    .requiredOption('-o, --out <folder>', 'output folder: books.npy, rotation.npy, model.json and report.html')
    .option('--title <text>', 'heading of the report (default: the file name)')
    .action((vectors: string[], flags: QuantizeFlags) => quantize(session, vectors, flags))
    .addHelpText(
      'after',
      `
Types:
  ck   Cartesian k-means: product quantization in subspaces that are turned to fit
  pq   product quantization: each group of dimensions by its own codewords
  ok   orthogonal k-means: a bit for each of m directions
  itq  iterative quantization: the signs of rotated principal components

Example:
  centroidal quantize learn.bvecs --type ck -m 8 --out quantizer
  centroidal quantize learn.bvecs --type itq -m 64 --out bits`,
    )
  addOptionGroup(command, 'Codes:', [
    new Option('--type <name>', `${QUANTIZER_TYPES.join(', ')}; see below`)
      .argParser(oneOf('--type', QUANTIZER_TYPES))
      .default('ck', 'ck'),
    new Option('-m <count>', 'codes per vector, or bits for ok and itq (default: 8, or 64 bits)').argParser(
      wholeNumber('-m', 'codes', 1),
    ),
    new Option('--codewords <count>', 'codewords of each code (default: 256; ok and itq have 2)').argParser(
      wholeNumber('--codewords', 'codewords', 1),
    ),
    new Option(
      '--order <name>',
      `${SUBSPACE_ORDERS.join(', ')}: initial assignment of dimensions to subspaces (default: natural, or principal if the rank is lower)`,
    ).argParser(oneOf('--order', SUBSPACE_ORDERS)),
    new Option('--rank <count>', 'number of dimensions to keep (default: all; ok and itq: one per bit)').argParser(
      wholeNumber('--rank', 'dimensions', 1),
    ),
  ])
  addOptionGroup(command, 'Training:', [
    new Option('--iterations <count>', 'most rounds (default: 100)').argParser(
      wholeNumber('--iterations', 'rounds', 1),
    ),
    new Option(
      '--tolerance <share>',
      'stop when a round lowers the distortion by less than this fraction; 0: run all rounds (default: 0.00001)',
    ).argParser(realNumber('--tolerance', '')),
    new Option(
      '--seed <number>',
      'seed of the random numbers; the same seed and device give the same result bit for bit (default: 0)',
    ).argParser(wholeNumber('--seed', '', 0)),
    new Option(
      '--sample <count>',
      'number of training vectors, drawn with the seed (default: 256 for each codeword, at least 65536; of a manifest of shards 1000000)',
    ).argParser(wholeNumber('--sample', 'vectors', 1)),
  ])
  addInputOptions(command)
  addMachineOptions(command)
  addDeviceOptions(command)
  addSpeechOptions(command)
}

async function quantize(session: Session, files: readonly string[], flags: QuantizeFlags): Promise<void> {
  const file = inputName(files)
  const source = await openInput(session, files, flags)
  try {
    const out = await OutFolder.claim(flags.out)
    const began = performance.now()
    const { quantizer, machines } = await train(session, source, flags)
    const seconds = (performance.now() - began) / 1000
    const { title = inputTitle(files) } = flags
    await saveRun(out, quantizer, async () => {
      const known = { title, file, commandLine: session.commandLine, elements: source.type, seconds }
      const notes = machines ? { ...known, machines: machineNotes(machines) } : known
      const page = await quantizerPage(title, { kind: 'quantizer', name: out.path, quantizer, notes })
      return { notes, page }
    })
    if (flags.json)
      session.stdout.json({ ...resultObject(quantizer, seconds, out.path), ...(machines && { machines }) })
    else if (!flags.quiet) tellResult(session.stdout, quantizer, seconds, out.path, machines)
    if (session.interrupted) {
      const rounds = count(quantizer.facts.iterations.length, 'round')
      throw new Interrupted(`Interrupted after ${rounds}: the result so far is in ${out.path}.`)
    }
  } finally {
    await source.close?.()
  }
}

interface Trained {
  readonly quantizer: Quantizer
  readonly machines: MachineReport | undefined
}

async function train(session: Session, source: VectorSource, flags: QuantizeFlags): Promise<Trained> {
  const signal = session.interruption()
  const view = createProgressView(session.stderr, flags.quiet === true, signal)
  const device = await openChosenDevice(flags)
  const { type, m, codewords, order, rank, iterations, tolerance, seed } = flags
  const given = Object.fromEntries(
    Object.entries({ m, codewords, order, rank, iterations, tolerance, seed }).filter(
      ([, value]) => value !== undefined,
    ),
  )
  const most = iterations ?? 100
  let watch: MachineWatch | undefined
  try {
    const sample = sampleOf(source, flags)
    watch = await MachineWatch.open(flags, session, (text) => view.tell(text))
    const quantizer = await trainQuantizer(source, {
      ...(given as Partial<QuantizerOptions>),
      ...(sample === undefined ? {} : { sample }),
      ...(watch && { on: watch.pool }),
      type,
      device,
      signal,
      onProgress: (share, phase = '') => {
        const label = phase.startsWith('round ') ? `${phase} of ${number(most)}` : phase
        view.show({ label, share })
      },
      onIteration: ({ iteration, distortion, seconds, rotationSeconds }) => {
        view.show({
          label: `round ${number(iteration)} of ${number(most)}`,
          share: iteration / most,
          details: [`distortion ${number(distortion)}`, `${duration(seconds)} so far`],
          milestone: true,
        })
        if (flags.json) session.stdout.json({ type: 'iteration', iteration, distortion, seconds, rotationSeconds })
      },
    })
    return { quantizer, machines: watch?.report() }
  } catch (error) {
    if (!session.interrupted) throw error
    throw new Interrupted('Interrupted before the first round was complete: nothing was written.')
  } finally {
    view.stop()
    await watch?.close()
    await device.close()
  }
}

/** Default number of training vectors from a manifest of shards. */
const SAMPLE = 1_000_000

function sampleOf({ shards }: VectorSource, { sample }: QuantizeFlags): number | undefined {
  return shards === undefined ? sample : (sample ?? SAMPLE)
}

function resultObject(quantizer: Quantizer, seconds: number, out: string): object {
  const { type, m, codewords, order, rank, rows, seed, stopped, iterations, device } = quantizer.facts
  return {
    type: 'result',
    quantizer: type,
    m,
    codewords,
    order,
    rank,
    rows,
    cols: quantizer.codec.cols,
    seed,
    codeBytes: quantizer.codeBytes,
    distortion: quantizer.distortion,
    iterations: iterations.length,
    stopped,
    seconds,
    device: device.kind,
    deviceName: device.name,
    deviceReason: device.reason,
    out,
  }
}

function tellResult(
  stdout: Output,
  quantizer: Quantizer,
  seconds: number,
  out: string,
  machines: MachineReport | undefined,
): void {
  const { type, m, codewords, order, rank, rows, stopped, iterations, device } = quantizer.facts
  const { bold, dim } = stdout.colors
  const row = (name: string, value: string): void => stdout.line(`  ${dim(name.padEnd(10))}  ${value}`)
  stdout.line(
    bold(
      `${type}: ${count(quantizer.codeBytes, 'byte')} per vector, trained on ${count(rows, 'vector')} in ${duration(seconds)}`,
    ),
  )
  row(
    'codes',
    `${count(m, 'code')} of ${count(codewords, 'codeword')}, ${count(rank, 'dimension')} of ${quantizer.codec.cols}, order ${order}`,
  )
  row('distortion', `${bold(number(quantizer.distortion))}, the mean squared distance of a vector to its decoded codes`)
  row('stopped', `after ${count(iterations.length, 'round')}: ${STOP_WORDS[stopped]}`)
  row('device', device.name)
  row('', dim(device.reason))
  if (machines) for (const [i, words] of machineWords(machines).entries()) row(i === 0 ? 'workers' : '', words)
  row('files', ['books.npy', 'rotation.npy', 'model.json', 'run.json'].map((name) => join(out, name)).join('  '))
  row('report', bold(join(out, 'report.html')))
}

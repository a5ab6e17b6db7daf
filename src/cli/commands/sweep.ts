/** `centroidal sweep`: how many clusters the vectors of a file fall into. */
import { basename, join } from 'node:path'
import { type Command, Option } from 'commander'
import {
  CentroidalError,
  type Device,
  METHODS,
  type MethodName,
  SWEEP_DEFAULTS,
  type SweepOptions,
  type SweepResult,
  type SweepStep,
  sweepSteps,
  type VectorSource,
} from '../../index.ts'
import { heldInMemory } from '../bench/race.ts'
import { count, duration, fineDuration, number } from '../format.ts'
import { addInputOptions, type InputFlags, inputName, openInput, typedInput, VECTOR_FILES } from '../input-files.ts'
import { badValue, oneOf, wholeNumber } from '../option-values.ts'
import { OutFolder } from '../out-folder.ts'
import { createProgressView } from '../progress/view.ts'
import { type SweepFacts, sweepPage } from '../report/sweep-page.ts'
import { Interrupted, type Output, type Session } from '../session.ts'
import { parseCounts } from '../sweep/counts.ts'
import { SCORES, scoreText } from '../sweep/score-names.ts'
import { stepPlot } from '../sweep/step-plot.ts'
import { givenMethodOptions, METHOD_NAMES, type MethodFlags, methodFlags } from './method-flags.ts'
import {
  addDeviceOptions,
  addOptionGroup,
  addSpeechOptions,
  type DeviceFlags,
  openChosenDevice,
  type SpeechFlags,
} from './shared-options.ts'

interface SweepFlags extends DeviceFlags, InputFlags, SpeechFlags, MethodFlags {
  readonly k?: SweepOptions['k']
  readonly steps?: number
  readonly method: 'auto' | MethodName
  readonly metric: 'euclidean' | 'cosine'
  readonly seeds: number
  readonly seed: number
  readonly out: string
  readonly title?: string
}

/** Methods that take a number of clusters. */
const CHOICES = ['auto', ...METHOD_NAMES.filter((name) => !METHODS[name].findsCount)] as const

function readMethod(text: string): 'auto' | MethodName {
  if ((METHOD_NAMES as readonly string[]).includes(text) && METHODS[text as MethodName].findsCount) {
    const cure = 'it finds the number of clusters itself; use centroidal cluster, or give another method.'
    throw badValue('--method', text, cure)
  }
  return oneOf('--method', CHOICES)(text)
}

const MOST_STEPS = 10_000
const MOST_SEEDS = 1000

export function addSweepCommand(program: Command, session: Session): void {
  const command = program
    .command('sweep')
    .summary('find the number of clusters')
    .description(
      'Clusters vectors with several numbers of clusters and scores each clustering: distortion, BIC, silhouette, Davies-Bouldin, Calinski-Harabasz, and the agreement of different seeds. One sentence recommends a number. Each clustering starts from the one with fewer clusters, so that it takes few rounds. Ctrl-C keeps the numbers that are done.',
    )
    .argument('<vectors...>', `the vectors: ${VECTOR_FILES}`)
    .action((vectors: string[], flags: SweepFlags) => sweepFile(session, vectors, flags))
    .addHelpText(
      'after',
      `
Example:
  centroidal sweep vectors.npy --k 10..1000
  centroidal sweep vectors.npy --k 2..30 --steps 29 --method gmm
  centroidal sweep vectors.npy --k 10,20,50,100 --seeds 1 --out trial`,
    )
  addInputOptions(command)
  addOptionGroup(command, 'Comparison:', [
    new Option(
      '-k, --k <numbers>',
      'numbers of clusters: a range such as 10..1000, or a list such as 10,20,50',
    ).argParser(parseCounts),
    new Option(
      '--steps <count>',
      `how many numbers of the range to try, spaced by about the same factor (default: ${SWEEP_DEFAULTS.steps})`,
    ).argParser(wholeNumber('--steps', 'steps', 2, MOST_STEPS)),
    new Option('--method <name>', `${CHOICES.join(', ')}; gmm gives the BIC of a Gaussian mixture`)
      .argParser(readMethod)
      .default(SWEEP_DEFAULTS.method),
    new Option('--metric <name>', 'euclidean or cosine')
      .argParser(oneOf('--metric', ['euclidean', 'cosine']))
      .default(SWEEP_DEFAULTS.metric),
    new Option(
      '--seeds <count>',
      'number of seeds for each number of clusters, to measure their agreement; for more than 8,192 vectors all but the first cluster a sample',
    )
      .argParser(wholeNumber('--seeds', 'seeds', 1, MOST_SEEDS))
      .default(SWEEP_DEFAULTS.seeds),
    new Option('--seed <number>', 'the first seed')
      .argParser(wholeNumber('--seed', '', 0))
      .default(SWEEP_DEFAULTS.seed),
  ])
  addOptionGroup(command, 'Options of some methods:', methodFlags())
  addDeviceOptions(command)
  addOptionGroup(command, 'Results:', [
    new Option('-o, --out <folder>', 'output folder: report.html and sweep.json').default('sweep'),
    new Option('--title <text>', 'heading of the report (default: the file name)'),
  ])
  addSpeechOptions(command)
}

async function sweepFile(session: Session, files: readonly string[], flags: SweepFlags): Promise<void> {
  const k = countsOf(flags)
  const file = inputName(files)
  const opened = await openInput(session, files, flags)
  try {
    const most = 'from' in k ? k.to : Math.max(...k)
    if (most > opened.rows) {
      throw badValue('--k', `${most}`, `there are only ${opened.rows} vectors; give at most that many clusters.`)
    }
    const out = await OutFolder.claim(flags.out)
    const device = await openChosenDevice(flags)
    try {
      const began = performance.now()
      const result = await run(session, await heldInMemory(opened), k, flags, device)
      const seconds = (performance.now() - began) / 1000
      await tellAll({ session, file, typed: typedInput(files), flags, source: opened, device, out, result, seconds })
    } finally {
      await device.close()
    }
  } finally {
    await opened.close?.()
  }
}

function countsOf({ k, steps }: SweepFlags): SweepOptions['k'] {
  if (k === undefined) {
    throw new CentroidalError('bad-option', 'Option --k is missing: give numbers of clusters, such as --k 10..1000.')
  }
  if (steps === undefined) return k
  if ('from' in k) return { ...k, steps }
  throw badValue('--steps', `${steps}`, 'it applies to a range such as --k 10..1000, but --k is a list; leave it out.')
}

async function run(
  session: Session,
  source: VectorSource,
  k: SweepOptions['k'],
  flags: SweepFlags,
  device: Device,
): Promise<SweepResult> {
  const { method, metric, seeds, seed, quiet, json } = flags
  const methodOptions = givenMethodOptions(flags)
  const signal = session.interruption()
  const view = createProgressView(session.stderr, quiet === true, signal)
  let last = { label: 'starting', share: 0 }
  const onProgress = (share: number, label = ''): void => {
    last = { label, share }
    view.show(last)
  }
  try {
    const steps = sweepSteps(source, {
      ...{ k, method, methodOptions, metric, seeds, seed, device, signal, onProgress },
      keep: false,
    })
    for (;;) {
      const step = await steps.next()
      if (step.done) return step.value
      view.show({ ...last, details: detailsOf(step.value), milestone: true })
      if (json) session.stdout.json({ type: 'step', ...stepObject(step.value) })
    }
  } catch (error) {
    if (!session.interrupted) throw error
    throw new Interrupted('Interrupted before the first number of clusters was complete: nothing was written.')
  } finally {
    view.stop()
  }
}

function detailsOf({ distortion, silhouette, seconds }: SweepStep): string[] {
  const separation = silhouette === undefined ? [] : [`silhouette ${silhouette.toFixed(3)}`]
  return [`distortion ${number(distortion)}`, ...separation, fineDuration(seconds)]
}

/** JSON has no undefined: a score that a step does not have is null. */
function stepObject(step: SweepStep): Record<string, unknown> {
  return Object.fromEntries(Object.entries(step).map(([name, value]) => [name, value ?? null]))
}

interface Done {
  readonly session: Session
  readonly file: string
  /** The files, as they are typed in a command. */
  readonly typed: string
  readonly flags: SweepFlags
  readonly source: VectorSource
  readonly device: Device
  readonly out: OutFolder
  readonly result: SweepResult
  readonly seconds: number
}

async function tellAll(done: Done): Promise<void> {
  const { session, file, flags, source, device, out, result, seconds } = done
  const { method, metric, seed, seeds } = flags
  const { rows, cols } = source
  const facts: SweepFacts = {
    ...{ title: flags.title ?? `How many clusters in ${basename(file)}?`, file, rows, cols },
    ...{ sparse: source.sparse !== undefined, method, metric, seed, seeds, seconds },
    ...{ device: device.info, commandLine: session.commandLine },
  }
  const told = {
    ...{ file, rows, cols, method, metric, seed, seeds, seconds },
    ...{ device: device.info.kind, deviceName: device.info.name, silhouetteForm: result.silhouetteForm },
    ...{ advice: result.advice, advised: result.advised ?? null, next: result.next ?? null },
    elbow: result.elbow ?? null,
    best: Object.fromEntries(Object.entries(result.best).map(([name, k]) => [name, k ?? null])),
    aborted: result.aborted,
    steps: result.steps.map(stepObject),
  }
  await out.saveText('sweep.json', `${JSON.stringify(told)}\n`)
  await out.saveText('report.html', await sweepPage(facts, result))
  if (flags.json) session.stdout.json({ type: 'result', ...told, out: out.path })
  else if (!flags.quiet) tell(session.stdout, done)
  if (session.interrupted) {
    const steps = count(result.steps.length, 'number of clusters', 'numbers of clusters')
    throw new Interrupted(`Interrupted after ${steps}: the results so far are in ${out.path}.`)
  }
}

function tell(stdout: Output, { file, typed, source, result, seconds, out }: Done): void {
  const { bold, dim } = stdout.colors
  const { steps, best, elbow, advice, advised, next, silhouetteForm } = result
  const form = silhouetteForm === 'simplified' ? 'silhouette is the simplified silhouette; ' : ''
  stdout.line(
    bold(
      `${basename(file)}: ${count(source.rows, 'vector')} with ${count(source.cols, 'dimension')}${source.sparse ? ', sparse' : ''}, in ${duration(seconds)}`,
    ),
  )
  const marked = (text: string, isBest: boolean): string => `${text}${isBest ? '*' : ' '}`
  const heads = ['k', 'distortion', ...SCORES.map(({ head }) => head), 'rounds', 'time']
  const rows = steps.map((step) => [
    number(step.k),
    marked(number(step.distortion), step.k === elbow),
    ...SCORES.map((name) => marked(scoreText(name, step), best[name.score] === step.k)),
    number(step.rounds),
    fineDuration(step.seconds),
  ])
  const widths = heads.map((head, i) => Math.max(head.length, ...rows.map((row) => row[i].length)))
  const line = (cells: readonly string[]): string => cells.map((cell, i) => cell.padStart(widths[i])).join('  ')
  stdout.line(`  ${dim(line(heads))}`)
  rows.forEach((row, i) => {
    stdout.line(`  ${steps[i].k === advised ? bold(line(row)) : line(row)}`)
  })
  stdout.line(dim(`  * best of its column (distortion: elbow); ${form}${agreement(steps, source.rows)}`))
  const plot = stepPlot(steps, elbow)
  if (plot.length > 0) stdout.line('')
  for (const text of plot) stdout.line(`  ${text}`)
  stdout.line('')
  stdout.line(bold(advice))
  if (next) stdout.line(`  next    centroidal sweep ${typed} --k ${next.from}..${next.to}`)
  else if (advised !== undefined && advised > 1) stdout.line(`  next    centroidal cluster ${typed} -k ${advised}`)
  stdout.line(`  report  ${bold(join(out.path, 'report.html'))}`)
}

/** What the stability was measured on. */
function agreement(steps: readonly SweepStep[], rows: number): string {
  const counts = steps.flatMap(({ stabilityRows }) => stabilityRows ?? [])
  if (counts.length === 0) return 'stability requires more than one seed'
  const [least, most] = [Math.min(...counts), Math.max(...counts)]
  if (least === rows) return 'stability is the agreement of the seeds'
  const sample = least === most ? number(least) : `${number(least)} to ${number(most)}`
  return `stability is the agreement of the other seeds on a sample of ${sample} vectors`
}

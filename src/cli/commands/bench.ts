/** `centroidal bench`: which method is best for the vectors of a file. */
import { basename, join } from 'node:path'
import { type Command, Option } from 'commander'
import type { Device, MethodName, VectorSource } from '../../index.ts'
import { chooseMethods, defaultCount, parseMethods } from '../bench/methods.ts'
import { heldInMemory, type RaceResult, race, warmUp } from '../bench/race.ts'
import { textPlot } from '../bench/text-plot.ts'
import { endWords, judgeRaces, type Verdict } from '../bench/verdict.ts'
import { count, fineDuration, number, percent } from '../format.ts'
import { addInputOptions, type InputFlags, inputName, openInput, VECTOR_FILES } from '../input-files.ts'
import { badValue, oneOf, realNumber, wholeNumber } from '../option-values.ts'
import { OutFolder } from '../out-folder.ts'
import { createProgressView } from '../progress/view.ts'
import { type BenchFacts, benchPage, FAIRNESS } from '../report/bench-page.ts'
import { notesText } from '../run-folder.ts'
import { Interrupted, type Session } from '../session.ts'
import {
  addDeviceOptions,
  addOptionGroup,
  addSpeechOptions,
  type DeviceFlags,
  openChosenDevice,
  type SpeechFlags,
} from './shared-options.ts'

interface BenchFlags extends DeviceFlags, InputFlags, SpeechFlags {
  readonly k?: number
  readonly seconds: number
  readonly methods?: readonly MethodName[] | 'all'
  readonly metric: 'euclidean' | 'cosine'
  readonly seed: number
  readonly out: string
  readonly title?: string
}

export function addBenchCommand(program: Command, session: Session): void {
  const command = program
    .command('bench')
    .summary('compare methods on your vectors')
    .description(
      `Runs several methods on the vectors of a file, each for the same time, and reports which one reaches the lowest distortion and which one is fastest. ${FAIRNESS} This measures methods on your data; what the project measures of itself is npm run bench in its repository. Ctrl-C keeps what was reached.`,
    )
    .argument('<vectors...>', `the vectors: ${VECTOR_FILES}`)
    .action((vectors: string[], flags: BenchFlags) => bench(session, vectors, flags))
    .addHelpText(
      'after',
      `
Example:
  centroidal bench vectors.npy -k 1000
  centroidal bench vectors.npy -k 64 --seconds 5 --methods lloyd,sharp,minibatch --out trial
  centroidal report trial/lloyd trial/sharp`,
    )
  addOptionGroup(command, 'Comparison:', [
    new Option(
      '-k <count>',
      'number of clusters (default: the square root of the number of vectors, at most 1,000)',
    ).argParser(wholeNumber('-k', 'clusters', 1)),
    new Option('--seconds <time>', 'time for each method').argParser(positiveSeconds).default(20),
    new Option(
      '--methods <names>',
      'comma-separated methods, or all; methods that find the number of clusters themselves cannot be compared (default: a selection by k and the data)',
    ).argParser(parseMethods),
    new Option('--metric <name>', 'euclidean or cosine')
      .argParser(oneOf('--metric', ['euclidean', 'cosine']))
      .default('euclidean'),
    new Option('--seed <number>', 'seed of the random numbers: the same seed gives the same initial centres')
      .argParser(wholeNumber('--seed', '', 0))
      .default(0),
  ])
  addInputOptions(command)
  addDeviceOptions(command)
  addOptionGroup(command, 'Results:', [
    new Option(
      '-o, --out <folder>',
      'output folder: report.html, bench.json, and a folder with the model of each method',
    ).default('bench-run'),
    new Option('--title <text>', 'heading of the report (default: the file name)'),
  ])
  addSpeechOptions(command)
}

/** 11 days. Timers of Node fire at once if the time is longer than 2^31 milliseconds. */
const MOST_SECONDS = 1_000_000

function positiveSeconds(text: string): number {
  const value = realNumber('--seconds', 'seconds', MOST_SECONDS)(text)
  if (value === 0) throw badValue('--seconds', text, 'give a number of seconds above 0.')
  return value
}

async function bench(session: Session, files: readonly string[], flags: BenchFlags): Promise<void> {
  const file = inputName(files)
  const opened = await openInput(session, files, flags)
  try {
    const k = flags.k ?? defaultCount(opened.rows)
    const methods = chooseMethods(flags.methods, opened, k)
    if (k > opened.rows)
      throw badValue('-k', `${k}`, `there are only ${opened.rows} vectors; give at most that many clusters.`)
    const out = await OutFolder.claim(flags.out)
    const device = await openChosenDevice(flags)
    try {
      const source = await heldInMemory(opened)
      const contest = { session, file, flags, k, methods, source, device, out }
      const results = await runAll(contest)
      await tellAll(contest, results)
    } finally {
      await device.close()
    }
  } finally {
    await opened.close?.()
  }
}

interface Contest {
  readonly session: Session
  readonly file: string
  readonly flags: BenchFlags
  readonly k: number
  readonly methods: readonly MethodName[]
  readonly source: VectorSource
  readonly device: Device
  readonly out: OutFolder
}

async function runAll(contest: Contest): Promise<RaceResult[]> {
  const { session, flags, k, methods, source, device } = contest
  const signal = session.interruption()
  const view = createProgressView(session.stderr, flags.quiet === true, signal)
  const { seconds, seed, metric } = flags
  const results: RaceResult[] = []
  try {
    for (const [i, method] of methods.entries()) {
      const label = `${method} (${i + 1} of ${methods.length})`
      await warmUp(device, method, source, metric, signal)
      const began = performance.now()
      const show = (details: readonly string[], milestone = false): void => {
        const spent = Math.min(1, (performance.now() - began) / 1000 / seconds)
        view.show({ label, share: (i + (milestone ? 1 : spent)) / methods.length, details, milestone })
      }
      let last: string[] = []
      const result = await race(
        source,
        device,
        method,
        { k, seconds, seed, metric },
        {
          signal,
          onProgress: (_, phase = '') => show(last.length > 0 ? last : [phase]),
          onRound: ({ iteration, distortion, moved, candidates, seconds: at }) => {
            last = [
              `distortion ${number(distortion)}`,
              `round ${number(iteration)}`,
              `${fineDuration(at)} of ${fineDuration(seconds)}`,
            ]
            show(last)
            if (flags.json)
              session.stdout.json({ type: 'iteration', method, iteration, distortion, moved, candidates, seconds: at })
          },
        },
      )
      results.push(result)
      show(last.length > 0 ? last : [`no round within ${fineDuration(seconds)}`], true)
      await saveModel(contest, result)
      if (signal.aborted) break
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    view.stop()
  }
  if (signal.aborted && results.every(({ rounds }) => rounds.length === 0)) {
    throw new Interrupted('Interrupted before the first round was complete: nothing was written.')
  }
  return results
}

/** A folder like those of centroidal cluster, so that the best can be used and all can be compared. */
async function saveModel(
  { out, file, source, session }: Contest,
  { method, model, rounds }: RaceResult,
): Promise<void> {
  if (model === undefined) return
  const notes = notesText({
    ...{ title: `${basename(file)}, ${method}`, file, commandLine: session.commandLine, elements: source.type },
    ...(source.sparse === undefined ? {} : { sparseEntries: source.sparse.values.length }),
    seconds: rounds[rounds.length - 1].seconds,
  })
  await model.save(join(out.path, method), { files: { 'run.json': notes } })
}

async function tellAll(contest: Contest, results: readonly RaceResult[]): Promise<void> {
  const { session, file, flags, k, source, device, out } = contest
  const { seconds, seed, metric } = flags
  const verdict = judgeRaces(results, { k, seconds, file: basename(file) })
  const facts: BenchFacts = {
    ...{ title: flags.title ?? `Methods on ${basename(file)}`, file, k, seconds, seed, metric },
    ...{ rows: source.rows, cols: source.cols, sparse: source.sparse !== undefined },
    ...{ device: device.info, commandLine: session.commandLine },
  }
  const told = { ...resultObject(facts, verdict), device: device.info.kind, deviceName: device.info.name }
  if (results.some(({ model }) => model !== undefined)) {
    await out.saveText('bench.json', `${JSON.stringify({ ...told, courses: coursesOf(results) })}\n`)
    await out.saveText('report.html', await benchPage(facts, verdict, results))
  }
  if (flags.json) session.stdout.json({ type: 'result', ...told, out: out.path })
  else if (!flags.quiet) tell(contest, verdict, results)
  if (session.interrupted) {
    const finished = results.filter(({ ended }) => ended !== 'interrupted').length
    throw new Interrupted(
      `Interrupted after ${finished} of ${count(contest.methods.length, 'method')}: the results so far are in ${out.path}.`,
    )
  }
}

function coursesOf(results: readonly RaceResult[]): object[] {
  return results.map(({ method, rounds }) => ({
    method,
    rounds: rounds.map(({ iteration, distortion, seconds, candidates, moved }) => ({
      ...{ iteration, distortion, seconds, candidates, moved },
    })),
  }))
}

function resultObject({ file, rows, cols, sparse, k, seconds, seed, metric }: BenchFacts, verdict: Verdict): object {
  return {
    file,
    rows,
    cols,
    sparse,
    k,
    seconds,
    seed,
    metric,
    best: verdict.best ?? null,
    sentence: verdict.sentence,
    methods: verdict.rows,
  }
}

const HEADS = ['method', 'distortion', 'above best', 'rounds', 'ended after', 'within 1% after'] as const

function tell(
  { session, file, source, k, flags, out }: Contest,
  { rows, best, sentence }: Verdict,
  results: readonly RaceResult[],
): void {
  const { stdout } = session
  const { bold, dim } = stdout.colors
  const letters = rows.map((_, i) => String.fromCharCode(97 + i))
  const cells = rows.map((row, i) => [
    `${letters[i]} ${row.method}`,
    row.distortion === undefined ? '–' : number(row.distortion),
    row.above === undefined ? '–' : percent(row.above, 2),
    number(row.rounds),
    row.rounds === 0 ? '–' : fineDuration(row.seconds),
    row.secondsToNear === undefined ? 'never' : fineDuration(row.secondsToNear),
  ])
  const widths = HEADS.map((head, i) => Math.max(head.length, ...cells.map((row) => row[i].length)))
  const line = (row: readonly string[]): string =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ')
  stdout.line(
    bold(
      `${basename(file)}: ${count(source.rows, 'vector')} with ${count(source.cols, 'dimension')}${source.sparse ? ', sparse' : ''}, ${count(k, 'cluster')}, ${fineDuration(flags.seconds)} for each method`,
    ),
  )
  stdout.line(`  ${dim(line(HEADS))}`)
  rows.forEach((row, i) => {
    const text = line(cells[i])
    stdout.line(`  ${row.method === best ? bold(text) : text}  ${dim(endWords(row))}`)
  })
  const curves = rows.map(({ method }, i) => ({
    letter: letters[i],
    points: (results.find((result) => result.method === method)?.rounds ?? []).map(
      ({ seconds, distortion }) => [seconds, distortion] as const,
    ),
  }))
  stdout.line('')
  for (const text of textPlot(curves, flags.seconds)) stdout.line(`  ${text}`)
  stdout.line('')
  stdout.line(bold(sentence))
  stdout.line(
    dim('Each method started with its default start and the same seed; the times include loading and starting.'),
  )
  if (best !== undefined) stdout.line(`  report  ${bold(join(out.path, 'report.html'))}`)
}

/** `centroidal report`: the report of a run anew, or of several side by side. */
import { join } from 'node:path'
import type { Command } from 'commander'
import { CentroidalError } from '../../index.ts'
import { count, duration, number } from '../format.ts'
import { tryFile } from '../out-file.ts'
import { clusterPage } from '../report/cluster-page.ts'
import {
  type Comparison,
  comparePage,
  compareRuns,
  distortionOf,
  type PairAgreement,
  roundsOf,
} from '../report/compare-page.ts'
import { savePage } from '../report/document.ts'
import { quantizerPage } from '../report/quantizer-page.ts'
import { loadRun, type Run, runSeconds } from '../run-folder.ts'
import type { Session } from '../session.ts'
import { agreement, confusionOf, readClasses, requireLength } from '../truth.ts'
import { addSpeechOptions, type SpeechFlags } from './shared-options.ts'

interface ReportFlags extends SpeechFlags {
  readonly out?: string
  readonly title?: string
  readonly truth?: string
}

export function addReportCommand(program: Command, session: Session): void {
  const command = program
    .command('report')
    .summary('compare runs, or write the report of one again')
    .description(
      'Reads folders written by centroidal cluster, vocabulary or quantize. For several runs, writes one page that compares them: figures, distortion over time and rounds, sizes, maps of the centres, and the agreement of their labels. For one run, writes its report.html again.',
    )
    .argument('<runs...>', 'folders of runs')
    .option(
      '-o, --out <file>',
      'file for the page (default: compare.html, or report.html in the folder of a single run)',
    )
    .option('--title <text>', 'heading of the page')
    .option('--truth <file>', 'known class of each vector, to compare with the labels of every run')
    .action((folders: string[], flags: ReportFlags) => report(session, folders, flags))
    .addHelpText(
      'after',
      `
Example:
  centroidal report run
  centroidal report lloyd closures rakm --out compare.html
  centroidal report lloyd closures --truth classes.npy`,
    )
  addSpeechOptions(command)
}

async function report(session: Session, folders: readonly string[], flags: ReportFlags): Promise<void> {
  const runs: Run[] = []
  for (const folder of folders) runs.push(await loadRun(folder))
  const judged = flags.truth === undefined ? runs : await judge(runs, flags.truth)
  if (judged.length === 1) await reportOne(session, judged[0], flags)
  else await reportSeveral(session, judged, flags)
}

async function reportOne({ stdout }: Session, run: Run, flags: ReportFlags): Promise<void> {
  const out = flags.out ?? join(run.name, 'report.html')
  const title = flags.title ?? run.notes.title ?? run.name
  await tryFile(out, (probe) => savePage(probe, ''))
  await savePage(out, run.kind === 'clustering' ? await clusterPage(title, run) : await quantizerPage(title, run))
  if (flags.json) stdout.json({ type: 'result', runs: [runObject(run)], agreements: [], warnings: [], out })
  else if (!flags.quiet) stdout.line(`Wrote the report of ${run.name} to ${stdout.colors.bold(out)}`)
}

async function reportSeveral(session: Session, runs: readonly Run[], flags: ReportFlags): Promise<void> {
  const { stdout } = session
  const out = flags.out ?? 'compare.html'
  await tryFile(out, (probe) => savePage(probe, ''))
  const comparison = compareRuns(runs)
  const title = flags.title ?? `Comparison of ${count(runs.length, 'run')}`
  await savePage(out, await comparePage(title, comparison, session.commandLine))
  const { agreements, warnings } = comparison
  if (flags.json) stdout.json({ type: 'result', runs: runs.map(runObject), agreements, warnings, out })
  else if (!flags.quiet) tell(session, comparison, out)
}

/** Classes given now, independent of those given when the runs were created. */
async function judge(runs: readonly Run[], file: string): Promise<Run[]> {
  const truth = await readClasses(file)
  if (!runs.some((run) => run.kind === 'clustering' && run.labels !== undefined)) {
    throw new CentroidalError('bad-option', 'Option --truth requires runs with labels, and none of these has labels.')
  }
  return runs.map((run) => {
    if (run.kind !== 'clustering' || run.labels === undefined) return run
    requireLength(file, truth.length, run.labels.length, `vectors of ${run.name}`)
    const { confusion: _, ...notes } = run.notes
    const confusion = confusionOf(run.labels, truth, run.facts.k)
    const judged = { ...notes, agreement: agreement(run.labels, truth), ...(confusion && { confusion }) }
    return { ...run, notes: judged }
  })
}

function runObject(run: Run): object {
  const common = {
    run: run.name,
    kind: run.kind,
    distortion: distortionOf(run),
    iterations: roundsOf(run).length,
    seconds: runSeconds(run),
  }
  if (run.kind === 'quantizer') {
    const { facts, codeBytes } = run.quantizer
    return {
      ...common,
      type: facts.type,
      m: facts.m,
      codewords: facts.codewords,
      codeBytes,
      seed: facts.seed,
      device: facts.device.kind,
    }
  }
  const { method, metric, k, rows, cols, seed, device, stopped, iterations } = run.facts
  const { candidates } = iterations[iterations.length - 1]
  const nmi = run.notes.agreement === undefined ? {} : { nmi: run.notes.agreement.nmi }
  return { ...common, method, metric, k, rows, cols, seed, candidates, stopped, device: device.kind, ...nmi }
}

function tell({ stdout }: Session, { clusterings, quantizers, agreements, warnings }: Comparison, out: string): void {
  const { bold, dim, yellow } = stdout.colors
  const runs: Run[] = [...clusterings, ...quantizers]
  const width = Math.max(3, ...runs.map(({ name }) => name.length))
  const method = (run: Run): string => (run.kind === 'clustering' ? run.facts.method : run.quantizer.facts.type)
  const size = (run: Run): string =>
    run.kind === 'clustering' ? `k ${number(run.facts.k)}` : count(run.quantizer.codeBytes, 'byte')
  const rows = runs.map((run) => [
    run.name.padEnd(width),
    method(run).padEnd(14),
    size(run).padStart(9),
    number(distortionOf(run)).padStart(12),
    count(roundsOf(run).length, 'round').padStart(11),
    duration(runSeconds(run)).padStart(9),
  ])
  const heads = ['run'.padEnd(width), 'method'.padEnd(14), ''.padEnd(9), 'distortion'.padStart(12)]
  stdout.line(dim(heads.join('  ')))
  for (const row of rows) stdout.line(row.join('  '))
  for (const words of agreementWords(agreements)) stdout.line(words)
  for (const warning of warnings) stdout.line(yellow(warning))
  stdout.line(`report  ${bold(out)}`)
}

/** Pair by pair while that is little to read; the page has them all. */
function agreementWords(agreements: readonly PairAgreement[]): string[] {
  if (agreements.length > 3) {
    const values = agreements.map(({ nmi }) => nmi)
    const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(3))
    return [`the labels of any two runs agree with NMI ${low} to ${high}`]
  }
  return agreements.map(
    ({ runs: [a, b], nmi, ari }) => `${a} and ${b}: NMI ${nmi.toFixed(3)}, adjusted Rand index ${ari.toFixed(3)}`,
  )
}

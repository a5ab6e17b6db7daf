/** `centroidal evaluate`: labels against known classes or by their vectors, found neighbours against true ones, rankings against known groups. */
import { type Command, Option } from 'commander'
import { CentroidalError, judgeRankings, overlapAt, readIntegers, recallAt } from '../../index.ts'
import { scoreLabels, scoreWords } from '../cluster-scores.ts'
import { count, percent } from '../format.ts'
import { readGroups, readRankings } from '../rankings.ts'
import { savePage } from '../report/document.ts'
import { neighboursPage, rankingPage } from '../report/judged-page.ts'
import type { Session } from '../session.ts'
import {
  type Agreement,
  agreement,
  entropyWords,
  type Labels,
  nmiWords,
  purityWords,
  readClasses,
  readLabels,
  requireLength,
} from '../truth.ts'
import { addJsonOption, type SpeechFlags } from './shared-options.ts'

export function addEvaluateCommand(program: Command, session: Session): void {
  const command = program
    .command('evaluate')
    .summary('score labels by known classes or by the vectors')
    .description(
      'With --truth, compares the cluster of each vector with the class it is known to have: normalized mutual information (NMI), adjusted Rand index, purity, entropy. With --vectors, measures how well separated the clusters are: silhouette, Davies-Bouldin and Calinski-Harabasz index. Which number a cluster or a class has does not matter.',
    )
    .argument('<labels>', 'one whole number per row: .npy .ivecs .csv .tsv')
    // One of them is needed, but not by the commands below this one, of which commander would demand it too.
    .option('--truth <file>', 'the class of each row, in the same order: numbers, or names in a text file')
    .option('--vectors <file>', 'the vectors that the labels belong to, in the same order')
    .action((labels: string, flags: LabelFlags) => evaluate(session, labels, flags))
    .addHelpText(
      'after',
      `
Example:
  centroidal evaluate run/labels.npy --truth classes.npy
  centroidal evaluate run/labels.npy --vectors vectors.npy
  centroidal evaluate neighbours found.ivecs --truth groundtruth.ivecs
  centroidal evaluate ranking rankings.jsonl --groups groups.npy`,
    )
  addJsonOption(command)
  addNeighboursCommand(command, session)
  addRankingCommand(command, session)
}

interface LabelFlags extends SpeechFlags {
  readonly truth?: string
  readonly vectors?: string
}

interface ReportFlag {
  readonly report?: string
}

function truthNeeded(): CentroidalError {
  return new CentroidalError('bad-option', 'Option --truth <file> is missing: see --help.')
}

/** The option belongs to `evaluate`, which would take it here without using it. */
function refuseVectors(vectors: string | undefined, command: string): void {
  if (vectors === undefined) return
  throw new CentroidalError('bad-option', `Option --vectors does not apply to evaluate ${command}: leave it out.`)
}

/** The flags belong to `evaluate` too, which takes them first: here they are only shown. */
function addNeighboursCommand(evaluate: Command, session: Session): void {
  const command = evaluate
    .command('neighbours')
    .summary('measure the recall of found neighbours')
    .description(
      'Recall@1, 10 and 100 is the fraction of queries whose true nearest neighbour is among the first 1, 10 and 100 found. 10-recall@10 and 100-recall@100 are the fractions of the 10 and 100 true neighbours that are among the first 10 and 100 found.',
    )
    .argument('<found>', 'output of centroidal search, one row per query: .npy .ivecs .csv .tsv')
    .addOption(new Option('--truth <file>', 'the true neighbours in the same order of queries, nearest first'))
    .addOption(new Option('--report <file>', 'file for a report with the recall curve: .html'))
    .action((found: string, _: object, self: Command) => evaluateNeighbours(session, found, self.optsWithGlobals()))
    .addHelpText(
      'after',
      '\nExample:\n  centroidal evaluate neighbours found.ivecs --truth groundtruth.ivecs --report recall.html',
    )
  addJsonOption(command)
}

async function evaluateNeighbours(
  { stdout, commandLine }: Session,
  file: string,
  { truth, vectors, json, report }: LabelFlags & ReportFlag,
): Promise<void> {
  refuseVectors(vectors, 'neighbours')
  if (truth === undefined) throw truthNeeded()
  const found = await readIntegers(file)
  const known = await readIntegers(truth)
  requireLength(truth, known.rows, found.rows, 'rows')
  const ranks = [1, 10, 100].filter((r) => r <= found.cols)
  const recalls = ranks.map((r) => [`recall@${r}`, recallAt(found, known, r)] as const)
  const overlaps = ranks
    .filter((n) => n > 1 && n <= known.cols)
    .map((n) => [`${n}-recall@${n}`, overlapAt(found, known, n)] as const)
  if (report !== undefined) {
    await savePage(report, await neighboursPage({ found: file, truth }, found, known, commandLine))
  }
  if (json) {
    const written = report === undefined ? {} : { report }
    stdout.json({ type: 'result', queries: found.rows, ...Object.fromEntries([...recalls, ...overlaps]), ...written })
    return
  }
  stdout.line(`${count(found.rows, 'query', 'queries')}, ${count(found.cols, 'neighbour')} each`)
  for (const [name, share] of [...recalls, ...overlaps]) stdout.line(`  ${name.padEnd(14)}  ${percent(share, 1)}`)
  if (report !== undefined) stdout.line(`  report          ${report}`)
}

function addRankingCommand(evaluate: Command, session: Session): void {
  const command = evaluate
    .command('ranking')
    .summary('score rankings of images by known groups')
    .description(
      'Compares the results of centroidal query with known groups of images: mean average precision (mAP), without the query image itself, and the N-S score, the number of the first four results that belong to its group, itself included.',
    )
    .argument('<rankings>', 'output of centroidal query --out')
    .requiredOption('--groups <file>', 'the group of images 0, 1, 2..., one per row; or rows of an image and its group')
    .option('--report <file>', 'file for a report with charts: .html')
    // --json is an option of both commands, and commander gives it to the outer one.
    .action((rankings: string, _: unknown, own: Command) => evaluateRanking(session, rankings, own.optsWithGlobals()))
    .addHelpText('after', '\nExample:\n  centroidal evaluate ranking rankings.jsonl --groups groups.npy')
  addJsonOption(command)
}

async function evaluateRanking(
  { stdout, commandLine }: Session,
  file: string,
  { groups: groupsFile, vectors, json, report }: LabelFlags & ReportFlag & { groups: string },
): Promise<void> {
  refuseVectors(vectors, 'ranking')
  const rankings = await readRankings(file)
  const groups = await readGroups(groupsFile)
  const result = judgeRankings(rankings, groups)
  if (report !== undefined) await savePage(report, await rankingPage(file, rankings, groups, result, commandLine))
  if (json) {
    stdout.json({ type: 'result', ...result, ...(report === undefined ? {} : { report }) })
    return
  }
  stdout.line(`${count(result.queries, 'ranking')}`)
  stdout.line(`  mAP        ${result.map.toFixed(4)} (1: all other images of the group come first)`)
  stdout.line(`  N-S score  ${result.nsScore.toFixed(3)} of the first 4 belong to the group`)
  if (result.alone > 0) {
    stdout.line(`  ${count(result.alone, 'image')} not in the mAP, as the group has no other image`)
  }
  if (report !== undefined) stdout.line(`  report     ${report}`)
}

async function evaluate(session: Session, file: string, { truth, vectors, json }: LabelFlags): Promise<void> {
  if (truth === undefined && vectors === undefined) {
    throw new CentroidalError(
      'bad-option',
      'Option --truth <file> or --vectors <file>, or both, is missing: see --help.',
    )
  }
  const { stdout } = session
  const labels = await readLabels(file)
  const agreed = truth === undefined ? undefined : await compareWithTruth(labels, truth)
  const scores = vectors === undefined ? undefined : await scoreLabels(session, vectors, labels)
  const clusters = new Set(labels).size
  if (json) {
    stdout.json({ type: 'result', rows: labels.length, clusters, ...agreed, ...scores })
    return
  }
  const classes = agreed === undefined ? '' : `, of ${count(agreed.classes, 'class', 'classes')}`
  stdout.line(`${count(labels.length, 'point')} in ${count(clusters, 'cluster')}${classes}`)
  const words = agreed === undefined ? [] : [purityWords(agreed), nmiWords(agreed), entropyWords(agreed)]
  if (scores !== undefined) words.push(...scoreWords(scores))
  for (const line of words) stdout.line(`  ${line}`)
}

async function compareWithTruth(labels: Labels, file: string): Promise<Agreement> {
  const classes = await readClasses(file)
  requireLength(file, classes.length, labels.length, 'labels', 'classes')
  return agreement(labels, classes)
}

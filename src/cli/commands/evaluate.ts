/** `centroidal evaluate`: labels against known classes. */
import type { Command } from 'commander'
import type { Session } from '../session.ts'
import { agreement, entropyWords, nmiWords, purityWords, readLabels, requireLength } from '../truth.ts'
import { count } from '../words.ts'
import { addJsonOption, type SpeechFlags } from './shared-options.ts'

export function addEvaluateCommand(program: Command, session: Session): void {
  const command = program
    .command('evaluate')
    .summary('compare labels with known classes')
    .description(
      'Compares the cluster of each vector with the class it is known to have: normalized mutual information (NMI), adjusted Rand index, purity, entropy. Which number a cluster or a class has does not matter.',
    )
    .argument('<labels>', 'one whole number a row: .npy .ivecs .csv .tsv')
    .requiredOption('--truth <file>', 'the class of each row, in the same order')
    .action((labels: string, flags: SpeechFlags & { truth: string }) => evaluate(session, labels, flags))
    .addHelpText('after', '\nExample:\n  centroidal evaluate run/labels.npy --truth classes.npy')
  addJsonOption(command)
}

async function evaluate(
  { stdout }: Session,
  file: string,
  { truth, json }: SpeechFlags & { truth: string },
): Promise<void> {
  const labels = await readLabels(file)
  const classes = await readLabels(truth)
  requireLength(truth, classes.length, labels.length, 'labels')
  const result = agreement(labels, classes)
  if (json) {
    stdout.json({ type: 'result', rows: labels.length, ...result })
    return
  }
  const clusters = count(result.clusters, 'cluster')
  stdout.line(`${count(labels.length, 'point')} in ${clusters}, of ${count(result.classes, 'class', 'classes')}`)
  stdout.line(`  ${purityWords(result)}`)
  stdout.line(`  ${nmiWords(result)}`)
  stdout.line(`  ${entropyWords(result)}`)
}

/** `centroidal vocabulary`: clusters descriptors, so that the clusters can serve as the words of images. */
import { type Command, Option } from 'commander'
import { METHODS } from '../../index.ts'
import { addInputOptions, VECTOR_FILES } from '../input-files.ts'
import { oneOf, realNumber, wholeNumber } from '../option-values.ts'
import type { Session } from '../session.ts'
import { clusterFiles } from './cluster.ts'
import type { ClusterFlags } from './cluster-options.ts'
import { METHOD_NAMES } from './method-flags.ts'
import { addDeviceOptions, addSpeechOptions } from './shared-options.ts'

// Methods that find the number of clusters take none, and a vocabulary is asked for by its size.
const METHOD_CHOICES = ['auto', ...METHOD_NAMES.filter((name) => METHODS[name].findsCount !== true)] as const

interface VocabularyFlags extends ClusterFlags {
  readonly words: number
}

export function addVocabularyCommand(program: Command, session: Session): void {
  const command = program
    .command('vocabulary')
    .summary('build a vocabulary of visual words from descriptors of images')
    .description(
      'Clusters local descriptors of images into visual words. This is centroidal cluster with fewer options: any folder it wrote can be used as a vocabulary.',
    )
    .argument('<vectors...>', `the descriptors: ${VECTOR_FILES}`)
    .addOption(
      new Option('--words <count>', 'size of the vocabulary')
        .argParser(wholeNumber('--words', 'words', 1))
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--method <name>', `${METHOD_CHOICES.join(', ')} (default: auto)`).argParser(
        oneOf('--method', METHOD_CHOICES),
      ),
    )
    .addOption(
      new Option('--metric <name>', 'euclidean or cosine (default: euclidean)').argParser(
        oneOf('--metric', ['euclidean', 'cosine']),
      ),
    )
    .addOption(
      new Option('--iterations <count>', 'most rounds (default: 100)').argParser(
        wholeNumber('--iterations', 'rounds', 1),
      ),
    )
    .addOption(
      new Option(
        '--seconds <time>',
        'stop after the round in which this time is reached (default: no limit)',
      ).argParser(realNumber('--seconds', 'seconds')),
    )
    .addOption(
      new Option(
        '--seed <number>',
        'seed of the random numbers; the same seed and device give the same words (default: 0)',
      ).argParser(wholeNumber('--seed', '', 0)),
    )
    .option('-o, --out <folder>', 'folder for the vocabulary; an earlier one in it is replaced', 'vocabulary')
    .action((vectors: string[], { words, ...flags }: VocabularyFlags) =>
      clusterFiles(session, vectors, { ...flags, k: words }),
    )
    .addHelpText(
      'after',
      '\nExample:\n  centroidal vocabulary descriptors.npy --words 10000 --out vocabulary\n  centroidal index vocabulary descriptors.npy --images images.npy --out index',
    )
  addInputOptions(command)
  addDeviceOptions(command)
  addSpeechOptions(command)
}

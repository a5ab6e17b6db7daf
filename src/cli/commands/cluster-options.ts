/** The options of `centroidal cluster`: their help, and from text to values. */
import { type Command, Option } from 'commander'
import { METHODS, type MethodName, START_NAMES, type StartName } from '../../index.ts'
import { addInputOptions, type InputFlags } from '../input-files.ts'
import { suggestion } from '../nearest-name.ts'
import { badValue, type ImageShape, imageShape, oneOf, realNumber, wholeNumber } from '../option-values.ts'
import { METHOD_NAMES, type MethodFlags, methodFlags } from './method-flags.ts'
import {
  addDeviceOptions,
  addMachineOptions,
  addOptionGroup,
  addSpeechOptions,
  type DeviceFlags,
  type SpeechFlags,
} from './shared-options.ts'

export interface ClusterFlags extends DeviceFlags, InputFlags, SpeechFlags, MethodFlags {
  readonly k?: number | 'auto'
  readonly method?: 'auto' | MethodName
  readonly metric?: 'euclidean' | 'cosine'
  readonly weights?: string
  readonly empty?: 'farthest' | 'keep'
  readonly relocate?: boolean
  readonly iterations?: number
  readonly tolerance?: number
  readonly seconds?: number
  readonly restarts?: number
  readonly start?: Start
  readonly shards?: number
  readonly on?: string
  readonly lock?: number
  readonly seed?: number
  readonly resume?: string
  readonly out?: string
  readonly checkpointEvery?: number
  readonly truth?: string
  readonly names?: string
  readonly image?: ImageShape
  readonly title?: string
}

/** A way to choose the first centres, or a file that holds them. */
export type Start = { readonly name: StartName | 'all' } | { readonly points: number } | { readonly file: string }

/** Each restart is a whole run, so more than this is a typing error. */
const MOST_RESTARTS = 100_000
const MOST_SHARDS = 1_000_000

const METHOD_CHOICES = ['auto', ...METHOD_NAMES] as const

/** What each start is, where its name does not say it. */
const START_HELP: Readonly<Partial<Record<StartName, string>>> = {
  auto: 'chosen for the method',
  kpp: 'greedy k-means++',
  'kpp-parallel': 'k-means||',
  tree: 'cells of a partition tree',
  sample: 'a clustering of a sample: up to 64 vectors for each cluster, at most a quarter of all',
  hkm: 'leaves of a hierarchical k-means tree',
  bisecting: 'clusters split in two until there are k',
  'random-labels': 'a random label for every vector',
}

export function addClusterOptions(command: Command): Command {
  addInputOptions(command)
  addOptionGroup(command, 'Clusters:', [
    new Option(
      '-k <count>',
      'number of clusters, or auto to find it; required unless the method finds it (egm, agm) or --resume is given',
    ).argParser(readCount),
    new Option('--method <name>', `${METHOD_CHOICES.join(', ')}; see below (default: auto)`).argParser(
      oneOf('--method', METHOD_CHOICES),
    ),
    new Option('--metric <name>', 'euclidean or cosine (default: euclidean)').argParser(
      oneOf('--metric', ['euclidean', 'cosine']),
    ),
    new Option('--weights <file>', 'weight of each vector, one number per row (default: all equal)'),
    new Option(
      '--empty <what>',
      'empty clusters: farthest moves the centre to the farthest point, keep leaves it (default: farthest)',
    ).argParser(oneOf('--empty', ['farthest', 'keep'])),
    new Option(
      '--relocate',
      `merge close clusters and split large ones where that lowers the distortion (default for ${relocating()}, except with given centres)`,
    ),
    new Option('--no-relocate', 'do not merge and split clusters'),
    new Option(
      '--shards <count>',
      'divide the rows into this many shards; the result depends on their number, not on the devices (default: as the memory of the device requires)',
    ).argParser(wholeNumber('--shards', 'shards', 1, MOST_SHARDS)),
  ])
  addOptionGroup(command, 'When to stop:', [
    new Option('--iterations <count>', 'most rounds (default: 100)').argParser(
      wholeNumber('--iterations', 'rounds', 1),
    ),
    new Option(
      '--tolerance <share>',
      'stop when a round lowers the distortion by less than this fraction, or changes the log-likelihood of a mixture by less than this per column; 0: run until no label changes (default: 0.0001)',
    ).argParser(realNumber('--tolerance', '')),
    new Option('--seconds <time>', 'stop after the round in which this time is reached (default: no limit)').argParser(
      realNumber('--seconds', 'seconds'),
    ),
    new Option('--restarts <count>', 'number of runs from different starts; the best is kept (default: 1)').argParser(
      wholeNumber('--restarts', 'starts', 1, MOST_RESTARTS),
    ),
  ])
  addOptionGroup(command, 'Start:', [
    new Option(
      '--start <name or file>',
      `${startNames()}, or a file of centres; for methods that find the number of clusters: all, or a number of vectors (default: auto)`,
    ).argParser(readStart),
    new Option(
      '--seed <number>',
      'seed of the random numbers; the same seed and device give the same result bit for bit (default: 0)',
    ).argParser(wholeNumber('--seed', '', 0)),
    new Option('--resume <folder>', 'continue the run in this folder, with its options unless they are given again'),
  ])
  addOptionGroup(command, 'Options of some methods:', methodFlags())
  addMachineOptions(command)
  addDeviceOptions(command)
  addOptionGroup(command, 'Results:', [
    new Option(
      '-o, --out <folder>',
      'output folder: centers.npy, labels.npy, model.json, report.html; an earlier run in it is replaced (default: run, or the folder of --resume)',
    ),
    new Option('--checkpoint-every <rounds>', 'save a checkpoint every this many rounds (default: never)').argParser(
      wholeNumber('--checkpoint-every', 'rounds', 1),
    ),
    new Option(
      '--truth <file>',
      'known class of each vector, to compare with the clusters: numbers, or names in a text file',
    ),
    new Option('--names <file>', 'text file with the name of each vector, one per line, shown in the report'),
    new Option('--image <WxH>', 'show each centre in the report as a grey image of this size').argParser(
      imageShape('--image'),
    ),
    new Option('--title <text>', 'heading of the report (default: the file name)'),
  ])
  return addSpeechOptions(command)
}

function relocating(): string {
  return METHOD_NAMES.filter((name) => METHODS[name].relocates).join(', ')
}

function startNames(): string {
  return START_NAMES.map((name) => (START_HELP[name] === undefined ? name : `${name} (${START_HELP[name]})`)).join(', ')
}

function readCount(text: string): number | 'auto' {
  if (text === 'auto') return text
  if (/^\d+(e\d+)?$/i.test(text) && Number(text) >= 1) return wholeNumber('-k', 'clusters', 1)(text)
  throw badValue('-k', text, 'give a whole number of clusters, 1 or more, or auto.')
}

function readStart(text: string): Start {
  if ((START_NAMES as readonly string[]).includes(text)) return { name: text as StartName }
  if (text === 'all') return { name: 'all' }
  if (/^\d/.test(text) && !/[/\\]/.test(text)) return { points: wholeNumber('--start', 'vectors', 1)(text) }
  // Names have no dots and slashes, files of centres have an extension.
  if (/[./\\]/.test(text)) return { file: text }
  throw badValue('--start', text, suggestion(text, [...START_NAMES, 'all', 'a number of vectors', 'a file of centres']))
}

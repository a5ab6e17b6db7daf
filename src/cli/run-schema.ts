/** What model.json and run.json must hold for a report. Both may have been edited, damaged or written by others. */
import type { CommonFacts, ElementType, ModelFacts, QuantizerFacts } from '../index.ts'
import {
  either,
  line,
  list,
  number,
  object,
  oneOf,
  optional,
  type Shape,
  ShapeError,
  text,
  whole,
} from './json-shape.ts'
import type { Members } from './members.ts'
import type { ImageShape } from './option-values.ts'
import type { MachineNotes } from './report/machines.ts'
import type { MixtureRounds } from './report/mixture.ts'
import type { RunNotes } from './run-folder.ts'
import { type Agreement, type Confusion, majorityOf } from './truth.ts'

/** A report shows names in one line and a command line in a box. */
const name = line(10_000)
const longText = text(1_000_000)
/** Larger numbers overflow when charts subtract and scale them. No float32 data comes near. */
const LARGEST = 1e100
const size = whole(1)
const seconds = number(0, 1e12)
const anyNumber = number(-LARGEST, LARGEST)
/** Rounds, and values in lists that a report draws. */
const MOST_ROUNDS = 10_000_000
/** A longer table of counts is not saved, and would take longer to read than the model. */
export const MOST_COUNTS = 100_000

const device = object<ModelFacts['device']>({ kind: oneOf('webgpu', 'cpu'), name, reason: name })

const round = object<ModelFacts['iterations'][number]>({
  iteration: size,
  distortion: number(0, LARGEST),
  moved: whole(0),
  candidates: number(0, LARGEST),
  seconds,
  restart: whole(0),
  extra: optional(
    object<NonNullable<ModelFacts['iterations'][number]['extra']>>({
      components: optional(whole(0)) as Shape<number>,
      logLikelihood: optional(anyNumber) as Shape<number>,
      purged: optional(whole(0)) as Shape<number>,
      bic: optional(anyNumber) as Shape<number>,
      relocated: optional(whole(0)) as Shape<number>,
      relocationGain: optional(number(0, 1)) as Shape<number>,
    }),
  ),
})

const settings: Shape<Record<string, unknown>> = (value, at) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ShapeError(at, value, 'an object')
  for (const [key, setting] of Object.entries(value)) {
    name(key, `a key of ${at}`)
    if (typeof setting === 'boolean') continue
    if (typeof setting === 'number') anyNumber(setting, `${at}.${key}`)
    else name(setting, `${at}.${key}`)
  }
  return value as Record<string, unknown>
}

/** A limit that was not set is Infinity, which JSON writes as null. */
const limit: Shape<number | undefined> = (value, at) =>
  value === null || value === undefined ? undefined : number(0, Number.MAX_VALUE)(value, at)

interface Saved {
  readonly version: number
}

/** Whether this program can read it is for the library to say. */
const version = size

interface Clustering extends CommonFacts, Saved {
  readonly method: string
  readonly options: Record<string, unknown>
}

const clusteringFields = object<Clustering>({
  version,
  method: name,
  metric: oneOf('euclidean', 'cosine'),
  k: whole(1, 2 ** 32),
  rows: size,
  cols: size,
  weight: optional(number(0, Number.MAX_VALUE)),
  seed: whole(0),
  options: object<Record<string, unknown>>({
    tolerance: limit,
    iterations: limit,
    seconds: limit,
    start: either(name, size, 'text or a number of vectors'),
    settings: optional(settings),
    methodReason: optional(name),
  }),
  device,
  stopped: oneOf('converged', 'tolerance', 'iterations', 'seconds', 'aborted'),
  startSeconds: optional(number(0, Number.MAX_VALUE)),
  sample: optional(object<NonNullable<ModelFacts['sample']>>({ rows: size, rounds: whole(1) })) as Shape<
    NonNullable<ModelFacts['sample']>
  >,
  iterations: list(round, 1, MOST_ROUNDS),
  certainty: optional(
    object<NonNullable<ModelFacts['certainty']>>({
      others: list(size, 0, MOST_ROUNDS),
      stability: list(number(0, 1), 0, MOST_ROUNDS),
      stable: whole(0),
      sentence: name,
    }),
  ) as Shape<NonNullable<ModelFacts['certainty']>>,
})

/** model.json of a clustering: what reports read of it. */
export const clusteringFacts: Shape<ModelFacts> = (value, at) => {
  const facts = clusteringFields(value, at)
  const { stopped, options } = facts
  // The limit that ended the run is shown.
  if (
    (stopped === 'tolerance' || stopped === 'iterations' || stopped === 'seconds') &&
    options[stopped] === undefined
  ) {
    throw new ShapeError(`options.${stopped}`, undefined, 'the limit that ended the run')
  }
  return facts as unknown as ModelFacts
}

/** model.json of a quantizer: what reports read of it. */
export const quantizerFacts = object<Omit<QuantizerFacts, 'tolerance'> & Saved & { readonly cols: number }>({
  version,
  cols: whole(1, 2 ** 32),
  type: oneOf('ck', 'pq', 'ok', 'itq'),
  m: size,
  codewords: size,
  order: name as Shape<QuantizerFacts['order']>,
  rank: size,
  rows: size,
  seed: whole(0),
  stopped: oneOf('iterations', 'tolerance', 'aborted'),
  device,
  iterations: list(
    object<QuantizerFacts['iterations'][number]>({
      iteration: size,
      distortion: number(0, LARGEST),
      seconds,
      rotationSeconds: seconds,
    }),
    1,
    MOST_ROUNDS,
  ),
})

/** What notes must agree with: the model that they belong to. */
export interface NotedModel {
  readonly rows: number
  readonly cols: number
  readonly k: number
  /** Undefined where the folder has no labels. */
  readonly sizes: Uint32Array | undefined
}

/** Rounding may lift an index a little above 1. */
const index = number(-1.001, 1.001)

const agreement = object<Agreement>({
  nmi: index,
  ari: index,
  purity: index,
  entropy: index,
  clusters: whole(0),
  classes: whole(0),
})

const planeRound = object<MixtureRounds['rounds'][number]>({
  iteration: size,
  centers: list(anyNumber, 2, MOST_COUNTS),
  sigmas: list(number(0, LARGEST), 1, MOST_COUNTS),
})

const mixture: Shape<MixtureRounds> = (value, at) => {
  const checked = object<MixtureRounds>({
    points: list(anyNumber, 2, MOST_COUNTS),
    rounds: list(planeRound, 1, 1000),
    total: size,
    crowded: whole(0),
  })(value, at)
  for (const [i, { centers, sigmas }] of checked.rounds.entries()) {
    if (centers.length !== 2 * sigmas.length) {
      throw new ShapeError(`${at}.rounds[${i}].centers`, centers, `a list of ${2 * sigmas.length}`)
    }
  }
  if (checked.points.length % 2 !== 0) throw new ShapeError(`${at}.points`, checked.points, 'a list of even length')
  return checked
}

function imageOf({ cols }: NotedModel): Shape<ImageShape> {
  return (value, at) => {
    const image = object<ImageShape>({ width: whole(1, 99_999), height: whole(1, 99_999) })(value, at)
    if (image.width * image.height === cols) return image
    throw new ShapeError(at, `${image.width} x ${image.height}`, `the ${cols} columns of the model as pixels`)
  }
}

/** Names of classes are cut to this. */
const LONGEST_CLASS = 200

function confusionOf({ k, sizes }: NotedModel): Shape<Confusion> {
  const numbered = whole(-(2 ** 31), 2 ** 32)
  const named = line(LONGEST_CLASS)
  const fields = object<{ classes: (number | string)[]; counts: number[] }>({
    classes: list((value, at) => (typeof value === 'string' ? named(value, at) : numbered(value, at)), 1, MOST_COUNTS),
    counts: list(whole(0, 2 ** 32 - 1), 0, MOST_COUNTS),
  })
  return (value, at) => {
    const { classes, counts: checked } = fields(value, at)
    const width = classes.length
    if (new Set(classes).size !== width) throw new ShapeError(`${at}.classes`, classes, 'classes that all differ')
    if (checked.length !== k * width) throw new ShapeError(`${at}.counts`, checked, `a list of ${k * width}`)
    const counts = Uint32Array.from(checked)
    sizes?.forEach((points, cluster) => {
      const total = counts.subarray(cluster * width, (cluster + 1) * width).reduce((sum, count) => sum + count, 0)
      if (total !== points) throw new ShapeError(`the sum of ${at}.counts of cluster ${cluster}`, total, `${points}`)
    })
    return { classes, counts, majority: majorityOf(counts, width, k) }
  }
}

const byteCount = whole(0, 2 ** 53 - 1)

const machines = object<MachineNotes>({
  store: line(10_000),
  workers: list(object<MachineNotes['workers'][number]>({ name, device: name, groups: whole(0) }), 0, 10_000),
  sent: byteCount,
  received: byteCount,
  workersSent: byteCount,
  workersReceived: byteCount,
  rounds: whole(0),
})

/** run.json of a model. */
export function runNotes(model: NotedModel): Shape<RunNotes> {
  const { rows, cols } = model
  return object({
    title: optional(longText),
    file: optional(longText),
    commandLine: optional(longText),
    elements: optional(oneOf<ElementType>('f32', 'u8')),
    sparseEntries: optional(whole(0, rows * cols)),
    image: optional(imageOf(model)),
    seconds: optional(seconds),
    agreement: optional(agreement),
    confusion: optional(confusionOf(model)),
    mixture: optional(mixture),
    members: optional(list(object<Members>({ cluster: whole(0), size, names: list(line(1000), 0, 1000) }), 0, 10_000)),
    machines: optional(machines),
  }) as Shape<RunNotes>
}

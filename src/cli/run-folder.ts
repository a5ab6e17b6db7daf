/** Folders that cluster, vocabulary and quantize wrote: the model, and run.json with further data for the report. */
import { existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import {
  CentroidalError,
  type ClusterModel,
  type ElementType,
  loadModel,
  loadQuantizer,
  type Matrix,
  type ModelFacts,
  type Quantizer,
  readSavedText,
  readVectors,
} from '../index.ts'
import { type Shape, ShapeError } from './json-shape.ts'
import type { Members } from './members.ts'
import type { ImageShape } from './option-values.ts'
import type { OutFolder } from './out-folder.ts'
import type { MachineNotes } from './report/machines.ts'
import type { MixtureRounds } from './report/mixture.ts'
import { clusteringFacts, MOST_COUNTS, type NotedModel, quantizerFacts, runNotes } from './run-schema.ts'
import { readTextFile } from './text-file.ts'
import type { Agreement, Confusion } from './truth.ts'

/** Data about the run that the model does not contain. All of it is optional. */
export interface RunNotes {
  readonly title?: string
  /** The vectors' file, as it was typed. */
  readonly file?: string
  readonly commandLine?: string
  readonly elements?: ElementType
  /** Numbers that are not zero, where the rows were sparse. */
  readonly sparseEntries?: number
  readonly image?: ImageShape
  /** Wall time of the work. */
  readonly seconds?: number
  readonly agreement?: Agreement
  readonly confusion?: Confusion
  readonly mixture?: MixtureRounds
  /** Names of rows in the largest clusters, where rows have names. */
  readonly members?: readonly Members[]
  /** Workers, where the work was done on other machines. */
  readonly machines?: MachineNotes
}

export interface ClusterRun {
  readonly kind: 'clustering'
  /** To tell runs apart: the folder as it was typed. */
  readonly name: string
  readonly facts: ModelFacts
  readonly centers: Matrix
  /** Undefined where the folder has none. */
  readonly labels: Uint32Array | undefined
  readonly sizes: Uint32Array | undefined
  readonly weights: Float32Array | undefined
  readonly sigmas: Float32Array | undefined
  readonly notes: RunNotes
}

export interface QuantizerRun {
  readonly kind: 'quantizer'
  readonly name: string
  readonly quantizer: Quantizer
  readonly notes: RunNotes
}

export type Run = ClusterRun | QuantizerRun

export function clusterRun(name: string, model: ClusterModel, notes: RunNotes): ClusterRun {
  const { facts, centers, labels, sizes, weights, sigmas } = model
  return { kind: 'clustering', name, facts, centers, labels, sizes, weights, sigmas, notes }
}

/** Wall time; if it was not saved, that of the rounds. */
export function runSeconds({ notes, ...run }: Run): number {
  const rounds = run.kind === 'clustering' ? run.facts.iterations : run.quantizer.facts.iterations
  return notes.seconds ?? rounds[rounds.length - 1]?.seconds ?? 0
}

const NOTES_FORMAT = 'centroidal run'
const NOTES_VERSION = 2

/** The text of run.json, which is saved together with the model: see OutFolder. */
export function notesText(notes: RunNotes): string {
  const { confusion, ...rest } = notes
  const kept = confusion && confusion.counts.length <= MOST_COUNTS
  const counts = kept ? { confusion: { ...confusion, counts: Array.from(confusion.counts) } } : {}
  return `${JSON.stringify({ format: NOTES_FORMAT, version: NOTES_VERSION, ...rest, ...counts })}\n`
}

/**
 * Saves a model with its notes and report, all at once. If the report cannot be made the model is saved without: it took
 * longer to compute.
 */
export async function saveRun(
  out: OutFolder,
  model: ClusterModel | Quantizer,
  describe: () => Promise<{ notes: RunNotes; page: string }>,
): Promise<void> {
  let described: { notes: RunNotes; page: string }
  try {
    described = await describe()
  } catch (error) {
    await out.save(model)
    throw error
  }
  await out.save(model, { 'run.json': notesText(described.notes), 'report.html': described.page })
}

/** Reads a run. Folders that the library saved have no notes; a report can be made without them. */
export async function loadRun(folder: string): Promise<Run> {
  const modelJson = await readTextFile(join(folder, 'model.json'))
  if (modelJson === undefined) throw notARun(folder, 'there is no model.json in it')
  const found = parsed(modelJson)
  if (found === undefined) throw notARun(folder, 'its model.json is not a JSON object')
  const model = join(folder, 'model.json')
  if (found.format === 'centroidal quantizer') {
    checked(model, quantizerFacts, found)
    const quantizer = await loadQuantizer(folder)
    const { rows, m } = quantizer.facts
    const notes = await readNotes(folder, { rows, cols: quantizer.codec.cols, k: m, sizes: undefined })
    return { kind: 'quantizer', name: folder, quantizer, notes }
  }
  if (found.format !== 'centroidal clustering') throw notARun(folder, 'its model.json has another format')
  const facts = checked(model, clusteringFacts, found)
  const run = hasLabels(folder, found.staging)
    ? { ...clusterRun(folder, await loadModel(folder), {}), facts }
    : await withoutLabels(folder, facts)
  for (const [name, values] of Object.entries({ ...run, centers: run.centers.data })) {
    if (values instanceof Float32Array && !values.every(Number.isFinite)) {
      throw notARun(folder, `its ${name}.npy contains a number that is not finite`)
    }
  }
  return { ...run, notes: await readNotes(folder, { ...facts, sizes: run.sizes }) }
}

/** "runs/a" and "runs/b" are a and b, unless two folders end in the same name. */
export function shortNames(folders: readonly string[]): string[] {
  const last = folders.map((folder) => basename(resolve(folder)))
  return last.map((name, i) => (last.indexOf(name) === last.lastIndexOf(name) ? name : folders[i]))
}

function notARun(folder: string, why: string): CentroidalError {
  return new CentroidalError(
    'bad-file',
    `${JSON.stringify(folder)} is not a run folder: ${why}; give a folder written by centroidal cluster, vocabulary or quantize.`,
  )
}

/**
 * Notes that were not saved together with the model are those of another run and are ignored. Anything wrong with notes
 * that were is an error, because a report without them would silently lack what the user noted.
 */
async function readNotes(folder: string, model: NotedModel): Promise<RunNotes> {
  const path = join(folder, 'run.json')
  const json = await readSavedText(folder, 'run.json')
  if (json === undefined) return {}
  const notes = parsed(json)
  if (notes?.format !== NOTES_FORMAT) throw notUsable(path, `it is not a JSON object with "format": "${NOTES_FORMAT}"`)
  const { version } = notes
  if (!Number.isInteger(version) || (version as number) < 1) throw notUsable(path, 'its version is not a whole number')
  if ((version as number) > NOTES_VERSION) throw notUsable(path, `it was written by a later version of centroidal`)
  return checked(path, runNotes(model), notes)
}

function notUsable(path: string, why: string, cause?: unknown): CentroidalError {
  const cure = basename(path) === 'run.json' ? ', or delete it to report without it' : ''
  return new CentroidalError(
    'bad-file',
    `${JSON.stringify(path)} cannot be used: ${why}; run the command that wrote it again${cure}.`,
    { cause },
  )
}

function checked<T>(path: string, shape: Shape<T>, value: unknown): T {
  try {
    return shape(value, '')
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error
    throw notUsable(path, error.message, error)
  }
}

/** A save that was stopped may still have them in its staging folder; loading finds them there. */
function hasLabels(folder: string, staging: unknown): boolean {
  return existsSync(join(folder, 'labels.npy')) || existsSync(join(folder, String(staging), 'labels.npy'))
}

/** The rounds and the centres are still worth a report. */
async function withoutLabels(folder: string, facts: ModelFacts): Promise<ClusterRun> {
  const centers = await readVectors(join(folder, 'centers.npy'))
  if (centers.rows !== facts.k || centers.cols !== facts.cols) {
    const shapes = `${centers.rows} x ${centers.cols} and its model.json says ${facts.k} x ${facts.cols}`
    throw notARun(folder, `its centers.npy is ${shapes}`)
  }
  const nothing = { labels: undefined, sizes: undefined, weights: undefined, sigmas: undefined }
  return { kind: 'clustering', name: folder, facts, centers, ...nothing, notes: {} }
}

/** Undefined if the text is not a JSON object. */
function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

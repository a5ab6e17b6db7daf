/** Folders that cluster, vocabulary and quantize wrote: the model, and run.json with what a report needs besides. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
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
import type { ImageShape } from './option-values.ts'
import type { OutFolder } from './out-folder.ts'
import type { MixtureRounds } from './report/mixture.ts'
import type { Agreement, Confusion } from './truth.ts'

/** What was known when the run was made, and nothing in the model tells. All of it may be missing. */
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

/** Wall time; where nobody noted it, that of the rounds. */
export function runSeconds({ notes, ...run }: Run): number {
  const rounds = run.kind === 'clustering' ? run.facts.iterations : run.quantizer.facts.iterations
  return notes.seconds ?? rounds[rounds.length - 1]?.seconds ?? 0
}

/** A table of counts longer than this would make the file larger than the model. */
const MOST_COUNTS = 100_000

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

/** Reads a run; folders that the library saved have no notes, which a report can do without. */
export async function loadRun(folder: string): Promise<Run> {
  const modelJson = await readText(join(folder, 'model.json'))
  if (modelJson === undefined) throw notARun(folder, 'there is no model.json in it')
  const facts = parsed(modelJson)
  if (facts === undefined) throw notARun(folder, 'its model.json is not JSON')
  if (facts.format === 'centroidal quantizer') {
    const quantizer = await loadQuantizer(folder)
    return { kind: 'quantizer', name: folder, quantizer, notes: await readNotes(folder) }
  }
  if (facts.format !== 'centroidal clustering') {
    throw notARun(folder, `its model.json is of another kind (${facts.format})`)
  }
  const notes = await readNotes(folder)
  const run = existsSync(join(folder, 'labels.npy'))
    ? clusterRun(folder, await loadModel(folder), notes)
    : await withoutLabels(folder, facts as unknown as ModelFacts, notes)
  if (run.facts.iterations.length === 0) throw notARun(folder, 'its model.json tells of no round')
  return run
}

/** "runs/a" and "runs/b" are a and b, unless two folders end in the same name. */
export function shortNames(folders: readonly string[]): string[] {
  const last = folders.map((folder) => basename(resolve(folder)))
  return last.map((name, i) => (last.indexOf(name) === last.lastIndexOf(name) ? name : folders[i]))
}

function notARun(folder: string, why: string): CentroidalError {
  return new CentroidalError(
    'bad-file',
    `${JSON.stringify(folder)} is no run folder: ${why}; give a folder that centroidal cluster, vocabulary or quantize wrote.`,
  )
}

/** Notes that were not saved with the model are those of another run. */
async function readNotes(folder: string): Promise<RunNotes> {
  const notes = parsed((await readSavedText(folder, 'run.json')) ?? '')
  if (notes?.format !== NOTES_FORMAT || !(Number(notes.version) <= NOTES_VERSION)) return {}
  const { format: _, version: __, confusion, ...rest } = notes as Record<string, unknown> & RunNotes
  const counts = confusion && { confusion: { ...confusion, counts: Uint32Array.from(confusion.counts) } }
  return { ...rest, ...counts }
}

/** The course and the centres are still worth a report. */
async function withoutLabels(folder: string, facts: ModelFacts, notes: RunNotes): Promise<ClusterRun> {
  const centers = await readVectors(join(folder, 'centers.npy'))
  const nothing = { labels: undefined, sizes: undefined, weights: undefined, sigmas: undefined }
  return { kind: 'clustering', name: folder, facts, centers, ...nothing, notes }
}

/** Undefined where there is no such file. */
async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new CentroidalError('bad-file', `Cannot read ${JSON.stringify(path)}: ${message}.`, { cause: error })
  }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return (JSON.parse(text) as Record<string, unknown> | null) ?? undefined
  } catch {
    return undefined
  }
}

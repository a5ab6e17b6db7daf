/**
 * A model on disk: a folder with centers.npy, labels.npy and model.json, readable by anything that reads NumPy files and
 * JSON. How it is saved and loaded: folder-save.ts and folder-load.ts.
 */
import type { Matrix } from '../core/matrix.ts'
import { COUNT, checkedFrame, checkRounds, deviceFacts, type SavedFrame, SEED, usedOptions } from './folder-facts.ts'
import { badFolder, type FolderKind, type SavedFolder } from './folder-load.ts'
import type { FolderContents } from './folder-save.ts'
import { listFile, matrixFile, type ResumeArray, savedList, savedMatrix, savedNumbers } from './saved-arrays.ts'
import { type Checked, choice, list, optional, plainObject, real, record, text, whole } from './schema.ts'
import { checkTree } from './tree-array.ts'

export interface ModelContents {
  readonly version: number
  readonly facts: object
  readonly centers: Matrix
  readonly labels: Uint32Array
  /** Centres to the last bit in the frame they were found in, where that is not the input's. */
  readonly frameCenters?: Matrix
  /** A tree over the clusters: see trees/label-tree.ts. */
  readonly tree?: Uint32Array
  /** Weights and standard deviations of the clusters, where they are the components of a mixture. */
  readonly mixture?: ModelMixture
  /** Facts that resuming needs. */
  readonly resume?: Readonly<Record<string, unknown>>
  /** Arrays that the method needs to go on, saved as resume-<name>.npy. Names match [a-z-]+. */
  readonly resumeState?: ResumeState
}

export type ResumeState = Readonly<Record<string, ResumeArray>>

export interface ModelMixture {
  readonly weights: Float32Array
  readonly sigmas: Float32Array
}

export interface LoadedModel {
  readonly facts: LoadedFacts
  readonly frame: SavedFrame
  readonly centers: Matrix<Float32Array>
  readonly labels: Uint32Array
  readonly frameCenters: Float32Array | undefined
  readonly tree: Uint32Array | undefined
  readonly mixture: ModelMixture | undefined
  readonly resume: Checked<typeof resumeFacts> | undefined
  readonly resumeState: ResumeState | undefined
}

const ARRAYS = ['centers', 'labels', 'frame-centers', 'tree', 'weights', 'sigmas']
const RESUME_NAME = /^resume-[a-z-]+$/

export function modelKind(version: number): FolderKind {
  return {
    json: 'model.json',
    name: 'clustering',
    version,
    arrays: (name) => ARRAYS.includes(name) || RESUME_NAME.test(name),
  }
}

export function modelFolder(contents: ModelContents): FolderContents {
  const { version, facts, centers, labels, frameCenters, tree, mixture, resume, resumeState } = contents
  const files: Record<string, readonly Uint8Array[]> = {
    'centers.npy': matrixFile(centers),
    'labels.npy': listFile(labels),
  }
  if (frameCenters) files['frame-centers.npy'] = matrixFile(frameCenters)
  if (tree) files['tree.npy'] = listFile(tree)
  for (const [name, data] of Object.entries(mixture ?? {})) {
    files[`${name}.npy`] = matrixFile({ data, rows: data.length, cols: 1 })
  }
  for (const [name, data] of Object.entries(resumeState ?? {})) {
    if (!RESUME_NAME.test(`resume-${name}`)) throw new Error(`resume state cannot be saved by the name ${name}`)
    files[`resume-${name}.npy`] = listFile(data)
  }
  return {
    json: 'model.json',
    format: 'centroidal clustering',
    version,
    facts: { ...facts, ...(resume ? { resume } : {}) },
    files,
  }
}

const runFacts = {
  method: text(/^(own:)?[a-z][a-z-]*$/),
  metric: choice('euclidean', 'cosine'),
  k: COUNT,
  rows: COUNT,
  cols: COUNT,
  weight: optional(real(0)),
  seed: SEED,
  options: usedOptions,
  device: deviceFacts,
  stopped: choice('converged', 'tolerance', 'iterations', 'seconds', 'aborted'),
  startSeconds: optional(real(0)),
  sample: optional(record({ rows: COUNT, rounds: COUNT })),
  iterations: list(
    record({
      iteration: whole(1),
      distortion: real(0),
      moved: whole(0),
      candidates: real(0),
      seconds: real(0),
      restart: whole(0),
      extra: optional(
        record({
          components: optional(whole(0)),
          logLikelihood: optional(real()),
          purged: optional(whole(0)),
          bic: optional(real()),
          relocated: optional(whole(0)),
          relocationGain: optional(real(0)),
        }),
      ),
    }),
  ),
}

/** How sure the number of clusters is: see clustering/automatic.ts. */
const certaintyFacts = record({ others: list(COUNT), stability: list(real(0)), stable: whole(0), sentence: text(/./) })

/** A checkpoint contains the number of its restart, and the best earlier restart. */
const resumeFacts = record({ restart: optional(whole(0)), best: optional(record(runFacts)) })

const factsSchema = record({
  ...runFacts,
  certainty: optional(certaintyFacts),
  distortion: real(0),
  frame: plainObject,
  resume: optional(resumeFacts),
})

export type LoadedFacts = Omit<Checked<typeof factsSchema>, 'distortion' | 'frame' | 'resume'>

export async function readModelFolder(saved: SavedFolder): Promise<LoadedModel> {
  const at = `${saved.path}/model.json:`
  const { distortion, frame: framed, resume, ...facts } = factsSchema(saved.facts, at)
  const { k, rows, cols, metric, iterations } = facts
  checkRounds(at, iterations, distortion)
  const frame = checkedFrame(framed, `${at} frame`, cols, metric === 'cosine')
  const has = (name: string): boolean => saved.arrays.includes(name)
  if ((frame.shift !== undefined || frame.scale !== 1) && !has('frame-centers')) {
    throw badFolder(
      `${at} files does not have frame-centers.npy, which a shifted or scaled frame needs: save the folder again.`,
    )
  }
  const tree = has('tree') ? await savedNumbers(saved, 'tree', { length: undefined }) : undefined
  if (tree) checkTree(tree, k, `${saved.path}/tree.npy`)
  const resumeState: Record<string, ResumeArray> = {}
  for (const name of saved.arrays.filter((array) => RESUME_NAME.test(array))) {
    resumeState[name.slice('resume-'.length)] = await savedList(saved, name)
  }
  if (resume?.best) checkBest(saved.path, resume.best, facts, resumeState)
  return {
    facts,
    frame,
    centers: await savedMatrix(saved, 'centers', { rows: k, cols }),
    labels: await savedNumbers(saved, 'labels', { length: rows, limit: k }),
    frameCenters: has('frame-centers')
      ? ((await savedMatrix(saved, 'frame-centers', { rows: k, cols })).data as Float32Array)
      : undefined,
    tree,
    mixture: has('weights') || has('sigmas') ? await readMixture(saved, k) : undefined,
    resume,
    resumeState: Object.keys(resumeState).length > 0 ? resumeState : undefined,
  }
}

/** The best restart so far is a model inside the model, in arrays of the resume state: see clustering/resume.ts. */
function checkBest(path: string, best: LoadedFacts, { rows, cols, metric }: LoadedFacts, state: ResumeState): void {
  const { 'best-centers': centers, 'best-labels': labels, 'best-tree': tree } = state
  checkRounds(
    `${path}/model.json: resume.best`,
    best.iterations,
    best.iterations[best.iterations.length - 1]?.distortion,
  )
  const same = best.rows === rows && best.cols === cols && best.metric === metric
  const shaped = centers?.length === best.k * cols && labels?.length === rows
  const typed = centers instanceof Float32Array && labels instanceof Uint32Array
  if (!same || !shaped || !typed || !centers.every(Number.isFinite) || labels.some((label) => label >= best.k)) {
    throw badFolder(`${path} does not have the best restart that its model.json tells of: save the folder again.`)
  }
  if (tree) checkTree(tree as Uint32Array, best.k, `${path}/resume-best-tree.npy`)
}

/** What rounding makes of the sum of weights. */
const WEIGHT_ERROR = 1e-3

async function readMixture(saved: SavedFolder, k: number): Promise<ModelMixture> {
  const read = async (name: string): Promise<Float32Array> =>
    (await savedMatrix(saved, name, { rows: k, cols: 1 })).data as Float32Array
  const [weights, sigmas] = [await read('weights'), await read('sigmas')]
  const sum = weights.reduce((total, weight) => total + weight, 0)
  if (weights.some((weight) => weight < 0) || Math.abs(sum - 1) > WEIGHT_ERROR) {
    throw badFolder(
      `${saved.path}/weights.npy has the sum ${sum}, where weights of 0 or more that add up to 1 are needed: save the folder again.`,
    )
  }
  const wrong = sigmas.findIndex((sigma) => !(sigma > 0))
  if (wrong >= 0) {
    throw badFolder(
      `${saved.path}/sigmas.npy holds ${sigmas[wrong]} at position ${wrong}, where more than 0 is needed: save the folder again.`,
    )
  }
  return { weights, sigmas }
}

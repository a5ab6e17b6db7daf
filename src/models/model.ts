/** The result of a clustering: centres, labels, how it came about; predicts, and is saved as a folder. */

import { flag, instance, type OptionChecks, optionsOf } from '../core/arguments.ts'
import { CentroidalError } from '../core/errors.ts'
import {
  isNumberList,
  type Matrix,
  matrix,
  toSource,
  type Vector,
  type VectorInput,
  type VectorSource,
} from '../core/matrix.ts'
import { badFolder, loadFolder, type SavedFolder } from '../data/folder-load.ts'
import { type FolderContents, saveFolder } from '../data/folder-save.ts'
import { type LoadedFacts, type ModelContents, modelFolder, modelKind, readModelFolder } from '../data/model-folder.ts'
import { packedFolder } from '../data/packed-folder.ts'
import type { SaveOptions } from '../data/saved-texts.ts'
import type { Device } from '../device/contract.ts'
import { withDevice } from '../vectors/device-choice.ts'
import type { Frame } from '../vectors/frame.ts'
import { WORK_CHECKS, type WorkOptions } from '../vectors/work-options.ts'
import type { CountCertainty } from './certainty.ts'
import type { ModelFacts } from './facts.ts'
import { isMethodName } from './method-names.ts'
import { predictClusters } from './predict.ts'
import type { Prediction, Responsibilities } from './prediction.ts'
import { predictShares } from './responsibilities.ts'
import type { ResumeArrays } from './resume-arrays.ts'
import { type ClusterSummary, readSummaryOptions, type SummaryOptions, summariesOf } from './summaries.ts'
import { centerDistances } from './transform.ts'
import { requireUpdatable, updatedParts } from './update.ts'

/** The format version in model.json; folders of other versions are refused. */
export const MODEL_VERSION = 2

/** @internal Folders of clusterings. */
export const MODEL_KIND = modelKind(MODEL_VERSION)

/**
 * Further state that a run needs to resume exactly: see resume.ts.
 * @internal
 */
export interface ResumeState {
  readonly arrays: ResumeArrays
  /** The restart a checkpoint was taken in, from 0; only checkpoints have it. */
  readonly restart?: number
  /** Facts of the best restart before that; its numbers are among the arrays. */
  readonly best?: ModelFacts
}

/** Options of assigning vectors to the clusters of a model. */
export interface PredictOptions extends WorkOptions {
  /**
   * Descend the tree of the model instead of comparing with all centres. Default: true for dense vectors if there is a
   * tree.
   */
  readonly descend?: boolean | undefined
}

const CHECKS: OptionChecks<PredictOptions> = {
  ...WORK_CHECKS,
  descend: flag,
}

/**
 * The result of a clustering: centres, labels, and statistics of the run. It can assign vectors and be saved as a folder.
 *
 * @example
 * ```ts
 * import { blobs, cluster, loadModel } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 200, cols: 4, clusters: 2, separated: true })
 * const model = await cluster(vectors, { k: 2 })
 * model.sizes // => [100, 100]
 * const { labels, distances } = await model.assign(vectors)
 * labels[0] === model.labels[0] // => true
 * await model.predict(vectors.data.subarray(0, 4)) === labels[0] // => true
 * const [first] = await model.nearestMembers(vectors, 5)
 * first?.length // => 5
 * const more = await model.update(blobs({ rows: 50, cols: 4, clusters: 2 }).vectors)
 * more.labels.length // => 250
 * await model.save('blobs.model')
 * const again = await loadModel('blobs.model')
 * again.distortion === model.distortion // => true
 * ```
 */
export class ClusterModel {
  /** k x d, in the units of the input; normalised to length one for cosine. */
  readonly centers: Matrix<Float32Array>
  /** The cluster of each point after the last round. */
  readonly labels: Uint32Array
  /** Statistics and options of the run, as in model.json. */
  readonly facts: ModelFacts
  /**
   * The centres to the bit as the device holds them, to go on from; see frame.ts.
   * @internal
   */
  readonly state: { readonly centers: Float32Array; readonly frame: Frame }
  /** The tree over the clusters, if the method builds one (hkm, bisecting); `predict` descends it. */
  readonly tree: Uint32Array | undefined
  /** The weight of each component if the model is a mixture (egm, agm, gmm); the sum is 1. */
  readonly weights: Float32Array | undefined
  /** The standard deviation of each component of a mixture, in the input's units. */
  readonly sigmas: Float32Array | undefined

  /** @internal Further state that resuming needs. */
  readonly resumeState: ResumeState | undefined

  /** @internal `cluster` and `loadModel` make models. */
  constructor(
    centers: Matrix<Float32Array>,
    labels: Uint32Array,
    facts: ModelFacts,
    state: ClusterModel['state'],
    tree?: Uint32Array | undefined,
    mixture?: { readonly weights: Float32Array; readonly sigmas: Float32Array } | undefined,
    resumeState?: ResumeState | undefined,
  ) {
    this.centers = centers
    this.labels = labels
    this.facts = facts
    this.state = state
    this.tree = tree
    this.weights = mixture?.weights
    this.sigmas = mixture?.sigmas
    this.resumeState = resumeState
  }

  /** @internal The same model, with what is known of its number of clusters. */
  withCertainty(certainty: CountCertainty): ClusterModel {
    const { centers, labels, facts, state, tree, weights, sigmas, resumeState } = this
    const mixture = weights && sigmas && { weights, sigmas }
    return new ClusterModel(centers, labels, { ...facts, certainty }, state, tree, mixture, resumeState)
  }

  /** Mean squared distance of a point to the centre of its label. */
  get distortion(): number {
    return this.facts.iterations[this.facts.iterations.length - 1]?.distortion ?? Number.NaN
  }

  /**
   * Sum of squared distances of the points to the centres of their labels, each times its weight, after the last round, as
   * `inertia_` of scikit-learn. It is the distortion times the number of points, or the sum of their weights.
   */
  get inertia(): number {
    return this.distortion * (this.facts.weight ?? this.facts.rows)
  }

  /** Points of each cluster. */
  get sizes(): Uint32Array {
    const sizes = new Uint32Array(this.centers.rows)
    for (const label of this.labels) sizes[label]++
    return sizes
  }

  /**
   * The cluster of each vector: that of the nearest centre, of the leaf reached if the model has a tree, or of the most
   * likely component of a mixture. For a single vector, such as `[1, 2]`, the result is a number.
   */
  async predict<Input extends VectorInput | Vector>(
    input: Input,
    options: PredictOptions = {},
  ): Promise<Input extends Vector ? number : Uint32Array> {
    type Found = Input extends Vector ? number : Uint32Array
    if (!isNumberList(input)) return (await this.assign(input as VectorInput, options)).labels as Found
    const { labels } = await this.assign([input], options)
    return labels[0] as Found
  }

  /** The cluster of each vector, and how far its centre is. */
  async assign(input: VectorInput, options: PredictOptions = {}): Promise<Prediction> {
    const asked = optionsOf('assign', options, CHECKS)
    const source = this.#source(input)
    return withDevice(asked.device, [source], (device: Device) => predictClusters(device, source, this, asked))
  }

  /**
   * The distance of each vector to every centre, n x k and not squared: each vector in k new columns. For cosine, vectors
   * and centres are normalised to length one.
   */
  async transform(input: VectorInput, options: WorkOptions = {}): Promise<Matrix<Float32Array>> {
    const asked = optionsOf('transform', options, WORK_CHECKS)
    const source = this.#source(input)
    return withDevice(asked.device, [source], (device: Device) => centerDistances(device, source, this, asked))
  }

  /**
   * A summary of each cluster for the given vectors: size, spread, and the nearest vectors, with names if they have any.
   */
  async summaries(input: VectorInput, options: SummaryOptions = {}): Promise<ClusterSummary[]> {
    const source = this.#source(input)
    const { count, names, ...work } = await readSummaryOptions(options, source)
    return summariesOf(await this.assign(source, work), this.centers.rows, { count, names })
  }

  /**
   * The `count` vectors nearest to the centre of each cluster, nearest first: row numbers of `input`. {@link ClusterModel.summaries} has
   * their distances and names too.
   */
  async nearestMembers(input: VectorInput, count: number, options: WorkOptions = {}): Promise<Uint32Array[]> {
    const work = optionsOf('nearestMembers', options, WORK_CHECKS)
    const summaries = await this.summaries(input, { ...work, count })
    return summaries.map(({ members }) => Uint32Array.from(members, ({ row }) => row))
  }

  /**
   * A new model that includes further vectors, for streams (`partial_fit` of scikit-learn): every vector moves its nearest
   * centre, so that a centre stays the mean of its vectors. The labels of the new vectors are appended; existing labels do
   * not change. A new vector has weight 1. This model is not modified.
   */
  async update(input: VectorInput, options: WorkOptions = {}): Promise<ClusterModel> {
    requireUpdatable(this)
    const asked = optionsOf('update', options, WORK_CHECKS)
    const source = this.#source(input)
    const began = performance.now()
    const assigned = await this.assign(source, { ...asked, descend: false })
    const parts = await updatedParts(this, source, assigned, (performance.now() - began) / 1000)
    const { centers, labels, facts, inner } = parts
    return new ClusterModel(centers, labels, facts, { centers: inner, frame: this.state.frame })
  }

  /** The `r` components of a mixture with the highest responsibilities for each vector; all of a vector add up to 1. */
  async responsibilities(input: VectorInput, r: number, options: PredictOptions = {}): Promise<Responsibilities> {
    const asked = optionsOf('responsibilities', options, CHECKS)
    const source = this.#source(input)
    return withDevice(asked.device, [source], (device: Device) => predictShares(device, source, this, r, asked))
  }

  #source(input: VectorInput): VectorSource {
    const source = toSource(input, 'the vectors to assign')
    if (source.cols === this.centers.cols) return source
    throw new CentroidalError(
      'bad-data',
      `${source.name} has ${source.cols} columns and the model ${this.centers.cols}: give vectors with the same columns as those it was made from.`,
    )
  }

  /**
   * Writes centers.npy, labels.npy and model.json (for a mixture also weights.npy and sigmas.npy) into a folder, which is
   * created if needed. An earlier save there is replaced atomically: loading the folder meanwhile, or after a crash, gives
   * either the old or the new save.
   */
  async save(folder: string, options: SaveOptions = {}): Promise<void> {
    await saveFolder(folder, this.folderContents(), options)
  }

  /**
   * The files that {@link ClusterModel.save} writes, in one zip archive. In a page, offer it as a download and load the
   * file with {@link loadModel}.
   */
  toBytes(): Uint8Array<ArrayBuffer> {
    return packedFolder(this.folderContents())
  }

  /** What {@link loadModel} does. */
  static async load(folder: string | Blob): Promise<ClusterModel> {
    return loadModel(folder)
  }

  #resumeContents(): Pick<ModelContents, 'resume' | 'resumeState'> {
    if (this.resumeState === undefined) return {}
    const { arrays, ...resume } = this.resumeState
    return { resumeState: arrays, ...(Object.keys(resume).length > 0 ? { resume } : {}) }
  }

  /** @internal What `save` writes. */
  folderContents(): FolderContents {
    const { frame } = this.state
    return modelFolder({
      version: MODEL_VERSION,
      facts: {
        ...this.facts,
        distortion: this.distortion,
        frame: { ...frame, shift: frame.shift && Array.from(frame.shift) },
      },
      centers: this.centers,
      labels: this.labels,
      ...(this.tree ? { tree: this.tree } : {}),
      ...(this.weights && this.sigmas ? { mixture: { weights: this.weights, sigmas: this.sigmas } } : {}),
      ...(this.state.centers === this.centers.data
        ? {}
        : { frameCenters: matrix(this.state.centers, this.centers.rows, this.centers.cols) }),
      ...this.#resumeContents(),
    })
  }
}

/** A model that a caller gave. */
export const clusterModel = instance(ClusterModel, 'give a model from cluster() or loadModel().')

/**
 * Loads what {@link ClusterModel.save} or `centroidal cluster --out` wrote; or {@link ClusterModel.toBytes}, as a Blob or a File.
 *
 * @example
 * ```ts
 * import { blobs, cluster, loadModel } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 100, cols: 4, clusters: 3 })
 * await (await cluster(vectors, { k: 3 })).save('run')
 * const model = await loadModel('run')
 * model.centers.rows // => 3
 * const labels = await model.predict(vectors)
 * labels.length // => 100
 *
 * // In a page: a file to download, and to be chosen again.
 * const copy = await loadModel(new Blob([model.toBytes()]))
 * copy.distortion === model.distortion // => true
 * ```
 */
export async function loadModel(folder: string | Blob): Promise<ClusterModel> {
  return modelFrom(await loadFolder(folder, MODEL_KIND))
}

/** @internal A model in a folder that has been read, which may be inside another one. */
export async function modelFrom(saved: SavedFolder): Promise<ClusterModel> {
  const { facts, frame, centers, labels, frameCenters, tree, mixture, ...resumed } = await readModelFolder(saved)
  // Centres of the frame are kept apart only where they differ.
  const state = { centers: frameCenters ?? (centers.data as Float32Array), frame }
  requireKnownMethod(facts, saved.path)
  const { best, ...resume } = resumed.resume ?? {}
  if (best) requireKnownMethod(best, saved.path)
  // What these hold is checked when a run is resumed.
  const resumeState: ResumeState = { ...resume, ...(best && { best }), arrays: resumed.resumeState ?? {} }
  return new ClusterModel(centers, labels, facts, state, tree, mixture, resumeState)
}

/** The values of its options are shown and compared, not computed with. */
function requireKnownMethod(facts: LoadedFacts, path: string): asserts facts is LoadedFacts & ModelFacts {
  const { method, options } = facts
  if (isMethodName(options.method) && (method === options.method || method.startsWith('own:'))) return
  throw badFolder(
    `${path}/model.json: method is ${JSON.stringify(method)}, which is not known here: save the folder again.`,
  )
}

/** Options of a clustering, with the defaults and their reasons. */

import type { Matrix, Vector, WideMatrix } from '../core/matrix.ts'
import type { CandidatesName, MethodName, MethodOptions, OptionOfMethod, StartName } from '../models/method-names.ts'
import type { ClusterModel } from '../models/model.ts'
import type { IterationStats } from '../models/stats.ts'
import type { DeviceChoice } from '../vectors/device-choice.ts'
import type { WorkOptions } from '../vectors/work-options.ts'
import type { OwnMethod } from './own-method.ts'
import type { Machines } from './remote-owners.ts'

/** Options of every clustering method. {@link ClusterOptions} also has the options of single methods. */
export interface CommonOptions extends WorkOptions {
  /**
   * Number of clusters, required. `auto`: the library finds it, with `egm` for few vectors and `agm` for many, and checks
   * it with runs on halves of the vectors (`facts.certainty` of the model). Leave it out for methods that find it
   * themselves.
   */
  readonly k?: number | 'auto' | undefined
  /**
   * How to cluster. Default `auto`: `lloyd` below 100 clusters, for sparse rows, and where a round over every centre takes
   * no noticeable time on the device, or clearly less than one of `closures-sharp`; otherwise `closures-sharp`, whose
   * rounds do not cost more with more clusters. The choice depends on the speed of the device, `info.speed`, so it may
   * differ between devices; `facts.options.methodReason` of the model has the reason. A resumed run keeps its method. An
   * object is a custom method: see {@link OwnMethod}.
   */
  readonly method?: 'auto' | MethodName | OwnMethod | undefined
  /**
   * Where the centres begin: `random-labels` (a random label for each point), `random` points, `kpp` (greedy k-means++, on a sample of
   * at least 16,384 points and 20 for each cluster), `kpp-parallel` (k-means||, the same idea in few passes over all points),
   * `tree` (cells of a partition tree), `sample` (a clustering of a sample by the same method: up to 64 points for each
   * cluster and a quarter of all at most; for closures and closures-sharp a quarter of all, if that is large enough to begin
   * from a sample itself), `hkm` (leaves of a tree of small k-means), `bisecting` (the same, always in two), or
   * centres: a matrix, or an array of them. If these are fewer than k, the other centres are chosen by greedy k-means++ in addition to
   * these. Methods that find the number of clusters begin with `all` points, with a number of centres, or with
   * given ones. Default `auto`: what suits the method (closures and
   * closures-sharp begin from a sample if there are at least 131,072 points and 192 for each cluster), else greedy k-means++ on a sample that takes less than a fifth of the
   * run, or k-means|| if that sample would be too small.
   */
  readonly start?: StartChoice | undefined
  /** Seed of the random numbers: the same seed and device give the same result, bit for bit. Default 0. */
  readonly seed?: number | undefined
  /** Maximum number of rounds. Default 100, which is enough for Lloyd on real data. */
  readonly iterations?: number | undefined
  /**
   * Stop when a round lowers the distortion by less than this fraction. Default 0.0001: later rounds hardly change the
   * clusters. With 0, the run continues until no label changes.
   */
  readonly tolerance?: number | undefined
  /**
   * Stop after the round in which this many seconds are reached. Default: no limit, so that results do not depend on the
   * speed of the machine.
   */
  readonly seconds?: number | undefined
  /** Number of runs from different starts, of which the best is kept. Default 1; each takes as long as the first. */
  readonly restarts?: number | undefined
  /** `cosine` normalises vectors and centres to length one. Default `euclidean`. */
  readonly metric?: 'euclidean' | 'cosine' | undefined
  /** The weight of each point, 0 or more: a point of weight 2 counts as two points. Default: all 1. */
  readonly weights?: ArrayLike<number> | undefined
  /**
   * How empty clusters are handled. `farthest` (default) moves the centre to the point farthest from its own centre, which
   * never raises the distortion; `keep` leaves the cluster empty.
   */
  readonly empty?: 'farthest' | 'keep' | undefined
  /**
   * Escape from poor local optima: when progress slows, and before the run ends, two close clusters are merged and one that
   * contains several groups is split, where that lowers the distortion. Default true for lloyd, sharp, closures,
   * closures-sharp, akm and rakm. Default false if the initial centres are given, if shards have more than a billion
   * numbers (the leading process would read all of them), or if it would take more than 768 MiB (28 bytes for each vector
   * and for each number of the centres).
   */
  readonly relocate?: boolean | undefined
  /**
   * Several devices that work at the same time, each on some of the shards: open devices, or options to open them. Instead
   * of `device`. Devices of one kind give the same result as one of them, bit for bit, if `shards` is the same. Default:
   * one device.
   */
  readonly devices?: readonly Exclude<DeviceChoice, undefined>[] | undefined
  /**
   * The number of shards into which the vectors are divided, or the number of vectors of each. A shard is a fixed range of
   * rows that one device owns; the result does not depend on which device that is. Default: as many as the memory of the
   * device requires, mostly one; with several devices at least 16.
   */
  readonly shards?: number | readonly number[] | undefined
  /**
   * Other machines that do the work: the result of {@link connect}. The vectors must be those of a manifest of shards
   * ({@link openShards}). The result is that of a run in this process over the same shards, bit for bit, on devices of the
   * same kind. `device` is used here for the small part of the work that is not divided. Default: this process works alone.
   */
  readonly on?: Machines | undefined
  /**
   * Stops the run after the current round; the result is the current model, and `facts.stopped` is `aborted`. Before the
   * first round is complete, the promise is rejected with the reason of the signal. Optional.
   */
  readonly signal?: AbortSignal | undefined
  /** Called after every round. Optional. */
  readonly onIteration?: ((stats: IterationStats) => void) | undefined
  /** Called with the current model every `every` rounds, for example to save it. Optional. */
  readonly checkpoint?: { readonly every: number; save(model: ClusterModel): Promise<void> | void } | undefined
  /**
   * A model to continue: centres, labels and the number of rounds are taken from it. With the same vectors, options and
   * device the result is bit-identical to that of an uninterrupted run; a run that has converged returns immediately. A
   * checkpoint continues with its restart and the later ones. Optional.
   */
  readonly resume?: ClusterModel | undefined
}

/** A method with the options it takes. */
type OfMethod<Method extends MethodName> = { readonly method: Method } & Pick<MethodOptions, OptionOfMethod[Method]>

/**
 * Options of a clustering: {@link CommonOptions}, the number of clusters, where to start from, and the options of the
 * method, see {@link MethodOptions}. Options of another method do not compile, and are refused.
 */
export type ClusterOptions = Omit<CommonOptions, 'method'> &
  (
    | { readonly method?: 'auto' | undefined }
    | { [Method in MethodName]: OfMethod<Method> }[MethodName]
    | ({ readonly method: OwnMethod } & Pick<MethodOptions, OptionOfMethod[CandidatesName]>)
  )

/** The same without type checks of options by method, for programs that choose the method at run time. */
export interface AnyClusterOptions extends CommonOptions, MethodOptions {}

/** Where centres begin: by name, by a number of points (egm, agm), or given. */
export type StartChoice = StartName | 'all' | number | Matrix | WideMatrix | readonly Vector[]

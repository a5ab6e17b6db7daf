/** What a caller may ask of a clustering, with the defaults and why they are what they are. */

import type { Matrix, Vector, WideMatrix } from '../core/matrix.ts'
import type { CandidatesName, MethodName, MethodOptions, OptionOfMethod, StartName } from '../models/method-names.ts'
import type { ClusterModel } from '../models/model.ts'
import type { IterationStats } from '../models/stats.ts'
import type { DeviceChoice } from '../vectors/device-choice.ts'
import type { WorkOptions } from '../vectors/work-options.ts'
import type { OwnMethod } from './own-method.ts'
import type { Machines } from './remote-owners.ts'

/** What can be asked of a clustering by any method. {@link ClusterOptions} has the options of single methods too. */
export interface CommonOptions extends WorkOptions {
  /**
   * Number of clusters, which has to be given. `auto`: the library finds it, by `egm` for few vectors and `agm` for many,
   * and checks it by runs on halves of the vectors (`facts.certainty` of the model). Methods that find it themselves take
   * no number.
   */
  readonly k?: number | 'auto' | undefined
  /**
   * How to cluster. Default `auto`: `lloyd` below 100 clusters, for sparse rows, and where a round over every centre takes no
   * noticeable time on the device, or clearly less than one of `closures-sharp`; otherwise `closures-sharp`, whose rounds
   * do not cost more with more clusters. It goes by the speed of the device, `info.speed`, so another device may choose
   * otherwise; `facts.options.methodReason` of the model tells why. A run that is resumed keeps its method. An object is a method of
   * your own: see {@link OwnMethod}.
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
  /** Same seed, same device, same result, bit for bit. Default 0, so that a run repeats without being told to. */
  readonly seed?: number | undefined
  /** Most rounds. Default 100: Lloyd on real data has long flattened out by then. */
  readonly iterations?: number | undefined
  /** Stop when a round lowers the distortion by less than this share of it. Default 0.0001: what is to be gained after that is hardly seen in the clusters; 0 runs on until nothing moves. */
  readonly tolerance?: number | undefined
  /** Stop after the first round that ends later than this many seconds. Default: no limit, so that a run repeats on a slower machine. */
  readonly seconds?: number | undefined
  /** Runs from different starts, of which the best is kept. Default 1, as each costs as much as the first. */
  readonly restarts?: number | undefined
  /** `cosine` brings vectors and centres to length one. Default `euclidean`, which leaves vectors as they are. */
  readonly metric?: 'euclidean' | 'cosine' | undefined
  /** A weight for each point, 0 or more: it counts as so many points at its place. Default: all 1. */
  readonly weights?: ArrayLike<number> | undefined
  /**
   * What becomes of a cluster that lost all its points. `farthest` (default) gives it the point
   * farthest from its centre, which never raises the distortion; `keep` leaves it empty where it was.
   */
  readonly empty?: 'farthest' | 'keep' | undefined
  /**
   * Leave poor local optima: when progress slows, and before the run ends, two clusters that are close to each other are
   * merged and one that holds several groups is split instead, wherever that lowers the distortion. Default true for the
   * methods that can (lloyd, sharp, closures, closures-sharp, akm, rakm), except where the centres to start from are given:
   * there the result is that of the plain method, for shards of more than a billion numbers, because the leading process
   * reads all vectors for it, and where it would take more than 768 MiB (28 bytes for each vector and for each number of the
   * centres).
   */
  readonly relocate?: boolean | undefined
  /**
   * Several devices that work at the same time, each on some of the shards: open ones, or what to open. Instead of `device`.
   * Devices of one kind give the same result as one of them, bit for bit, if `shards` is the same. Default: one device.
   */
  readonly devices?: readonly Exclude<DeviceChoice, undefined>[] | undefined
  /**
   * Into how many shards the vectors are cut, or the number of vectors of each. A shard is a fixed range of rows that one
   * device owns; which device that is never changes the result. Default: as many as the memory of the device requires, mostly
   * one; with several devices at least 16.
   */
  readonly shards?: number | readonly number[] | undefined
  /**
   * Other machines that do the work: what {@link connect} returned. The vectors must be those of a manifest of shards
   * ({@link openShards}). The result is that of a run in this process over the same shards, bit for bit, on devices of the
   * same kind. `device` is used here for the small part of the work that is not divided. Default: this process works alone.
   */
  readonly on?: Machines | undefined
  /**
   * Stops the run after the current round; what was reached so far is the result, and `facts.stopped` is `aborted`. Before the
   * first round has ended, the promise is rejected with the signal's reason. Default: none.
   */
  readonly signal?: AbortSignal | undefined
  /** Called after every round. Default: nobody is told. */
  readonly onIteration?: ((stats: IterationStats) => void) | undefined
  /** Called with the state so far every `every` rounds, for example to save it. Default: none, as reading it takes time. */
  readonly checkpoint?: { readonly every: number; save(model: ClusterModel): Promise<void> | void } | undefined
  /**
   * A model to go on from: centres, labels and the count of rounds are taken over. With the same vectors, options and device
   * the result is that of a run that was not interrupted, bit for bit; a run that had converged returns at once. A checkpoint
   * goes on with the restart it was taken in and those after it. Default: none.
   */
  readonly resume?: ClusterModel | undefined
}

/** A method with the options it takes. */
type OfMethod<Method extends MethodName> = { readonly method: Method } & Pick<MethodOptions, OptionOfMethod[Method]>

/**
 * What can be asked of a clustering: {@link CommonOptions}, the number of clusters, where to start from, and the options of
 * the method, see {@link MethodOptions}. Options of another method do not compile, and are refused.
 */
export type ClusterOptions = Omit<CommonOptions, 'method'> &
  (
    | { readonly method?: 'auto' | undefined }
    | { [Method in MethodName]: OfMethod<Method> }[MethodName]
    | ({ readonly method: OwnMethod } & Pick<MethodOptions, OptionOfMethod[CandidatesName]>)
  )

/** The same without the tie between a method and its options, for programs that choose a method while they run. */
export interface AnyClusterOptions extends CommonOptions, MethodOptions {}

/** Where centres begin: by name, by a number of points (egm, agm), or given. */
export type StartChoice = StartName | 'all' | number | Matrix | WideMatrix | readonly Vector[]

/**
 * Tasks of processes that own points, as plain values. Every task is a function of this room that works on the points of
 * one process; the loop calls the same functions for its own devices. Results are merged exactly and in the order of the
 * shards, so they do not depend on who owns which shards.
 */

import type { VectorSource } from '../core/matrix.ts'
import type { RunControl } from '../device/contract.ts'
import type { MeasuredPoints } from '../kernels/move-through.ts'
import type { MethodName } from '../models/method-names.ts'
import type { Mixture } from '../models/mixture.ts'
import type { ResumeArrays } from '../models/resume-arrays.ts'
import type { Frame } from '../vectors/frame.ts'
import type { RowLayout } from '../vectors/layout.ts'
import type { Settings } from './method-options.ts'
import type { PartialRound, PartialSums, ShardValue } from './partial.ts'
import type { FarPoints } from './refill.ts'
import type { Round } from './run-state.ts'

/** Which sums of the points are taken: those of the method's update, or plain means. */
export type SumsKind = 'update' | 'means' | 'unweighted-means'

/** Labels, or distances, of a range of rows. */
export interface RowValues<T> {
  readonly first: number
  readonly values: T
}

/** Lists of components of a range of rows, see mixture/remembered-lists.ts. */
export interface RowLists {
  readonly first: number
  readonly count: number
  readonly lists: Uint32Array
  readonly names: Uint32Array | undefined
}

/** Arguments and result of each task. */
export interface OwnerTasks {
  /** A round: points are assigned, and summed by label. */
  choose: {
    args: { readonly iteration: number }
    result: { readonly round: PartialRound; readonly sums: PartialSums }
  }
  /** Sums of the points as they are labelled now. */
  take: { args: { readonly kind: SumsKind }; result: { readonly sums: PartialSums } }
  /** Points return to labels that cannot raise the objective. */
  retreat: {
    args: Record<string, never>
    result: { readonly squares: readonly ShardValue[]; readonly sums: PartialSums }
  }
  /** Squared distances to the centres of the labels. */
  squares: { args: Record<string, never>; result: readonly ShardValue[] }
  /** The length of the longest point. */
  measure: { args: Record<string, never>; result: MeasuredPoints }
  /** Every point takes the nearest centre. */
  nearest: { args: Record<string, never>; result: null }
  /** Distances to the nearest of the rows chosen for a start. */
  approach: { args: { readonly chosen: Float32Array; readonly firstLabel: number }; result: null }
  /** Points that lie farthest from their centres, for empty clusters. */
  farthest: { args: { readonly count: number }; result: FarPoints }
  labels: { args: Record<string, never>; result: readonly RowValues<Uint32Array>[] }
  distances: { args: Record<string, never>; result: readonly RowValues<Float32Array>[] }
  /** Data of points other than labels. */
  lists: { args: Record<string, never>; result: readonly RowLists[] }
}

/** Messages to owners before the next task, without an answer. */
export interface OwnerNotes {
  /** Centres and what belongs to them. */
  centers: { readonly centers: Float32Array; readonly mixture: Mixture | undefined; readonly labelled: boolean }
  /** The update finished a round: see `Update.follow`. */
  follow: { readonly merged: PartialSums; readonly news: unknown }
  /** A round ended: see `CandidateSource.endRound`. */
  endRound: Round
  /** Undefined: no point has a label. */
  labels: { readonly labels: Uint32Array | undefined }
  /** Some points go to other clusters. */
  relabel: { readonly rows: Float64Array; readonly labels: Uint32Array }
  /** What a resumed run had saved. */
  restore: { readonly arrays: ResumeArrays }
  /** The round before was stopped: labels are those from before it. */
  undo: Record<string, never>
}

export type TaskName = keyof OwnerTasks
export type NoteName = keyof OwnerNotes

/** All that owners have to know of a run. */
export interface RunDescription {
  readonly method: MethodName
  readonly settings: Settings
  readonly seed: number
  readonly k: number
  /** The most clusters there may be. */
  readonly most: number
  readonly frame: Frame
  readonly layout: RowLayout
  readonly totalWeight: number
  readonly weightScale: number
  readonly evidence: number
  readonly largest: number
}

/** Other processes that own all points of a run. */
export interface RemoteOwners {
  /** Asks all owners; the results together cover every shard once. */
  ask<N extends TaskName>(name: N, args: OwnerTasks[N]['args']): Promise<readonly OwnerTasks[N]['result'][]>
  /** Takes effect before the next task. */
  note<N extends NoteName>(name: N, note: OwnerNotes[N]): void
  /** Ends the run there. */
  close(): Promise<void>
}

/** Processes on other machines that can own the points of a run: what {@link connect} returns. */
export interface Machines {
  /** @internal They take the shards of the source. */
  begin(source: VectorSource, run: RunDescription, control: RunControl): Promise<RemoteOwners>
}

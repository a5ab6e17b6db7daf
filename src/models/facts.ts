/** How a clustering came about, by its method. */
import type { DeviceInfo } from '../device/contract.ts'
import type { CountCertainty } from './certainty.ts'
import type { CandidatesName, MethodName, MethodOptions, OptionOfMethod, StartName } from './method-names.ts'
import type { IterationStats, StopReason } from './stats.ts'

/** Options that a method has only with some value of another one: these may be missing. */
type Conditional = 'lambda' | 'tau'

/** The options of a method as it ran with them: what was given, and defaults for the rest. */
export type MethodSettings<Name extends MethodName> = {
  readonly [Option in Exclude<OptionOfMethod[Name], Conditional>]: Exclude<MethodOptions[Option], undefined>
} & {
  readonly [Option in Extract<OptionOfMethod[Name], Conditional>]?: Exclude<MethodOptions[Option], undefined>
}

/** Options that a run was given, or that were chosen for it; see {@link CommonOptions}. */
export interface RunFacts {
  /** Clusters the run began with. */
  readonly k: number
  /** Seed of the random numbers. */
  readonly seed: number
  /** Most rounds. */
  readonly iterations: number
  /** Smallest relative gain of a round. */
  readonly tolerance: number
  /** Most seconds, where there was a limit. */
  readonly seconds?: number
  /** Runs from different starts. */
  readonly restarts: number
  /** Where the centres began: as it was asked for, or `given` where they were. */
  readonly start: StartName | 'all' | 'given' | number
  /** The metric. */
  readonly metric: 'euclidean' | 'cosine'
  /** What became of clusters without vectors. */
  readonly empty: 'farthest' | 'keep'
  /** Whether clusters were merged and split between rounds. */
  readonly relocate: boolean
  /** Whether the vectors had weights. */
  readonly weighted: boolean
  /** How the vectors were cut, where that was asked for. */
  readonly shards?: number | readonly number[]
  /** Why this method was chosen automatically. */
  readonly methodReason?: string
}

/** Fields of model.json that do not depend on the method. */
export interface CommonFacts {
  /** The metric. */
  readonly metric: 'euclidean' | 'cosine'
  /** Final number of clusters. */
  readonly k: number
  /** Number of vectors. */
  readonly rows: number
  /** Their dimensions. */
  readonly cols: number
  /** Sum of the weights of the vectors, if they have weights. Undefined in models saved by earlier versions. */
  readonly weight?: number | undefined
  /** Seed of the random numbers. */
  readonly seed: number
  /** The device, and why it was selected. */
  readonly device: Pick<DeviceInfo, 'kind' | 'name' | 'reason'>
  /** Why it ended. */
  readonly stopped: StopReason
  /** Seconds spent on the start, in the restart that gave the result. Undefined in models saved by earlier versions. */
  readonly startSeconds?: number | undefined
  /** The sample that was clustered first, where the run began from one. */
  readonly sample?: SampleFacts | undefined
  /** Every round, in order. */
  readonly iterations: readonly IterationStats[]
  /** The certainty of the number of clusters, with `k: 'auto'`. */
  readonly certainty?: CountCertainty
}

/** The facts of a run of one method. */
export interface MethodFacts<Name extends MethodName> extends CommonFacts {
  /** The method that ran, given or chosen automatically. */
  readonly method: Name
  /** Options that were given or chosen. */
  readonly options: RunFacts & {
    /** The method. */
    readonly method: Name
    /** Its own options. */
    readonly settings: MethodSettings<Name>
  }
}

/** The facts of a run of a method that the caller brought; see {@link OwnMethod}. */
export interface OwnFacts<Base extends CandidatesName> extends CommonFacts {
  /** Its name, after `own:`. */
  readonly method: `own:${string}`
  /** Options that were given or chosen. */
  readonly options: RunFacts & {
    /** The method whose candidates and options it takes. */
    readonly method: Base
    /** Its options. */
    readonly settings: MethodSettings<Base>
  }
}

/** The contents of model.json. `method` tells which `options.settings` there are. */
export type ModelFacts =
  | { [Name in MethodName]: MethodFacts<Name> }[MethodName]
  | { [Base in CandidatesName]: OwnFacts<Base> }[CandidatesName]

/** A sample that a run began from. */
export interface SampleFacts {
  /** Vectors of the sample. */
  readonly rows: number
  /** Rounds in which it was clustered. */
  readonly rounds: number
}

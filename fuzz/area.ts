/** What an area of fuzzing is, and what a failure is. */
import type { Draw } from './draw.ts'

/** Kinds of failures, as the table names them. */
export type FailureKind =
  | 'wrong result'
  | 'raw error'
  | 'bad message'
  | 'silent acceptance'
  | 'hang'
  | 'crash'
  | 'memory'
  | 'leftover'

/** What a case found to be wrong. Everything else that a case throws is a fault of the area itself, and counts too. */
export class Failure extends Error {
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

/** What a case works with. */
export interface CaseContext {
  readonly draw: Draw
  /** An empty folder, removed after the case. */
  folder(): string
  /** Describes what is tried. The last text is part of the report of a failure. */
  note(text: string): void
}

export interface Area {
  readonly name: string
  /** What the table says. */
  readonly title: string
  /** Share of the time, relative to the other areas. */
  readonly share: number
  /** Seconds a case may take before it counts as a hang. */
  readonly seconds: number
  /** Megabytes of resident memory at which a process counts as out of control. */
  readonly megabytes?: number
  /** Cases after which the process is replaced. Default 4000: leaks of one case must not add up to failures of another. */
  readonly casesPerProcess?: number
  run(context: CaseContext): Promise<void>
}

/** What the races say: one row a method, and one sentence. */
import type { MethodName } from '../../index.ts'
import { fineDuration, number, percent } from '../format.ts'
import type { RaceResult } from './race.ts'

/** A method is as good as there when its distortion is this near to the best of all. */
const NEAR = 0.01
/** Ends that differ by less count as the same. */
const SAME = 0.001

export interface BenchRow {
  readonly method: MethodName
  /** Undefined where no round ended in time. */
  readonly distortion: number | undefined
  /** Above the best of all, as a share of it. */
  readonly above: number | undefined
  readonly rounds: number
  /** When the last round that counts ended. */
  readonly seconds: number
  /** Until the distortion was within 1 % of the best of all; undefined where it never was. */
  readonly secondsToNear: number | undefined
  readonly ended: RaceResult['ended']
}

export interface Verdict {
  /** Best first. */
  readonly rows: readonly BenchRow[]
  readonly best: MethodName | undefined
  readonly sentence: string
}

export interface VerdictContext {
  readonly k: number
  readonly seconds: number
  readonly file: string
}

export function judgeRaces(results: readonly RaceResult[], context: VerdictContext): Verdict {
  const lows = results.flatMap(({ rounds }) => (rounds.length > 0 ? [rounds[rounds.length - 1].distortion] : []))
  const lowest = Math.min(...lows)
  const rows = results.map((result) => rowOf(result, lowest))
  rows.sort((a, b) => (a.distortion ?? Infinity) - (b.distortion ?? Infinity))
  const done = rows.filter((row): row is DoneRow => row.distortion !== undefined)
  if (done.length === 0) {
    return {
      rows,
      best: undefined,
      sentence: `No method finished a round within ${fineDuration(context.seconds)}: increase --seconds, or use fewer clusters.`,
    }
  }
  const winner = winnerOf(done)
  return { rows, best: winner.method, sentence: sentenceFor(winner, done, context) }
}

type DoneRow = BenchRow & { readonly distortion: number; readonly above: number }

function rowOf({ method, rounds, ended }: RaceResult, lowest: number): BenchRow {
  const last = rounds[rounds.length - 1]
  if (last === undefined) {
    return { method, distortion: undefined, above: undefined, rounds: 0, seconds: 0, secondsToNear: undefined, ended }
  }
  const near = rounds.find(({ distortion }) => distortion <= lowest * (1 + NEAR))
  return {
    method,
    distortion: last.distortion,
    above: lowest > 0 ? last.distortion / lowest - 1 : 0,
    rounds: rounds.length,
    seconds: last.seconds,
    secondsToNear: near?.seconds,
    ended,
  }
}

/** The lowest; of several that end as low, the one that was near first. */
function winnerOf(done: readonly DoneRow[]): DoneRow {
  return done
    .filter(({ above }) => above <= SAME)
    .reduce((best, row) => ((row.secondsToNear ?? Infinity) < (best.secondsToNear ?? Infinity) ? row : best))
}

function sentenceFor(winner: DoneRow, done: readonly DoneRow[], { k, seconds, file }: VerdictContext): string {
  const where = `for ${file} with ${number(k)} clusters and ${fineDuration(seconds)}`
  const near =
    winner.secondsToNear === undefined ? '' : `; it came within 1% of that after ${fineDuration(winner.secondsToNear)}`
  const others = done.filter((row) => row !== winner)
  if (others.length === 0)
    return `Only ${winner.method} has a result ${where}: distortion ${number(winner.distortion)}.`
  const head = `${winner.method} has the lowest distortion ${where}: ${number(winner.distortion)}${near}.`
  const ties = others.filter(({ above }) => above <= SAME)
  const next = others.find(({ above }) => above > SAME)
  const quickest = done.reduce((best, row) =>
    (row.secondsToNear ?? Infinity) < (best.secondsToNear ?? Infinity) ? row : best,
  )
  const rest = [
    ties.length > 0
      ? `${ties.map(({ method }) => method).join(' and ')} ${ties.length > 1 ? 'end' : 'ends'} as low (within 0.1%) but ${ties.length > 1 ? 'take' : 'takes'} longer to get there.`
      : '',
    ties.length === 0 && next
      ? `Next is ${next.method}, ${percent(next.above, next.above < 0.01 ? 2 : 1)} above it.`
      : '',
    quickest !== winner && quickest.secondsToNear !== undefined
      ? `${quickest.method} comes within 1% of the best sooner, after ${fineDuration(quickest.secondsToNear)}.`
      : '',
  ]
  return [head, ...rest.filter(Boolean)].join(' ')
}

/** A remark on how a method ended, for the table. */
export function endWords({ ended, rounds }: BenchRow): string {
  if (ended === 'settled') return 'converged'
  if (rounds === 0) return ended === 'time' ? 'no round finished in time' : 'interrupted'
  return ended === 'time' ? 'time limit reached' : 'interrupted'
}

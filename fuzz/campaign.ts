/** Spreads cases over areas and processes until the time or the number of cases is used up. */
import type { Area } from './area.ts'
import type { Found } from './child.ts'
import { type CaseResult, Runner } from './runner.ts'

export interface CampaignOptions {
  readonly areas: readonly Area[]
  readonly seed: number
  /** Seconds in all. */
  readonly seconds: number
  /** Cases in all. */
  readonly cases: number
  /** Cases of each area. They are run however long they take, so that a seed always gives the same cases. */
  readonly each: number
  readonly processes: number
  /** For the files of cases. */
  readonly folder: string
  onProgress(tally: readonly AreaTally[]): void
}

export interface DistinctFailure extends Found {
  readonly area: string
  /** Number of the first case that showed it. */
  readonly number: number
  count: number
}

export interface AreaTally {
  readonly area: Area
  tries: number
  failures: number
  seconds: number
  /** Cases that have been handed out. */
  next: number
  readonly distinct: Map<string, DistinctFailure>
}

/** A batch should take about this long. */
const BATCH_SECONDS = 1.5
const MOST_PER_BATCH = 500
/** Seconds of a batch that ends by its number of cases. */
const UNLIMITED = 1e6
/** An area that fails all the time needs no further examples. */
const ENOUGH_KILLS = 25

export async function runCampaign(options: CampaignOptions): Promise<AreaTally[]> {
  const tallies = options.areas.map((area) => ({
    area,
    tries: 0,
    failures: 0,
    seconds: 0,
    next: 0,
    distinct: new Map<string, DistinctFailure>(),
  }))
  const ends = performance.now() + options.seconds * 1000
  let handedOut = 0
  const work = async (): Promise<void> => {
    const runner = new Runner(options.folder)
    try {
      while (performance.now() < ends && handedOut < options.cases) {
        const tally = nextArea(tallies, options.each)
        if (tally === undefined) return
        const left = (ends - performance.now()) / 1000
        const count = Math.max(1, Math.min(MOST_PER_BATCH, options.cases - handedOut, options.each - tally.next))
        const first = tally.next
        tally.next += count
        handedOut += count
        // Counted before it is used, so that two processes do not both take the same area.
        const expected = Math.min(BATCH_SECONDS, Math.max(left, 0.1))
        tally.seconds += expected
        const batch = {
          area: tally.area.name,
          seed: options.seed,
          first,
          count,
          seconds: Number.isFinite(options.each) ? UNLIMITED : expected,
        }
        const began = performance.now()
        let done = 0
        await runner.run(tally.area, batch, (result) => {
          done++
          take(tally, result)
        })
        handedOut += done - count
        tally.seconds += (performance.now() - began) / 1000 - expected
        options.onProgress(tallies)
      }
    } finally {
      await runner.close()
    }
  }
  await Promise.all(Array.from({ length: options.processes }, work))
  return tallies
}

/** The one that has had least of its share. */
function nextArea(tallies: readonly AreaTally[], each: number): AreaTally | undefined {
  const open = tallies.filter(({ distinct, next }) => kills(distinct) < ENOUGH_KILLS && next < each)
  const used = ({ seconds, area }: AreaTally): number => seconds / area.share
  return open.reduce<AreaTally | undefined>(
    (best, tally) => (best && used(best) <= used(tally) ? best : tally),
    undefined,
  )
}

function kills(distinct: ReadonlyMap<string, DistinctFailure>): number {
  let sum = 0
  for (const { kind, count } of distinct.values()) if (kind === 'hang' || kind === 'memory') sum += count
  return sum
}

function take(tally: AreaTally, { area, number, failure }: CaseResult): void {
  tally.tries++
  if (failure === undefined) return
  tally.failures++
  const key = signature(failure)
  const known = tally.distinct.get(key)
  if (known) known.count++
  else tally.distinct.set(key, { ...failure, area, number, count: 1 })
}

/** Failures that differ in numbers and quoted values alone are one. */
export function signature({ kind, message, stack }: Found): string {
  const text = message
    .replace(/ differ[;:].*/s, ' differ')
    .replace(/"[^"]*"/g, '""')
    .replace(/\[[^\]]*\]/g, '[]')
    .replace(/-?\d+(\.\d+)?(e[+-]?\d+)?/g, '0')
    .slice(0, 90)
  const place = /\n\s+at (?:async )?([\w.$<># ]+) \(/.exec(stack)?.[1] ?? ''
  return `${kind} ${text} ${kind === 'raw error' ? place : ''}`
}

/**
 * Large reductions as jobs. Sums of many clusters would all pass through the coordinator, once for every worker. Instead each
 * worker cuts its sums into ranges of blocks; a job for each range is taken by whichever worker is free, which adds up what all
 * of them sent and writes the sum. The coordinator then reads every number once. Sums are exact integers (deltas.ts), so
 * neither the order nor who adds them changes a bit.
 */
import { CentroidalError } from '../core/errors.ts'
import { list, record, type Schema, text, whole } from '../data/schema.ts'
import { EXACT_BLOCK } from '../kernels/exact-sums.ts'
import { type BlockDelta, cutDelta, type RangeDelta, type SumsDelta, sumOfDeltas } from './deltas.ts'
import { checkBlockDelta, checkPlace, fromStore, type Place, RUN_ID } from './messages.ts'
import type { Traffic } from './traffic.ts'

/** Part of the sums of one worker: a range of blocks of one of the arrays. */
export interface SumsPiece {
  readonly array: number
  readonly range: number
  readonly place: Place
}

/** Sums as a worker sends them: those with many numbers are pieces in the store. */
export interface SentSums {
  readonly delta: SumsDelta
  readonly pieces: readonly SumsPiece[]
}

/** A job of the queue of reductions. */
export const checkReduction = record({
  run: text(RUN_ID),
  seq: whole(1),
  /** Number of the job among those of the command. */
  job: whole(0),
  range: whole(0),
  /** Numbers of a range. */
  size: whole(EXACT_BLOCK, 2 ** 32),
  places: list(checkPlace),
})
export type Reduction = ReturnType<typeof checkReduction>

export const checkPieces: Schema<SumsPiece[]> = (value, at) =>
  list(record({ array: whole(0, 16), range: whole(0), place: checkPlace }))(value, at)

/** Numbers of a range, as a multiple of blocks. */
export function rangeBlocks(size: number): number {
  return Math.max(1, Math.floor(size / EXACT_BLOCK))
}

/** Writes arrays of more than `size` numbers to the store in ranges. `key` names a piece. */
export async function sendSums(
  traffic: Traffic,
  delta: SumsDelta,
  size: number,
  key: (array: number, range: number) => string,
): Promise<SentSums> {
  const pieces: SumsPiece[] = []
  const exact: BlockDelta[] = []
  for (const [array, own] of delta.exact.entries()) {
    if (own.words / 3 <= size) {
      exact.push(own)
      continue
    }
    exact.push({ words: own.words, blocks: new Uint32Array(), planes: [undefined, undefined, undefined] })
    for (const { range, delta: piece } of cutDelta(own, rangeBlocks(size))) {
      pieces.push({ array, range, place: await traffic.put(key(array, range), piece) })
    }
  }
  return { delta: { ...delta, exact }, pieces }
}

/** Reads a piece of sums of some worker. */
export async function readPiece(traffic: Traffic, place: Place): Promise<RangeDelta> {
  const delta = fromStore(checkBlockDelta, await traffic.get(place, 'a piece of sums'), 'a piece of sums')
  if (delta.blocks !== undefined) return delta as RangeDelta
  throw misfit()
}

/** What a worker does with a job. */
export async function reduce(traffic: Traffic, { range, size, places, seq, job }: Reduction, worker: string) {
  const pieces: RangeDelta[] = []
  for (const place of places) pieces.push(await readPiece(traffic, place))
  const sum = sumOfDeltas(pieces, range, rangeBlocks(size))
  if (sum === undefined) throw misfit()
  return traffic.put(`r-${seq}-${job}-${worker}`, sum)
}

/** Pieces of all workers, by array and range. */
export function gatherPieces(sent: readonly SentSums[]): { array: number; range: number; places: Place[] }[] {
  const gathered = new Map<string, { array: number; range: number; places: Place[] }>()
  for (const { array, range, place } of sent.flatMap(({ pieces }) => pieces)) {
    const key = `${array}-${range}`
    const own = gathered.get(key) ?? { array, range, places: [] }
    own.places.push(place)
    gathered.set(key, own)
  }
  return [...gathered.values()]
}

export function misfit(): CentroidalError {
  return new CentroidalError('bad-data', 'The store contains sums of another run: start the run again.')
}

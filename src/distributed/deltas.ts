/**
 * Only what changed since the last round is sent: rows of centres that differ, and differences of exact sums. Exact sums
 * are integers modulo 2^96, so a difference is exact, and differences of several processes add up to that of their sum.
 */
import type { PartialSums } from '../clustering/partial.ts'
import { addExactWords, differenceExact, EXACT_BLOCK, exactPlaneOf } from '../kernels/exact-sums.ts'

/** If more than this fraction changed, everything is sent, without a list of positions. */
const MOST_CHANGED = 0.7

/** Centres, or those that changed since the centres before. */
export interface CenterDelta {
  readonly count: number
  /** Numbers of the rows; undefined: all. */
  readonly changed: Uint32Array | undefined
  readonly rows: Float32Array
}

export function centerDelta(centers: Float32Array, before: Float32Array | undefined, cols: number): CenterDelta {
  const count = centers.length / cols
  const whole = { count, changed: undefined, rows: centers }
  if (before === undefined || before.length !== centers.length) return whole
  const [bits, old] = [wordsOf(centers), wordsOf(before)]
  const changed: number[] = []
  for (let row = 0; row < count; row++) {
    let at = row * cols
    const end = at + cols
    while (at < end && bits[at] === old[at]) at++
    if (at < end) changed.push(row)
    if (changed.length > MOST_CHANGED * count) return whole
  }
  const rows = new Float32Array(changed.length * cols)
  changed.forEach((row, i) => {
    rows.set(centers.subarray(row * cols, (row + 1) * cols), i * cols)
  })
  return { count, changed: Uint32Array.from(changed), rows }
}

/** The centres that a delta leads to. Undefined if it does not fit those before. */
export function applyCenters(
  { count, changed, rows }: CenterDelta,
  before: Float32Array | undefined,
  cols: number,
): Float32Array | undefined {
  if (changed === undefined) return rows.length === count * cols ? rows.slice() : undefined
  if (before?.length !== count * cols || rows.length !== changed.length * cols) return undefined
  const centers = before.slice()
  for (let i = 0; i < changed.length; i++) {
    if (changed[i] >= count) return undefined
    centers.set(rows.subarray(i * cols, (i + 1) * cols), changed[i] * cols)
  }
  return centers
}

/** Blocks of exact sums, each of EXACT_BLOCK numbers. */
export interface BlockDelta {
  /** Words of the whole array. */
  readonly words: number
  /** Numbers of the blocks; undefined: all. */
  readonly blocks: Uint32Array | undefined
  /** Their words in each of the three planes; undefined: all are zero. */
  readonly planes: readonly (Uint32Array | undefined)[]
}

export interface SumsDelta {
  readonly exact: readonly BlockDelta[]
  readonly counts: readonly Uint32Array[]
  readonly values: PartialSums['values']
}

/** What has to be added to the sums before; without those, the sums themselves. */
export function sumsDelta(sums: PartialSums, before: PartialSums | undefined): SumsDelta {
  const { values } = sums
  return {
    exact: sums.exact.map((words, i) => blockDelta(words, before?.exact[i])),
    counts: sums.counts.map((counts, i) => {
      const old = before?.counts[i]
      return old ? counts.map((count, j) => count - old[j]) : counts
    }),
    values,
  }
}

function blockDelta(words: Uint32Array, before: Uint32Array | undefined, most = MOST_CHANGED): BlockDelta {
  const difference = before ? differenceExact(words, before) : words
  const plane = exactPlaneOf(words)
  const blocks: number[] = []
  for (let block = 0; block < plane / EXACT_BLOCK; block++) {
    const from = block * EXACT_BLOCK
    let same = true
    for (let i = 0; i < 3 && same; i++) {
      const end = i * plane + from + EXACT_BLOCK
      for (let at = i * plane + from; at < end && same; at++) same = difference[at] === 0
    }
    if (!same) blocks.push(block)
  }
  const all = blocks.length > most * (plane / EXACT_BLOCK)
  const planes = [0, 1, 2].map((i) => {
    const own = difference.subarray(i * plane, (i + 1) * plane)
    const chosen = all ? own : picked(own, blocks)
    return chosen.every((word) => word === 0) ? undefined : chosen
  })
  return { words: words.length, blocks: all ? undefined : Uint32Array.from(blocks), planes }
}

function picked(plane: Uint32Array, blocks: readonly number[]): Uint32Array {
  const chosen = new Uint32Array(blocks.length * EXACT_BLOCK)
  blocks.forEach((block, i) => {
    chosen.set(plane.subarray(block * EXACT_BLOCK, (block + 1) * EXACT_BLOCK), i * EXACT_BLOCK)
  })
  return chosen
}

/** Sums plus a delta. Undefined if it does not fit. */
export function applySums(delta: SumsDelta, before: PartialSums | undefined): PartialSums | undefined {
  const exact: Uint32Array[] = []
  for (const [i, blocks] of delta.exact.entries()) {
    const words = applyBlocks(blocks, before?.exact[i])
    if (words === undefined) return undefined
    exact.push(words)
  }
  const counts: Uint32Array[] = []
  for (const [i, own] of delta.counts.entries()) {
    const old = before?.counts[i]
    if (old && old.length !== own.length) return undefined
    counts.push(old ? own.map((count, j) => count + old[j]) : own.slice())
  }
  return { exact, counts, values: delta.values }
}

function applyBlocks(delta: BlockDelta, before: Uint32Array | undefined): Uint32Array | undefined {
  const { words } = delta
  const plane = words / 3
  if (!Number.isInteger(plane) || plane % EXACT_BLOCK !== 0 || (before && before.length !== words)) return undefined
  const sums = before ? before.slice() : new Uint32Array(words)
  return addBlocks(sums, delta) ? sums : undefined
}

/** Adds a delta to exact sums in place. False if it does not fit; the sums are then of no use. */
export function addBlocks(sums: Uint32Array, { words, blocks, planes }: BlockDelta): boolean {
  const plane = exactPlaneOf(sums)
  const count = blocks === undefined ? plane / EXACT_BLOCK : blocks.length
  const length = count * EXACT_BLOCK
  if (words !== sums.length || planes.length !== 3) return false
  if (planes.some((own) => own !== undefined && own.length !== length)) return false
  if (blocks?.some((block) => block >= plane / EXACT_BLOCK)) return false
  const none = new Uint32Array(planes.some((own) => own === undefined) ? length : 0)
  const [low, mid, high] = planes.map((own) => own ?? none)
  for (let b = 0; b < count; b++) {
    const at = (blocks === undefined ? b : blocks[b]) * EXACT_BLOCK
    addExactWords(sums, plane, at, [low, mid, high], b * EXACT_BLOCK, EXACT_BLOCK)
  }
  return true
}

/** Some blocks of a delta, numbered as in the whole array. */
export interface RangeDelta extends BlockDelta {
  readonly blocks: Uint32Array
}

/** A delta in ranges of `size` blocks; ranges in which nothing changed are left out. */
export function cutDelta(delta: BlockDelta, size: number): { readonly range: number; readonly delta: RangeDelta }[] {
  const { words, planes } = delta
  const blocks = delta.blocks ?? Uint32Array.from({ length: words / 3 / EXACT_BLOCK }, (_, i) => i)
  const ranges: { range: number; delta: RangeDelta }[] = []
  for (let first = 0; first < blocks.length; ) {
    const range = Math.floor(blocks[first] / size)
    let end = first
    while (end < blocks.length && blocks[end] < (range + 1) * size) end++
    const own = planes.map((plane) => plane?.subarray(first * EXACT_BLOCK, end * EXACT_BLOCK))
    if (own.some((plane) => plane?.some((word) => word !== 0))) {
      ranges.push({ range, delta: { words, blocks: blocks.subarray(first, end), planes: own } })
    }
    first = end
  }
  return ranges
}

/** The sum of deltas of one range of `size` blocks. Undefined if one of them is about other blocks. */
export function sumOfDeltas(deltas: readonly RangeDelta[], range: number, size: number): RangeDelta | undefined {
  const first = range * size
  const sums = new Uint32Array(3 * size * EXACT_BLOCK)
  const words = deltas[0]?.words ?? 0
  for (const { blocks, planes, words: own } of deltas) {
    if (own !== words || blocks.some((block) => block < first || block >= words / 3 / EXACT_BLOCK)) return undefined
    const inside = { words: sums.length, blocks: blocks.map((block) => block - first), planes }
    if (!addBlocks(sums, inside)) return undefined
  }
  const { blocks, planes } = blockDelta(sums, undefined, 1)
  return { words, blocks: (blocks ?? new Uint32Array()).map((block) => block + first), planes }
}

function wordsOf({ buffer, byteOffset, length }: Float32Array): Uint32Array {
  return new Uint32Array(buffer, byteOffset, length)
}

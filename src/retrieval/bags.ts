/** Bags of words: how often each word of the vocabulary occurs in an image. */
import { COUNT, numberList, uint32Array } from '../core/arguments.ts'
import { CentroidalError, show } from '../core/errors.ts'

/** How often each word of the vocabulary occurs in an image. */
export interface Bag {
  /** Ascending, each once. */
  readonly words: Uint32Array
  /** Their counts; fractions if descriptors are assigned to several words. */
  readonly counts: ArrayLike<number>
}

export const LARGEST_ID = 0xffffffff
/** A Map holds no more. */
const MOST_IMAGES = 2 ** 24

/** Rows by the image they belong to: those of image ids[i] are rows[offsets[i]] to rows[offsets[i + 1]]. */
export interface RowsByImage {
  /** Ascending. */
  readonly ids: Uint32Array
  readonly offsets: Uint32Array
  /** In their own order within an image. */
  readonly rows: Uint32Array
}

/** `also` names images that may have no rows. */
export function rowsByImage(
  images: ArrayLike<number>,
  rows: number,
  name: string,
  also: ArrayLike<number> = [],
): RowsByImage {
  numberList(images, 'the list of image numbers')
  if (images.length !== rows) {
    throw new CentroidalError(
      'bad-data',
      `There are ${images.length} image numbers for the ${rows} rows of ${name}: give one for each.`,
    )
  }
  for (let row = 0; row < rows; row++) requireId(images[row], `of row ${row}`)
  for (let i = 0; i < also.length; i++) requireId(also[i], `at place ${i} of ids`)
  const ids = Uint32Array.from(new Set([...distinct(images), ...distinct(also)])).sort()
  const slotOf = new Map(Array.from(ids, (id, slot) => [id, slot]))
  const slots = Uint32Array.from({ length: rows }, (_, row) => slotOf.get(images[row])!)
  const offsets = new Uint32Array(ids.length + 1)
  for (const slot of slots) offsets[slot + 1]++
  for (let slot = 0; slot < ids.length; slot++) offsets[slot + 1] += offsets[slot]
  const next = offsets.slice()
  const sorted = new Uint32Array(rows)
  slots.forEach((slot, row) => {
    sorted[next[slot]++] = row
  })
  return { ids, offsets, rows: sorted }
}

function distinct(values: ArrayLike<number>): Set<number> {
  const seen = new Set<number>()
  for (let i = 0; i < values.length; i++) seen.add(values[i])
  return seen
}

export function requireId(id: unknown, where: string): void {
  if (Number.isInteger(id) && Number(id) >= 0 && Number(id) <= LARGEST_ID) return
  throw new CentroidalError(
    'bad-data',
    `The image number ${where ? `${where} ` : ''}is ${show(id)}: give whole numbers from 0 to ${LARGEST_ID}.`,
  )
}

/** One word a row, each counting once. */
export function hardBag(labels: Uint32Array, rows: Uint32Array): Bag {
  const sorted = Uint32Array.from(rows, (row) => labels[row]).sort()
  const words: number[] = []
  const counts: number[] = []
  for (let i = 0; i < sorted.length; i++) {
    if (i > 0 && sorted[i] === sorted[i - 1]) counts[counts.length - 1]++
    else {
      words.push(sorted[i])
      counts.push(1)
    }
  }
  return { words: Uint32Array.from(words), counts: Uint32Array.from(counts) }
}

/** m words a row, each with its share. */
export function softBag(labels: Uint32Array, shares: Float64Array, m: number, rows: Uint32Array): Bag {
  const sums = new Map<number, number>()
  for (const row of rows) {
    for (let at = row * m; at < (row + 1) * m; at++) sums.set(labels[at], (sums.get(labels[at]) ?? 0) + shares[at])
  }
  const words = Uint32Array.from(sums.keys()).sort()
  return { words, counts: Float64Array.from(words, (word) => sums.get(word)!) }
}

/** Bags that a caller gave with their image numbers, for a vocabulary of `size` words. */
export function checkedBags(bags: Iterable<readonly [number, Bag]>, size: number): Map<number, Bag> {
  if (typeof bags !== 'object' || ArrayBuffer.isView(bags) || typeof bags?.[Symbol.iterator] !== 'function') {
    throw new CentroidalError('bad-data', `The bags are ${show(bags)}: give pairs of an image number and a bag.`)
  }
  const found = new Map<number, Bag>()
  for (const pair of bags) {
    const [id, bag] = (Array.isArray(pair) ? pair : [pair, undefined]) as readonly [number, Bag]
    requireId(id, 'of a bag')
    const words = uint32Array(bag?.words, `the list of words of image ${id}`)
    const counts = numberList(bag.counts, `counts of image ${id}`, COUNT)
    const ascending = words.every((word, i) => word < size && (i === 0 || word > words[i - 1]))
    if (ascending && counts.length === words.length && found.size < MOST_IMAGES && !found.has(id)) {
      found.set(id, bag)
      continue
    }
    throw new CentroidalError(
      'bad-data',
      `The bag of image ${id} is invalid: give each image once, with words in ascending order below ${size} and a count for each.`,
    )
  }
  return found
}

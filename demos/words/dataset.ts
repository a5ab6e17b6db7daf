/** What the page holds: vectors, and what is known of their rows. */
import type { Matrix } from '../../src/index.ts'
import { arePictures, fullInk, thumbnail } from './thumbnails.ts'

export interface Dataset {
  readonly name: string
  readonly vectors: Matrix
  /** What each row truly is, where that is known. */
  readonly classes: Uint8Array | undefined
  readonly names: readonly string[] | undefined
  /** Where each row lies on the map, where that is known: x, y, x, y. */
  readonly places: Float32Array | undefined
  /** Full ink, where rows are pictures. */
  readonly ink: number | undefined
}

export function dataset(
  name: string,
  vectors: Matrix,
  { classes, names, places }: { classes?: Uint8Array; names?: readonly string[]; places?: Float32Array } = {},
): Dataset {
  return { name, vectors, classes, names, places, ink: arePictures(vectors) ? fullInk(vectors) : undefined }
}

/** The same rows with other numbers. */
export function withVectors(data: Dataset, vectors: Matrix): Dataset {
  return { ...data, vectors, ink: data.ink === undefined ? undefined : fullInk(vectors) }
}

/** What a person calls a row. */
export function rowName({ names, classes }: Dataset, row: number): string {
  if (names) return names[row]
  return classes ? `row ${row}, a ${classes[row]}` : `row ${row}`
}

export function rowPicture({ vectors, ink }: Dataset, row: number): HTMLCanvasElement | undefined {
  return ink === undefined ? undefined : thumbnail(vectors, row, ink)
}

/** "mostly 3 (88 %)", where it is known what rows truly are. */
export function majority({ classes }: Dataset, rows: Uint32Array): string {
  if (!classes || rows.length === 0) return ''
  const counts = new Map<number, number>()
  for (const row of rows) counts.set(classes[row], (counts.get(classes[row]) ?? 0) + 1)
  const [[digit, count]] = [...counts].sort(([, a], [, b]) => b - a)
  return `mostly ${digit} (${Math.round((100 * count) / rows.length)} %)`
}

/** A picture as rows of numbers: its opaque pixels are the vectors, three bytes each. */
import { type Matrix, matrix } from '../../src/index.ts'

/** Pixels after pixels, row by row, as a canvas has them: red, green, blue, alpha. */
export interface Picture {
  readonly width: number
  readonly height: number
  readonly data: Uint8ClampedArray
}

/** Larger pictures are scaled down to about this many pixels: enough to look at, and a round stays short without a GPU. */
export const MOST_PIXELS = 500_000
/** A palette of a PNG or GIF has no more entries. */
export const MOST_COLOURS = 256
/** Below this alpha a pixel counts as transparent: palettes know only in or out. */
const OPAQUE = 128

/** The size a picture is brought to: its own, or the largest of the same shape within the limit. */
export function fitWithin(width: number, height: number, most = MOST_PIXELS): { width: number; height: number } {
  const scale = Math.sqrt(most / (width * height))
  if (scale >= 1) return { width, height }
  // A strip that would be less than a pixel high is one pixel high, and shorter for it.
  const least = (size: number): number => Math.min(most, Math.max(1, Math.floor(size * scale)))
  return { width: least(width), height: least(height) }
}

export interface OpaquePixels {
  /** n x 3 bytes. */
  readonly vectors: Matrix
  /** Which pixel of the picture each row is; undefined where all are opaque. */
  readonly places: Uint32Array | undefined
  /** Different colours among them. */
  readonly distinct: number
}

export function opaquePixels({ width, height, data }: Picture): OpaquePixels {
  const all = width * height
  const places = new Uint32Array(all)
  let n = 0
  for (let i = 0; i < all; i++) if (data[4 * i + 3] >= OPAQUE) places[n++] = i
  const bytes = new Uint8Array(3 * n)
  // One bit for each of the 2^24 colours.
  const seen = new Uint32Array(1 << 19)
  let distinct = 0
  for (let row = 0; row < n; row++) {
    const at = 4 * places[row]
    for (let c = 0; c < 3; c++) bytes[3 * row + c] = data[at + c]
    const colour = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2]
    const bit = 1 << (colour & 31)
    if ((seen[colour >> 5] & bit) === 0) distinct++
    seen[colour >> 5] |= bit
  }
  return { vectors: matrix(bytes, n, 3), places: n === all ? undefined : places.slice(0, n), distinct }
}

/** How many colours a palette for these pixels can have: one entry is kept for "transparent" where that is needed. */
export function mostColours({ places, distinct }: Pick<OpaquePixels, 'places' | 'distinct'>): number {
  return Math.min(places === undefined ? MOST_COLOURS : MOST_COLOURS - 1, distinct)
}

/** Labels of the opaque pixels as the index map of the whole picture; transparent pixels get `transparent`. */
export function indexMap(
  labels: ArrayLike<number>,
  places: Uint32Array | undefined,
  pixels: number,
  transparent: number,
): Uint8Array<ArrayBuffer> {
  if (places === undefined) return Uint8Array.from(labels)
  const map = new Uint8Array(pixels).fill(transparent)
  for (let row = 0; row < places.length; row++) map[places[row]] = labels[row]
  return map
}

/** Paints an index map: RGBA, transparent where the index has no colour. */
export function paint(indices: Uint8Array, palette: Uint8Array): Uint8ClampedArray<ArrayBuffer> {
  const out = new Uint8ClampedArray(4 * indices.length)
  const words = new Uint32Array(out.buffer)
  const colours = new Uint32Array(256)
  // Every machine that runs this is little-endian: alpha is the highest byte.
  for (let j = 0; 3 * j < palette.length; j++) {
    colours[j] = (0xff000000 | (palette[3 * j + 2] << 16) | (palette[3 * j + 1] << 8) | palette[3 * j]) >>> 0
  }
  for (let i = 0; i < indices.length; i++) words[i] = colours[indices[i]]
  return out
}

/** What a picture looks like around its keypoints: 4 x 4 histograms of 8 gradient directions, turned to the strongest one. */
import { type Matrix, matrix } from '../../src/index.ts'
import { type Picture, sample, type View } from './pictures.ts'
import { findKeypoints, type Keypoint } from './scale-space.ts'

const CELLS = 4
const DIRECTIONS = 8
const SAMPLES = 16
const COLS = CELLS * CELLS * DIRECTIONS
const ORIENTATIONS = 36
/** A cell is so many sigmas wide. */
const CELL_SIGMAS = 3
/** So that one strong edge does not drown the rest. */
const MOST_SHARE = 0.2
/** The strongest by contrast. */
const MOST_KEYPOINTS = 150

export interface Described {
  readonly vectors: Matrix
  /** The view of each vector. */
  readonly images: Uint32Array
  /** The scene of each view. */
  readonly groups: Uint32Array
}

export interface DescribedViews extends Described {
  /** Where each vector comes from: x, y and the width of the Gaussian, in pixels of the view. */
  readonly places: Float32Array
}

/** `most` of each view, those of the highest contrast. */
export function describeViews(views: readonly View[], most = MOST_KEYPOINTS): DescribedViews {
  const parts: Uint8Array[] = []
  const images: number[] = []
  const places: number[] = []
  views.forEach(({ picture }, image) => {
    const strongest = findKeypoints(picture).sort((a, b) => b.contrast - a.contrast)
    for (const keypoint of strongest.slice(0, most)) {
      parts.push(describe(keypoint))
      images.push(image)
      const scale = picture.width / keypoint.level.width
      places.push(keypoint.x * scale, keypoint.y * scale, keypoint.sigma * scale)
    }
  })
  const data = new Uint8Array(parts.length * COLS)
  parts.forEach((part, i) => {
    data.set(part, i * COLS)
  })
  const groups = Uint32Array.from(views, ({ scene }) => scene)
  return {
    vectors: matrix(data, parts.length, COLS),
    images: Uint32Array.from(images),
    groups,
    places: Float32Array.from(places),
  }
}

function gradient(level: Picture, x: number, y: number): { size: number; angle: number } {
  const dx = sample(level, x + 1, y) - sample(level, x - 1, y)
  const dy = sample(level, x, y + 1) - sample(level, x, y - 1)
  return { size: Math.hypot(dx, dy), angle: Math.atan2(dy, dx) }
}

function strongestDirection({ level, x, y, sigma }: Keypoint): number {
  const bins = new Float64Array(ORIENTATIONS)
  const radius = Math.round(4.5 * sigma)
  for (let v = -radius; v <= radius; v++) {
    for (let u = -radius; u <= radius; u++) {
      const { size, angle } = gradient(level, x + u, y + v)
      const weight = Math.exp(-(u * u + v * v) / (2 * (1.5 * sigma) ** 2))
      bins[bin(angle, ORIENTATIONS)] += weight * size
    }
  }
  const smooth = bins.map((value, i) => value + (bins.at(i - 1)! + bins[(i + 1) % ORIENTATIONS]) / 2)
  const best = smooth.indexOf(Math.max(...smooth))
  return ((best + 0.5) / ORIENTATIONS) * 2 * Math.PI
}

const bin = (angle: number, bins: number): number => {
  const turn = angle / (2 * Math.PI)
  return Math.floor((turn - Math.floor(turn)) * bins) % bins
}

function describe(keypoint: Keypoint): Uint8Array {
  const { level, x, y, sigma } = keypoint
  const turned = strongestDirection(keypoint)
  const [cos, sin] = [Math.cos(turned), Math.sin(turned)]
  const step = (CELL_SIGMAS * sigma * CELLS) / SAMPLES
  const histogram = new Float64Array(COLS)
  for (let j = 0; j < SAMPLES; j++) {
    for (let i = 0; i < SAMPLES; i++) {
      const [u, v] = [(i - (SAMPLES - 1) / 2) * step, (j - (SAMPLES - 1) / 2) * step]
      const { size, angle } = gradient(level, x + cos * u - sin * v, y + sin * u + cos * v)
      const weight = Math.exp(-(u * u + v * v) / (2 * ((CELL_SIGMAS * sigma * CELLS) / 2) ** 2))
      const direction = (angle - turned) / (2 * Math.PI)
      const place = { column: (i + 0.5) / CELLS - 0.5, row: (j + 0.5) / CELLS - 0.5 }
      spread(histogram, place.column, place.row, (direction - Math.floor(direction)) * DIRECTIONS, weight * size)
    }
  }
  return asBytes(histogram)
}

/** Shared between the cells and directions around a place, so that a small shift changes little. */
function spread(histogram: Float64Array, column: number, row: number, direction: number, amount: number): void {
  const [c, r, d] = [Math.floor(column), Math.floor(row), Math.floor(direction)]
  for (let corner = 0; corner < 8; corner++) {
    const [dc, dr, dd] = [corner & 1, (corner >> 1) & 1, corner >> 2]
    if (c + dc < 0 || c + dc >= CELLS || r + dr < 0 || r + dr >= CELLS) continue
    const share =
      (dc ? column - c : 1 - column + c) * (dr ? row - r : 1 - row + r) * (dd ? direction - d : 1 - direction + d)
    histogram[((r + dr) * CELLS + c + dc) * DIRECTIONS + ((d + dd) % DIRECTIONS)] += share * amount
  }
}

function asBytes(histogram: Float64Array): Uint8Array {
  const once = unit(histogram).map((value) => Math.min(MOST_SHARE, value))
  return Uint8Array.from(unit(once), (value) => Math.min(255, Math.round(512 * value)))
}

function unit(values: Float64Array): Float64Array {
  const length = Math.hypot(...values) || 1
  return values.map((value) => value / length)
}

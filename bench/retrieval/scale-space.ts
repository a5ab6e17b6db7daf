/** Where a picture has blobs: extrema of differences of Gaussians over place and scale. */
import type { Picture } from './pictures.ts'

export interface Keypoint {
  /** In pixels of `level`. */
  readonly x: number
  readonly y: number
  /** Width of the Gaussian, in pixels of `level`. */
  readonly sigma: number
  /** The picture at that scale. */
  readonly level: Picture
  readonly contrast: number
}

const BASE_SIGMA = 1.6
const SCALES = 3
const LEAST_SIDE = 24
/** Of 255. */
const LEAST_CONTRAST = 1
/** Ratio of curvatures: edges are not found again. */
const MOST_EDGE = 10
const MARGIN = 5

export function findKeypoints(picture: Picture): Keypoint[] {
  const found: Keypoint[] = []
  // A camera's picture counts as blurred by half a pixel.
  let base = blur(picture, Math.sqrt(BASE_SIGMA ** 2 - 0.5 ** 2))
  while (Math.min(base.width, base.height) >= LEAST_SIDE) {
    const levels = [base]
    const sigmas = Array.from({ length: SCALES + 3 }, (_, i) => BASE_SIGMA * 2 ** (i / SCALES))
    for (let i = 1; i < sigmas.length; i++) {
      levels.push(blur(levels[i - 1], Math.sqrt(sigmas[i] ** 2 - sigmas[i - 1] ** 2)))
    }
    const differences = levels.slice(1).map((level, i) => level.data.map((value, at) => value - levels[i].data[at]))
    for (let scale = 1; scale <= SCALES; scale++) {
      extrema(differences, scale, base).forEach(({ x, y, contrast }) => {
        found.push({ x, y, sigma: sigmas[scale], level: levels[scale], contrast })
      })
    }
    base = half(levels[SCALES])
  }
  return found
}

interface Extremum {
  readonly x: number
  readonly y: number
  readonly contrast: number
}

function extrema(differences: readonly Float32Array[], scale: number, { width, height }: Picture): Extremum[] {
  const found: Extremum[] = []
  const here = differences[scale]
  for (let y = MARGIN; y < height - MARGIN; y++) {
    for (let x = MARGIN; x < width - MARGIN; x++) {
      const at = y * width + x
      const contrast = Math.abs(here[at])
      if (contrast < LEAST_CONTRAST || !isExtremum(differences, scale, at, width)) continue
      if (!isEdge(here, at, width)) found.push({ x, y, contrast })
    }
  }
  return found
}

function isExtremum(differences: readonly Float32Array[], scale: number, at: number, width: number): boolean {
  const value = differences[scale][at]
  const sign = Math.sign(value)
  for (let ds = -1; ds <= 1; ds++) {
    for (let dy = -1; dy <= 1; dy++) {
      for (let dx = -1; dx <= 1; dx++) {
        if (ds === 0 && dy === 0 && dx === 0) continue
        if (sign * differences[scale + ds][at + dy * width + dx] >= sign * value) return false
      }
    }
  }
  return true
}

function isEdge(d: Float32Array, at: number, width: number): boolean {
  const xx = d[at + 1] + d[at - 1] - 2 * d[at]
  const yy = d[at + width] + d[at - width] - 2 * d[at]
  const xy = (d[at + width + 1] - d[at + width - 1] - d[at - width + 1] + d[at - width - 1]) / 4
  const determinant = xx * yy - xy * xy
  return determinant <= 0 || (xx + yy) ** 2 / determinant >= (MOST_EDGE + 1) ** 2 / MOST_EDGE
}

function blur(picture: Picture, sigma: number): Picture {
  const radius = Math.ceil(3 * sigma)
  const taps = Float32Array.from({ length: 2 * radius + 1 }, (_, i) =>
    Math.exp(-((i - radius) ** 2) / (2 * sigma ** 2)),
  )
  const sum = taps.reduce((a, b) => a + b)
  const kernel = taps.map((tap) => tap / sum)
  // Along rows, twice, each time turning the picture over: rows become columns and columns rows again.
  return alongRows(alongRows(picture, kernel, radius), kernel, radius)
}

function alongRows({ width, height, data }: Picture, kernel: Float32Array, radius: number): Picture {
  const out = new Float32Array(width * height)
  const padded = new Float32Array(width + 2 * radius)
  for (let y = 0; y < height; y++) {
    const row = data.subarray(y * width, (y + 1) * width)
    padded.fill(row[0], 0, radius)
    padded.set(row, radius)
    padded.fill(row[width - 1], width + radius)
    for (let x = 0; x < width; x++) {
      let sum = 0
      for (let i = 0; i < kernel.length; i++) sum += kernel[i] * padded[x + i]
      out[x * height + y] = sum
    }
  }
  return { width: height, height: width, data: out }
}

function half({ width, height, data }: Picture): Picture {
  const [w, h] = [width >> 1, height >> 1]
  const small = new Float32Array(w * h)
  for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) small[y * w + x] = data[2 * y * width + 2 * x]
  return { width: w, height: h, data: small }
}

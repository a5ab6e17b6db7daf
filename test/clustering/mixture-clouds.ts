/** Points drawn from mixtures whose components are known. */
import { createRandom, type Matrix, matrix } from '../../src/index.ts'

export interface Cloud {
  readonly points: Matrix
  readonly modes: readonly (readonly number[])[]
}

/** Modes in the unit square, at least 0.2 apart; points around each in turn: figure 1 of the paper. */
export function squareModes(seed: number, modeCount = 8, rows = 800, sigma = 0.03): Cloud {
  const random = createRandom(seed)
  const modes: number[][] = []
  while (modes.length < modeCount) {
    const place = [random.uniform(), random.uniform()]
    if (modes.every(([x, y]) => Math.hypot(x - place[0], y - place[1]) >= 0.2)) modes.push(place)
  }
  return around(modes, rows, sigma, random)
}

/** Modes from N(0, I). */
export function normalModes(seed: number, modeCount: number, cols: number, rows: number, sigma = 0.15): Cloud {
  const random = createRandom(seed)
  const modes = Array.from({ length: modeCount }, () => Array.from({ length: cols }, () => random.normal()))
  return around(modes, rows, sigma, random)
}

/** Spherical Gaussians whose means are at least `gap` apart, one after the other. */
export function spacedModes(
  seed: number,
  cols: number,
  modes: readonly { readonly size: number; readonly sigma: number }[],
  gap: number,
): Cloud {
  const random = createRandom(seed)
  const means: number[][] = []
  while (means.length < modes.length) {
    const mean = Array.from({ length: cols }, () => gap * random.normal())
    if (means.every((other) => Math.hypot(...other.map((value, t) => value - mean[t])) >= gap)) means.push(mean)
  }
  const rows = modes.flatMap(({ size, sigma }, mode) =>
    Array.from({ length: size }, () => means[mode].map((value) => value + sigma * random.normal())),
  )
  return { points: matrix(Float32Array.from(rows.flat()), rows.length, cols), modes: means }
}

function around(modes: number[][], rows: number, sigma: number, random: ReturnType<typeof createRandom>): Cloud {
  const cols = modes[0].length
  const data = Float32Array.from({ length: rows * cols }, (_, at) => {
    const mode = modes[Math.floor(at / cols) % modes.length]
    return mode[at % cols] + sigma * random.normal()
  })
  return { points: matrix(data, rows, cols), modes }
}

/** Distance of the farthest mode to the centre nearest to it. */
export function worstGap({ modes }: Cloud, centers: Matrix): number {
  const { rows, cols, data } = centers
  const gaps = modes.map((mode) => {
    let nearest = Number.POSITIVE_INFINITY
    for (let j = 0; j < rows; j++) {
      nearest = Math.min(nearest, Math.hypot(...mode.map((value, t) => value - data[j * cols + t])))
    }
    return nearest
  })
  return Math.max(...gaps)
}

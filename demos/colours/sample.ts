/**
 * The picture the page begins with: an evening in the mountains, painted by a formula, so that it needs no
 * download and nobody's licence. Made of what palettes find hard: gradients, haze, grain and a few small bright spots.
 */
import { createRandom, type Random } from '../../src/index.ts'
import type { Picture } from './picture.ts'

export const SAMPLE = { width: 720, height: 480, name: 'Evening in the mountains (painted by this page)' } as const

type Colour = readonly [number, number, number]

const SKY: readonly (readonly [number, Colour])[] = [
  [0, [24, 32, 84]],
  [0.3, [92, 62, 138]],
  [0.55, [214, 98, 122]],
  [0.78, [252, 164, 98]],
  [1, [255, 226, 158]],
]
const RANGES: readonly { readonly base: number; readonly height: number; readonly colour: Colour }[] = [
  { base: 0.54, height: 0.24, colour: [150, 104, 150] },
  { base: 0.58, height: 0.15, colour: [104, 78, 128] },
  { base: 0.62, height: 0.1, colour: [58, 62, 98] },
]
const SHORE = 0.64
const MEADOW = 0.86
const SUN = { x: 0.7, y: 0.36, radius: 0.045 }

const mix = (a: Colour, b: Colour, t: number): Colour => [
  a[0] + (b[0] - a[0]) * t,
  a[1] + (b[1] - a[1]) * t,
  a[2] + (b[2] - a[2]) * t,
]
const clamp = (t: number): number => Math.min(1, Math.max(0, t))

function skyAt(t: number): Colour {
  const next = SKY.findIndex(([stop]) => stop >= t)
  if (next <= 0) return SKY[0][1]
  const [[from, a], [to, b]] = [SKY[next - 1], SKY[next]]
  return mix(a, b, (t - from) / (to - from))
}

/** How high a ridge is at each column, from 0 to 1: peaks of halving size on one another. */
function ridge(random: Random): Float64Array {
  const phases = Array.from({ length: 7 }, () => random.uniform() * 7)
  return Float64Array.from({ length: SAMPLE.width }, (_, column) => {
    const x = column / SAMPLE.width
    let sum = 0
    phases.forEach((phase, octave) => {
      sum += (1 - Math.abs(Math.sin((x * 2.6 + phase) * 1.9 ** octave))) / 2 ** octave
    })
    return sum / 2
  })
}

/** The scene above the water at (x, y), both from 0 to 1. */
function landAt(x: number, y: number, ridges: readonly Float64Array[]): Colour {
  const away = Math.hypot((x - SUN.x) * 1.5, y - SUN.y)
  let colour = mix(skyAt(clamp(y / 0.6)), [255, 240, 190], 0.75 * Math.exp(-away * 7))
  if (away < SUN.radius) colour = [255, 250, 222]
  const column = Math.min(SAMPLE.width - 1, Math.max(0, Math.round(x * SAMPLE.width)))
  for (const [i, range] of RANGES.entries()) {
    const height = ridges[i][column]
    const top = range.base - range.height * height
    if (y <= top) continue
    colour = mix(range.colour, [246, 178, 140], clamp((y - top) * 4) * 0.5)
    // Snow on the farthest range, deeper the higher the peak, with a ragged edge.
    const snow = (height - 0.42) * 0.2 + 0.006 * (Math.sin(x * 310) + Math.sin(x * 131 + 2)) - (y - top)
    if (i === 0 && snow > 0) colour = mix(colour, [255, 232, 224], clamp(snow * 60) * 0.85)
  }
  return colour
}

export function samplePicture(seed = 1): Picture {
  const { width, height } = SAMPLE
  const random = createRandom(seed)
  const ridges = RANGES.map(() => ridge(random))
  const data = new Uint8ClampedArray(4 * width * height)
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const grain = (random.uniform() - 0.5) * 10
      const colour = pixelAt(column / width, row / height, ridges, random.uniform())
      const at = 4 * (row * width + column)
      for (let c = 0; c < 3; c++) data[at + c] = colour[c] + grain
      data[at + 3] = 255
    }
  }
  return { width, height, data }
}

function pixelAt(x: number, y: number, ridges: readonly Float64Array[], chance: number): Colour {
  const meadow = MEADOW + 0.03 * Math.sin(x * 5 + 1) + 0.006 * Math.sin(x * 400) * Math.sin(x * 171)
  if (y > meadow) return meadowAt(x, y - meadow, chance)
  if (y <= SHORE) return landAt(x, y, ridges)
  // Water: the land upside down, shaken by waves that grow towards the viewer, and darker.
  const depth = y - SHORE
  const wave = Math.sin(depth * 260 + Math.sin(x * 30) * 1.5) * 0.012 * (0.3 + depth * 4)
  return mix(landAt(x + wave, Math.max(0, SHORE - depth * 2.4), ridges), [30, 74, 110], 0.3 + depth * 0.9)
}

function meadowAt(x: number, below: number, chance: number): Colour {
  const blade = 0.5 + 0.25 * Math.sin(x * 900 + below * 60) + 0.25 * Math.sin(x * 370 - below * 90)
  const grass = mix([20, 52, 42], [92, 140, 56], blade * clamp(1 - below * 5))
  if (chance > 0.985) return chance > 0.993 ? [236, 62, 74] : [250, 214, 70]
  return chance > 0.98 ? [244, 240, 250] : grass
}

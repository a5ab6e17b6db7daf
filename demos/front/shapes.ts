/** Shapes of points for the front page, in the unit square. The same seed gives the same points. */
import { createRandom, type Matrix, type Random } from '../../src/index.ts'

export const FRONT_SHAPES = ['galaxy', 'waves', 'rings'] as const
export type FrontShape = (typeof FRONT_SHAPES)[number]

type Place = (random: Random) => readonly [x: number, y: number]

const PLACES: Readonly<Record<FrontShape, Place>> = { galaxy, waves, rings }

export function shapePoints(shape: FrontShape, n: number, seed: number): Matrix {
  const random = createRandom(seed)
  const data = new Float32Array(2 * n)
  for (let i = 0; i < n; ) {
    const [x, y] = PLACES[shape](random)
    // Points outside are drawn again: at the edge they would pile up.
    if (Math.min(x, y) < 0.01 || Math.max(x, y) > 0.99) continue
    data[2 * i] = x
    data[2 * i + 1] = y
    i++
  }
  return { data, rows: n, cols: 2 }
}

/** Four arms around a core. */
function galaxy(random: Random): readonly [number, number] {
  const far = 0.46 * Math.sqrt(random.uniform()) * (0.35 + 0.65 * random.uniform())
  const arm = (random.below(4) * Math.PI) / 2
  const angle = arm + 7.5 * far + (0.32 * random.normal()) / (0.5 + 4 * far)
  return [0.5 + 1.08 * far * Math.cos(angle), 0.5 + 1.08 * far * Math.sin(angle)]
}

function waves(random: Random): readonly [number, number] {
  const x = random.uniform()
  const band = random.below(5)
  const y = 0.14 + 0.18 * band + 0.055 * Math.sin(2 * Math.PI * (1.4 * x + 0.21 * band)) + 0.02 * random.normal()
  return [x, y]
}

function rings(random: Random): readonly [number, number] {
  const radius = 0.1 * (1 + Math.floor(4 * Math.sqrt(random.uniform()))) + 0.014 * random.normal()
  const angle = 2 * Math.PI * random.uniform()
  return [0.5 + radius * Math.cos(angle), 0.5 + radius * Math.sin(angle)]
}

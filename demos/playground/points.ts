/** Shapes of points in the unit square. The same seed gives the same points, here and in Node. */
import { createRandom, type Matrix, type Random } from '../../src/index.ts'

export const SHAPES = ['blobs', 'moons', 'rings', 'even'] as const
export type Shape = (typeof SHAPES)[number]

export const MOST_POINTS = 200_000

const BLOBS = 12

/** [n][2], each coordinate from 0 to 1. */
export function makePoints(shape: Shape, n: number, seed: number): Matrix {
  const random = createRandom(seed)
  const place = { blobs: blobPlaces, moons: moonPlaces, rings: ringPlaces, even: evenPlaces }[shape](random.fork(0))
  const draw = random.fork(1)
  const data = new Float32Array(2 * n)
  for (let i = 0; i < n; i++) {
    const [x, y] = place(draw)
    data[2 * i] = inside(x)
    data[2 * i + 1] = inside(y)
  }
  return { data, rows: n, cols: 2 }
}

type Place = (random: Random) => [x: number, y: number]

/** Blobs of different widths, apart from each other as far as twenty tries allow. */
function blobPlaces(layout: Random): Place {
  const middles: { x: number; y: number; width: number }[] = []
  for (let i = 0; i < BLOBS; i++) {
    const tries = Array.from({ length: 20 }, () => ({
      x: 0.1 + 0.8 * layout.uniform(),
      y: 0.1 + 0.8 * layout.uniform(),
      width: 0.02 + 0.03 * layout.uniform(),
    }))
    const room = ({ x, y }: { x: number; y: number }): number =>
      Math.min(...middles.map((other) => Math.hypot(other.x - x, other.y - y)), 2)
    middles.push(tries.reduce((best, next) => (room(next) > room(best) ? next : best)))
  }
  return (random) => {
    const { x, y, width } = middles[random.below(BLOBS)]
    return [x + width * random.normal(), y + width * random.normal()]
  }
}

function moonPlaces(): Place {
  return (random) => {
    const angle = Math.PI * random.uniform()
    const upper = random.below(2) === 0
    const [x, y] = upper
      ? [0.38 + 0.26 * Math.cos(angle), 0.56 - 0.26 * Math.sin(angle)]
      : [0.62 - 0.26 * Math.cos(angle), 0.44 + 0.26 * Math.sin(angle)]
    return [x + 0.025 * random.normal(), y + 0.025 * random.normal()]
  }
}

function ringPlaces(): Place {
  const radii = [0.1, 0.25, 0.4]
  return (random) => {
    // Longer rings have more points, so that all are equally dense.
    const which = random.uniform() * 0.75
    const radius = (which < 0.1 ? radii[0] : which < 0.35 ? radii[1] : radii[2]) + 0.018 * random.normal()
    const angle = 2 * Math.PI * random.uniform()
    return [0.5 + radius * Math.cos(angle), 0.5 + radius * Math.sin(angle)]
  }
}

function evenPlaces(): Place {
  return (random) => [0.03 + 0.94 * random.uniform(), 0.03 + 0.94 * random.uniform()]
}

function inside(value: number): number {
  return Math.min(0.995, Math.max(0.005, value))
}

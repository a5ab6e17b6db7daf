/** The job of the page, as the worker runs it: pixels in, palettes out, round by round. Knows no page and no worker. */
import { type ClusterOptions, clusterSteps, type Device, METHODS, type MethodName } from '../../src/index.ts'
import { fromOklab, toOklab } from './oklab.ts'
import { countsOf, meanSquaredError, paletteOf } from './palette.ts'
import { indexMap, mostColours, opaquePixels, type Picture } from './picture.ts'

export interface ColourRequest {
  readonly picture: Picture
  readonly k: number
  readonly method: 'auto' | MethodName
  readonly seed: number
  /** Cluster in OKLab instead of in bytes of sRGB. */
  readonly perceptual: boolean
}

/** What stands after a round. */
export interface ColourRound {
  readonly iteration: number
  readonly moved: number
  /** Mean squared error of a channel, of the picture as shown: with colours rounded to bytes. */
  readonly mse: number
  /** k x 3 bytes. */
  readonly palette: Uint8Array<ArrayBuffer>
  /** Pixels of each colour. */
  readonly counts: Uint32Array
  /** The colour of each pixel of the picture; k for transparent ones. */
  readonly indices: Uint8Array<ArrayBuffer>
}

/** A round of which only the figures are told: looks cost time, and nobody sees a hundred a second. */
export interface RoundTime {
  readonly iteration: number
  readonly moved: number
  /** Of the round alone, without the look. The first has loading and seeding in it. */
  readonly milliseconds: number
  readonly look: ColourRound | undefined
}

export interface ColourResult {
  readonly final: ColourRound
  /** The method that ran: what `auto` took. */
  readonly method: string
  readonly stopped: string
  readonly rounds: number
}

/** Looks are this far apart, in milliseconds. */
const LOOK_EVERY = 50

/** What the library is asked for; the same on every page and in every test. */
export function colourOptions({ k, method, seed }: Omit<ColourRequest, 'picture' | 'perceptual'>): ClusterOptions {
  const finds = method !== 'auto' && METHODS[method].findsCount === true
  // Methods that find the number of clusters begin with the number asked for and end with fewer.
  return { method, seed, ...(finds ? { start: k } : { k }) }
}

export class NoPixels extends Error {}

export async function* quantizeColours(
  request: ColourRequest,
  device: Device,
  signal: AbortSignal,
): AsyncGenerator<RoundTime, ColourResult> {
  const { picture, perceptual } = request
  const pixels = opaquePixels(picture)
  if (pixels.vectors.rows === 0)
    throw new NoPixels('The picture is transparent everywhere: there is nothing to cluster.')
  const k = Math.min(request.k, mostColours(pixels))
  const vectors = perceptual ? toOklab(pixels.vectors) : pixels.vectors
  const look = (iteration: number, moved: number, centers: typeof vectors, labels: Uint32Array): ColourRound => {
    const palette = perceptual ? fromOklab(centers) : paletteOf(centers)
    return {
      iteration,
      moved,
      mse: meanSquaredError(pixels.vectors, labels, palette),
      palette,
      counts: countsOf(labels, centers.rows),
      indices: indexMap(labels, pixels.places, picture.width * picture.height, centers.rows),
    }
  }
  const steps = clusterSteps(vectors, { ...colourOptions({ ...request, k }), device, signal })
  let last = 0
  let moved = 0
  try {
    for (;;) {
      const began = performance.now()
      const step = await steps.next()
      const milliseconds = performance.now() - began
      if (step.done) {
        const { centers, labels, facts } = step.value
        const rounds = facts.iterations.length
        return { final: look(rounds, moved, centers, labels), method: facts.method, stopped: facts.stopped, rounds }
      }
      const { value: round } = step
      moved = round.moved
      const due = performance.now() - last >= LOOK_EVERY
      const seen = due ? look(round.iteration, moved, await round.centers(), await round.labels()) : undefined
      if (due) last = performance.now()
      yield { iteration: round.iteration, moved, milliseconds, look: seen }
    }
  } finally {
    // Leaving early frees what the run holds on the device.
    await steps.return?.(undefined as never)
  }
}

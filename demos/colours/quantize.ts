/** The job of the page, as the worker runs it: pixels in, palettes out, round by round. Knows no page and no worker. */
import { CentroidalError, type ClusterOptions, clusterSteps, type Matrix } from '../../src/index.ts'
import type { TaskContext } from '../engine/task.ts'
import { findsCount, type MethodChoice } from '../shell/method-choices.ts'
import { fromOklab, toOklab } from './oklab.ts'
import { countsOf, meanSquaredError, paletteOf } from './palette.ts'
import { indexMap, mostColours, opaquePixels, type Picture } from './picture.ts'
import { indexedPng } from './png.ts'

export interface ColourRequest {
  readonly picture: Picture
  readonly k: number
  readonly method: MethodChoice
  readonly seed: number
  /** Cluster in OKLab instead of in bytes of sRGB. */
  readonly perceptual: boolean
}

/** What stands after a round. */
export interface ColourLook {
  /** Mean squared error of a channel, of the picture as shown: with colours rounded to bytes. */
  readonly mse: number
  /** k x 3 bytes. */
  readonly palette: Uint8Array<ArrayBuffer>
  /** Pixels of each colour. */
  readonly counts: Uint32Array
  /** The colour of each pixel of the picture; k for transparent ones. */
  readonly indices: Uint8Array<ArrayBuffer>
}

export interface ColourRound extends ColourLook {
  readonly iteration: number
  readonly moved: number
  /** Of the round alone, without the look. The first has loading and seeding in it. */
  readonly milliseconds: number
}

export interface ColourResult extends ColourLook {
  /** The method that ran: what `auto` took. */
  readonly method: string
  readonly stopped: string
  readonly rounds: number
  /** The picture as a file. */
  readonly png: Uint8Array<ArrayBuffer>
}

/** Options for the library, shared by the page and the tests. */
export function colourOptions({ k, method, seed }: Pick<ColourRequest, 'k' | 'method' | 'seed'>): ClusterOptions {
  // Methods that find the number of clusters begin with the number asked for and end with fewer.
  return { method, seed, ...(findsCount(method) ? { start: k } : { k }) }
}

export async function* colourTask(
  request: ColourRequest,
  { device, signal, progress }: TaskContext,
): AsyncGenerator<ColourRound, ColourResult> {
  const { picture, perceptual } = request
  const pixels = opaquePixels(picture)
  if (pixels.vectors.rows === 0) {
    throw new CentroidalError('bad-data', 'The picture is transparent everywhere: there are no colours to cluster.')
  }
  const k = Math.min(request.k, mostColours(pixels))
  const vectors = perceptual ? toOklab(pixels.vectors) : pixels.vectors
  const look = (centers: Matrix, labels: Uint32Array): ColourLook => {
    const palette = perceptual ? fromOklab(centers) : paletteOf(centers)
    return {
      mse: meanSquaredError(pixels.vectors, labels, palette),
      palette,
      counts: countsOf(labels, centers.rows),
      indices: indexMap(labels, pixels.places, picture.width * picture.height, centers.rows),
    }
  }
  const onProgress = (share: number, phase = ''): void => progress(phase, share)
  const steps = clusterSteps(vectors, { ...colourOptions({ ...request, k }), device, signal, onProgress })
  try {
    for (;;) {
      const began = performance.now()
      const step = await steps.next()
      const milliseconds = performance.now() - began
      if (step.done) {
        const { centers, labels, facts } = step.value
        const last = look(centers, labels)
        const png = indexedPng(last.indices, picture, last.palette)
        return { ...last, png, method: facts.method, stopped: facts.stopped, rounds: facts.iterations.length }
      }
      const { iteration, moved } = step.value
      const seen = look(await step.value.centers(), await step.value.labels())
      yield { ...seen, iteration, moved, milliseconds }
    }
  } finally {
    // Leaving early frees what the run holds on the device.
    await steps.return(undefined as never)
  }
}
